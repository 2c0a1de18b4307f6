#include "sinter/runtime/cuda/steps/cuda_steps.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {
namespace {

// Returns the user's first source line that the step computes, such as " (model.cc:12, Linear(128))"; may be
// empty.
std::string UserLine(const fb::Plan& plan, const fb::Step& step) {
  if (step.locations() == nullptr || step.locations()->size() == 0 || plan.locations() == nullptr) return "";
  const fb::SourceLocation& location = *plan.locations()->Get(step.locations()->Get(0));
  if (location.file() == nullptr) return "";
  std::string text = absl::StrCat(" (", location.file()->c_str(), ":", location.line());
  if (location.what() != nullptr && location.what()->size() > 0)
    absl::StrAppend(&text, ", ", location.what()->c_str());
  return text + ")";
}

absl::StatusOr<std::unique_ptr<Step>> Make(CudaContext& context, KernelLibraries& libraries,
                                           const fb::Plan& plan, const fb::Step& step) {
  switch (step.body_type()) {
    case fb::StepBody::GpuKernelStep:
      return MakeCudaKernelStep(context, libraries, plan, step);
    case fb::StepBody::MatmulStep:
      return MakeCudaMatmulStep(context, *step.body_as_MatmulStep());
    case fb::StepBody::ConvStep:
      return MakeCudaConvStep(context, *step.body_as_ConvStep());
    case fb::StepBody::CopyStep:
      return MakeCudaCopyStep(context, *step.body_as_CopyStep());
    case fb::StepBody::AttentionStep:
      return MakeCudaAttentionStep(context, *step.body_as_AttentionStep());
    case fb::StepBody::CollectiveStep:
      return MakeCudaCollectiveStep(context, plan, step);
    case fb::StepBody::KernelStep:
    case fb::StepBody::PoolStep:
    case fb::StepBody::CatalogStep:
      return absl::UnimplementedError(
          absl::StrCat("a step of kind ", std::string(StepKind(step)),
                       " runs on CPUs only, and the plan puts it on ", context.device().ToString(),
                       ", where generated kernels do such work: compile the graph again for this device"));
    case fb::StepBody::NONE:
      break;
  }
  return absl::InternalError("a step without a kind passed the verifier");
}

}  // namespace

std::unique_ptr<Step> MakeEmptyStep() { return std::make_unique<EmptyStep>(); }

absl::StatusOr<std::unique_ptr<Step>> MakeCudaStep(CudaContext& context, KernelLibraries& libraries,
                                                   const fb::Plan& plan, const fb::Step& step) {
  const CudaDeviceScope on(context.index());
  SINTER_RETURN_IF_ERROR(on.status());
  absl::StatusOr<std::unique_ptr<Step>> made = Make(context, libraries, plan, step);
  if (made.ok()) return made;
  return absl::Status(made.status().code(),
                      absl::StrCat(std::string(made.status().message()), UserLine(plan, step)));
}

}  // namespace sinter
