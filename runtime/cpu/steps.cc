#include "sinter/runtime/cpu/steps.h"

#include "sinter/runtime/cpu/host_collective.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Step& step, const StepContext& context) {
  switch (step.body_type()) {
    case fb::StepBody::KernelStep:
      return MakeKernelStep(*step.body_as_KernelStep(), context);
    case fb::StepBody::MatmulStep:
      return MakeMatmulStep(*step.body_as_MatmulStep(), context);
    case fb::StepBody::ConvStep:
      return MakeConvStep(*step.body_as_ConvStep(), context);
    case fb::StepBody::PoolStep:
      return MakePoolStep(*step.body_as_PoolStep(), context);
    case fb::StepBody::CopyStep:
      return MakeCopyStep(*step.body_as_CopyStep(), context);
    case fb::StepBody::CatalogStep:
      return MakeCatalogStep(*step.body_as_CatalogStep(), context);
    // HostCollective runs collectives, all members together.
    case fb::StepBody::CollectiveStep:
    case fb::StepBody::GpuKernelStep:
    case fb::StepBody::AttentionStep:
    case fb::StepBody::NONE:
      break;
  }
  return absl::InternalError("a step that no CPU runs by itself is asked for");
}

}  // namespace sinter
