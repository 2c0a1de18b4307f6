#include "sinter/runtime/cpu/steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {
namespace {

using CpuStep = absl::StatusOr<std::unique_ptr<Step>>;

struct CpuMaker {
  fb::StepBody body;
  CpuStep (*make)(const fb::Step& step, const StepContext& context);
};

template <typename Table, auto kMake>
CpuStep MakeOf(const fb::Step& step, const StepContext& context) {
  return kMake(*step.body_as<Table>(), context);
}

// The kinds of steps that a CPU runs by itself. HostCollective runs collectives, all members together.
constexpr CpuMaker kCpuMakers[] = {
    {fb::StepBody::KernelStep, MakeOf<fb::KernelStep, MakeKernelStep>},
    {fb::StepBody::MatmulStep, MakeOf<fb::MatmulStep, MakeMatmulStep>},
    {fb::StepBody::ConvStep, MakeOf<fb::ConvStep, MakeConvStep>},
    {fb::StepBody::PoolStep, MakeOf<fb::PoolStep, MakePoolStep>},
    {fb::StepBody::CopyStep, MakeOf<fb::CopyStep, MakeCopyStep>},
    {fb::StepBody::CatalogStep, MakeOf<fb::CatalogStep, MakeCatalogStep>},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Step& step, const StepContext& context) {
  const auto* const maker = std::ranges::find(kCpuMakers, step.body_type(), &CpuMaker::body);
  if (maker != std::end(kCpuMakers)) return maker->make(step, context);
  return absl::InternalError(absl::StrCat("a step of kind ", std::string(StepKindName(step)),
                                          ", which no CPU runs by itself, is asked for"));
}

}  // namespace sinter
