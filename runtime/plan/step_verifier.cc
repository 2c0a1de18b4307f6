// The part of plan_verifier.h that checks steps of any kind; step_kind.h has the checks of each kind.
#include <utility>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_checks.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter {
namespace {

absl::Status Collect(const fb::Function& function, const flatbuffers::Vector<uint32_t>* indices,
                     const char* what, std::vector<const fb::Buffer*>& buffers) {
  const size_t count = function.buffers() == nullptr ? 0 : function.buffers()->size();
  for (size_t i = 0; indices != nullptr && i < indices->size(); ++i) {
    if (indices->Get(i) >= count) return BadPlan(what, " ", i, " is buffer ", indices->Get(i), " of ", count);
    buffers.push_back(function.buffers()->Get(indices->Get(i)));
  }
  return absl::OkStatus();
}

// Checks that the device runs steps of this kind, and that it has all operands, except inputs that the kind
// may read elsewhere.
absl::Status CheckDevice(const StepToVerify& o, const StepKind& kind) {
  const Device device = DeviceOf(o.plan, o.step.device());
  if (kind.needs != nullptr && !(TraitsOf(device.kind()).*kind.needs)) {
    return BadPlan("it runs on ", device.ToString(), ", and ", std::string(kind.needs_why));
  }
  for (const auto& [buffers, what] : {std::pair{&o.inputs, "input "}, std::pair{&o.outputs, "output "}}) {
    if (kind.reads_other_devices && buffers == &o.inputs) continue;
    for (size_t i = 0; i < buffers->size(); ++i) {
      const Device place = DeviceOf(o.plan, (*buffers)[i]->device());
      if (place == device) continue;
      return BadPlan("it runs on ", device.ToString(), ", and its ", what, i, " is on ", place.ToString(),
                     ": only a copy may read from another device");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyStep(const fb::Plan& plan, const fb::Function& function, const fb::Step& step) {
  StepToVerify operands = {.plan = plan, .function = function, .step = step};
  SINTER_RETURN_IF_ERROR(Collect(function, step.inputs(), "input", operands.inputs));
  SINTER_RETURN_IF_ERROR(Collect(function, step.outputs(), "output", operands.outputs));
  for (const fb::Buffer* buffer : operands.outputs) {
    if (buffer->space() == fb::Space::Constant) return BadPlan("it writes to a constant");
    if (buffer->space() == fb::Space::Input) return BadPlan("it writes to an input");
    if (buffer->space() == fb::Space::RankValue) return BadPlan("it writes to a rank value");
  }
  if (step.device() >= NumDevices(plan)) {
    return BadPlan("it runs on device ", step.device(), " of ", NumDevices(plan));
  }
  const StepKind* const kind = step.body() == nullptr ? nullptr : FindStepKind(step.body_type());
  if (kind == nullptr) return BadPlan("its kind, ", static_cast<int>(step.body_type()), ", does not exist");
  SINTER_RETURN_IF_ERROR(CheckDevice(operands, *kind));
  const uint64_t arena = ArenaBytes(function, step.device());
  if (step.workspace_bytes() > arena || step.workspace_offset() > arena - step.workspace_bytes()) {
    return BadPlan("its workspace, bytes ", step.workspace_offset(), " to ", step.workspace_offset(), " + ",
                   step.workspace_bytes(), ", is outside the arena of ", arena, " bytes");
  }
  if (step.workspace_bytes() > 0 && step.workspace_offset() % 64 != 0) {
    return BadPlan("its workspace's offset, ", step.workspace_offset(), ", is not a multiple of 64");
  }
  return kind->verify(operands);
}

}  // namespace sinter
