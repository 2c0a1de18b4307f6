#include "sinter/runtime/cuda/steps/cuda_steps.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/steps/library_calls.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/all_steps.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
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

using CudaStep = absl::StatusOr<std::unique_ptr<Step>>;

struct CudaMaker {
  fb::StepBody body;
  CudaStep (*make)(CudaContext& context, KernelLibraries& libraries, const fb::Plan& plan,
                   const fb::Step& step);
  CudaLibraries libraries = {};
  // Starts to prepare the device's steps of this kind. Null: there is nothing to prepare.
  void (*prepare)(CudaContext& context, const fb::Plan& plan, uint32_t device) = nullptr;
};

// For makers that need only the step's own table.
template <typename Table, auto kMake>
CudaStep MakeFrom(CudaContext& context, KernelLibraries&, const fb::Plan&, const fb::Step& step) {
  return kMake(context, *step.body_as<Table>());
}

CudaStep MakeCollectiveFrom(CudaContext& context, KernelLibraries&, const fb::Plan& plan,
                            const fb::Step& step) {
  return MakeCudaCollectiveStep(context, plan, step);
}

// The kinds of steps that a GPU runs.
constexpr CudaMaker kCudaMakers[] = {
    {.body = fb::StepBody::GpuKernelStep, .make = MakeCudaKernelStep},
    {.body = fb::StepBody::MatmulStep,
     .make = MakeFrom<fb::MatmulStep, MakeCudaMatmulStep>,
     .libraries = {.cublaslt = true}},
    {.body = fb::StepBody::ConvStep,
     .make = MakeFrom<fb::ConvStep, MakeCudaConvStep>,
     .libraries = {.cudnn = true}},
    {.body = fb::StepBody::CopyStep, .make = MakeFrom<fb::CopyStep, MakeCudaCopyStep>},
    {.body = fb::StepBody::CollectiveStep, .make = MakeCollectiveFrom},
    {.body = fb::StepBody::AttentionStep,
     .make = MakeFrom<fb::AttentionStep, MakeCudaAttentionStep>,
     .libraries = {.cudnn = true},
     .prepare = PrepareCudaAttention},
    {.body = fb::StepBody::CatalogStep, .make = MakeFrom<fb::CatalogStep, MakeCudaLibraryCall>},
};

// Null if no GPU runs such steps.
const CudaMaker* FindCudaMaker(fb::StepBody body) {
  const auto* const maker = std::ranges::find(kCudaMakers, body, &CudaMaker::body);
  return maker == std::end(kCudaMakers) ? nullptr : maker;
}

absl::StatusOr<std::unique_ptr<Step>> Make(CudaContext& context, KernelLibraries& libraries,
                                           const fb::Plan& plan, const fb::Step& step) {
  if (const CudaMaker* const maker = FindCudaMaker(step.body_type()); maker != nullptr) {
    return maker->make(context, libraries, plan, step);
  }
  return absl::UnimplementedError(
      absl::StrCat("a step of kind ", std::string(StepKindName(step)),
                   " runs on CPUs only, and the plan puts it on ", context.device().ToString(),
                   ", where generated kernels do such work: compile the graph again for this device"));
}

}  // namespace

CudaLibraries LibrariesOf(const fb::Plan& plan) {
  CudaLibraries libraries;
  ForEachStep(plan, [&](const fb::Step& step) {
    const CudaMaker* const maker = FindCudaMaker(step.body_type());
    if (maker == nullptr || !DeviceOf(plan, step.device()).is_gpu()) return;
    const fb::CatalogStep* const call = step.body_as_CatalogStep();
    libraries.Add(call != nullptr ? LibrariesOfCall(*call) : maker->libraries);
  });
  return libraries;
}

void PrepareCudaSteps(CudaContext& context, const fb::Plan& plan, uint32_t device) {
  for (const CudaMaker& maker : kCudaMakers) {
    if (maker.prepare != nullptr) maker.prepare(context, plan, device);
  }
}

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
