// One step of a function: a prepared kernel or library call.
//
// The load phase makes a step: it creates library primitives, looks up symbols, and may allocate. Run only
// launches and allocates nothing. One thread at a time may call Run.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, device.MakeStep(plan, table));
//   SINTER_RETURN_IF_ERROR(step->Run(args));
#ifndef SINTER_RUNTIME_DEVICE_STEP_H_
#define SINTER_RUNTIME_DEVICE_STEP_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "sinter/kernels/cpu/isa.h"
#include "sinter/runtime/world/exchange_patience.h"
#include "sinter/runtime/world/local_devices.h"

namespace sinter {

class LoadTimes;
class SessionTuning;
class ThreadPool;
class World;

namespace fb {
struct Plan;
}  // namespace fb

// The arguments of a step's run. The array has one pointer per entry of Step.inputs and Step.outputs in the
// plan.
struct StepArgs {
  void* const* buffers = nullptr;  // Inputs, then outputs.
  void* workspace = nullptr;       // Step.workspace_bytes, 64-byte aligned; null if 0.
  void* scratch = nullptr;         // Thread scratch of the whole executable; see StepContext::scratch_stride.
  // At least LibraryWorkspaceBytes() bytes, 64-byte aligned. Other steps share this memory, but none that may
  // run at the same time.
  void* library_workspace = nullptr;
  // At least ExchangeWorkspaceBytes() bytes, 256-byte aligned. All exchanges of the device share this memory:
  // they follow each other.
  void* exchange_workspace = nullptr;
};

// Things that a step may use while it is made.
struct StepContext {
  ThreadPool* pool = nullptr;
  void* shared_object = nullptr;  // Handle of dlopen; null if the plan has no generated kernels.
  size_t scratch_stride = 0;      // Bytes of scratch memory per thread.
  // The plan's instruction set, for kernels whose bits depend on it.
  kernels::Isa isa = kernels::Isa::kV3;
  bool uses_onednn = false;  // True if SessionOptions::cpu_matmuls is kOneDnn.
  // For collectives (runtime/plan/collective.h).
  World* world = nullptr;   // Null if there are no other processes.
  LocalDevices local = {};  // The plan's devices in this process.
  ExchangePatience exchange_patience;
  // Choices among algorithms of libraries (runtime/device/session_tuning.h); outlives all steps. Null if
  // there is no tuning.
  SessionTuning* tuning = nullptr;
  // Records the times of slow phases (runtime/host/load_times.h); outlives all steps. Null if they are not
  // recorded.
  LoadTimes* load_times = nullptr;
  // The plan whose steps will be made, so that a device can open the libraries that they need while it
  // starts. Null if it is not known yet.
  const fb::Plan* plan = nullptr;
};

// Places where a device may capture a step (DeviceRuntime::Capture). Libraries wait for the GPU in some
// routines, and allocate in others: a capture cannot contain the former, and no body of a condition
// (DeviceRuntime::RunWhile) the latter. A launch leaves such steps out of its captures.
enum class CaptureLimit { kAnywhere, kNotInConditions, kNowhere };

class Step {
 public:
  virtual ~Step() = default;
  virtual CaptureLimit capture_limit() const { return CaptureLimit::kAnywhere; }
  // Returns the memory that the step needs besides the plan's workspace. Known once the step is made.
  virtual size_t LibraryWorkspaceBytes() const { return 0; }
  virtual size_t ExchangeWorkspaceBytes() const { return 0; }
  virtual absl::Status Run(const StepArgs& args) = 0;
  // For steps that run asynchronously (collectives on GPUs): makes later work wait for this step. Called once
  // for each Run, within the same capture (runtime/execute/collective_waits.h).
  virtual absl::Status Wait() { return absl::OkStatus(); }
};

// Does nothing: a step whose operands have no elements.
class EmptyStep : public Step {
 public:
  absl::Status Run(const StepArgs&) override { return absl::OkStatus(); }
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_STEP_H_
