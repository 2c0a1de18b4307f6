#include "sinter/runtime/steps.h"

#include "sinter/runtime/collective.h"

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
    // Run by HostCollective, all members together.
    case fb::StepBody::CollectiveStep:
    case fb::StepBody::GpuKernelStep:
    case fb::StepBody::AttentionStep:
    case fb::StepBody::NONE:
      break;
  }
  return absl::InternalError("a step that no CPU runs by itself is asked for");
}

std::string_view StepKind(const fb::Step& step) {
  switch (step.body_type()) {
    case fb::StepBody::KernelStep:
    case fb::StepBody::GpuKernelStep:
      return "kernel";
    case fb::StepBody::MatmulStep:
      return "matmul";
    case fb::StepBody::ConvStep:
      return "conv";
    case fb::StepBody::PoolStep:
      return "pool";
    case fb::StepBody::CopyStep:
      return "copy";
    case fb::StepBody::CatalogStep: {
      const flatbuffers::String& kernel = *step.body_as_CatalogStep()->kernel();
      return {kernel.c_str(), kernel.size()};
    }
    case fb::StepBody::CollectiveStep:
      return CollectiveName(step.body_as_CollectiveStep()->kind());
    case fb::StepBody::AttentionStep:
      return "attention";
    case fb::StepBody::NONE:
      break;
  }
  return "";
}

}  // namespace sinter
