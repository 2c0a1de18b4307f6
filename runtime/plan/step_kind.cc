#include "sinter/runtime/plan/step_kind.h"

#include "sinter/runtime/plan/collective.h"

namespace sinter {

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
