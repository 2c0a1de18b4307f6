// Copies, within a device and between devices: fb::CopyStep.
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {

absl::Status VerifyCopy(const StepToVerify& o) {
  const fb::CopyStep& s = *o.step.body_as_CopyStep();
  SINTER_RETURN_IF_ERROR(CheckCounts(o, 1, 1));
  if (s.bytes() == o.inputs[0]->bytes() && s.bytes() == o.outputs[0]->bytes()) return absl::OkStatus();
  return BadPlan("it copies ", s.bytes(), " bytes from a buffer of ", o.inputs[0]->bytes(), " to one of ",
                 o.outputs[0]->bytes());
}

std::string CopyText(const fb::Plan&, const fb::Step&) { return "copy"; }

}  // namespace sinter
