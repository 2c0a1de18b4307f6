#include "sinter/runtime/plan/step_kind.h"

#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {
namespace {

// In the order of StepBody.
constexpr auto kStepKinds = std::to_array<StepKind>({
    {.body = fb::StepBody::KernelStep,
     .name = "kernel",
     .verify = VerifyKernel,
     .text = KernelText,
     .needs = &DeviceKindTraits::runs_cpu_kernels,
     .needs_why = "its kernel is code of a CPU"},
    {.body = fb::StepBody::MatmulStep,
     .name = "matmul",
     .verify = VerifyMatmul,
     .text = MatmulText,
     .contraction_type = MatmulContraction},
    {.body = fb::StepBody::ConvStep,
     .name = "conv",
     .verify = VerifyConv,
     .text = ConvText,
     .contraction_type = ConvContraction},
    {.body = fb::StepBody::PoolStep, .name = "pool", .verify = VerifyPool, .text = PoolText},
    {.body = fb::StepBody::CopyStep,
     .name = "copy",
     .verify = VerifyCopy,
     .text = CopyText,
     .reads_other_devices = true},
    {.body = fb::StepBody::CatalogStep,
     .name = "catalog",
     .verify = VerifyCatalogCall,
     .text = CatalogCallText,
     .name_of = CatalogCallName},
    {.body = fb::StepBody::GpuKernelStep,
     .name = "kernel",
     .verify = VerifyGpuKernel,
     .text = GpuKernelText,
     .needs = &DeviceKindTraits::runs_gpu_kernels,
     .needs_why = "its kernel is code of a GPU"},
    {.body = fb::StepBody::CollectiveStep,
     .name = "collective",
     .verify = VerifyCollective,
     .text = CollectiveText,
     .name_of = CollectiveStepName,
     .is_exchange = true},
    {.body = fb::StepBody::AttentionStep,
     .name = "attention",
     .verify = VerifyAttention,
     .text = AttentionText,
     .needs = &DeviceKindTraits::runs_gpu_libraries,
     .needs_why = "attention is a step of GPUs",
     .contraction_type = AttentionContraction,
     .make_cost = MakeCost::kSlow},
    {.body = fb::StepBody::LoopStep,
     .name = "loop",
     .verify = VerifyLoop,
     .text = LoopText,
     .make_cost = MakeCost::kSlow},
});

constexpr bool HasEveryKindInOrder() {
  for (size_t i = 0; i < kStepKinds.size(); ++i) {
    if (kStepKinds[i].body != static_cast<fb::StepBody>(i + 1)) return false;
  }
  return kStepKinds.size() == static_cast<size_t>(fb::StepBody::MAX);
}
static_assert(HasEveryKindInOrder());

}  // namespace

const StepKind* FindStepKind(fb::StepBody body) {
  const auto index = static_cast<size_t>(body);
  return index == 0 || index > kStepKinds.size() ? nullptr : &kStepKinds[index - 1];
}

const StepKind& StepKindOf(const fb::Step& step) { return *FindStepKind(step.body_type()); }

std::string_view StepKindName(const fb::Step& step) {
  const StepKind& kind = StepKindOf(step);
  return kind.name_of == nullptr ? kind.name : kind.name_of(step);
}

std::string StepText(const fb::Plan& plan, const fb::Step& step) { return StepKindOf(step).text(plan, step); }

std::optional<ContractionType> ContractionTypeOf(const fb::Step& step) {
  const StepKind& kind = StepKindOf(step);
  return kind.contraction_type == nullptr ? std::nullopt : kind.contraction_type(step);
}

std::string ContractionType::ToString() const {
  const std::string text(DTypeName(dtype));
  if (math == fb::MathMode::Ieee) return text;
  return absl::StrCat(text, " as ", absl::AsciiStrToLower(fb::EnumNameMathMode(math)));
}

}  // namespace sinter
