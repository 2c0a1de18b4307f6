// A step that runs a fragment of the plan several times: fb::LoopStep.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> loop, MakeLoopStep(plan, table, gpu));
//   SINTER_RETURN_IF_ERROR(loop->Run(args));
//
// The steps of the fragment are made once, whatever the number of trips. Before each trip, Run points them to
// that trip's slices. A device that captures work records every trip, so no host takes part in a replay. Run
// allocates nothing.
#ifndef SINTER_RUNTIME_DEVICE_LOOP_STEP_H_
#define SINTER_RUNTIME_DEVICE_LOOP_STEP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

// Makes the loop `step` of a verified plan on its device. Errors are those of DeviceRuntime::MakeStep, with
// the fragment and the step in it.
absl::StatusOr<std::unique_ptr<Step>> MakeLoopStep(const fb::Plan& plan, const fb::Step& step,
                                                   DeviceRuntime& runtime);

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_LOOP_STEP_H_
