// One step of a function: a kernel or library call with everything decided.
//
// Phases: a step is made at Load (creates library primitives, looks symbols up, may allocate); Run only launches, with
// no heap allocation. Run may be called by one thread at a time.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, MakeMatmulStep(*table, context));
//   SINTER_RETURN_IF_ERROR(step->Run(args));
#ifndef SINTER_RUNTIME_DEVICE_STEP_H_
#define SINTER_RUNTIME_DEVICE_STEP_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "sinter/kernels/cpu/isa.h"
#include "sinter/runtime/world/local_devices.h"

namespace sinter {

class LoadTimes;
class SessionTuning;
class ThreadPool;
class World;

// What a step needs while it runs. The arrays hold one pointer an entry of Step.inputs and Step.outputs of the plan.
struct StepArgs {
  void* const* buffers = nullptr;  // Inputs, then outputs.
  void* workspace = nullptr;       // Step.workspace_bytes, 64-byte aligned; null when there are none.
  void* scratch = nullptr;         // Thread scratch of the whole executable; see StepContext::scratch_stride.
  // At least LibraryWorkspaceBytes(), 64-byte aligned, also of other steps: none of those that may run beside this one.
  void* library_workspace = nullptr;
};

// What a step may use while it is made.
struct StepContext {
  ThreadPool* pool = nullptr;
  void* shared_object = nullptr;  // Handle of dlopen; null in a plan without generated kernels.
  size_t scratch_stride = 0;      // Bytes of scratch memory a thread.
  // The instruction set that the plan is compiled for, for kernels that have other bits with another instruction set.
  kernels::Isa isa = kernels::Isa::kV3;
  bool uses_onednn = false;  // SessionOptions::cpu_products is kOneDnn.
  // For collectives (runtime/plan/collective.h).
  World* world = nullptr;   // Null: this process is alone.
  LocalDevices local = {};  // Of the plan.
  // For matrix products of GPUs (runtime/device/session_tuning.h); outlives all steps. Null: there is no tuning file.
  SessionTuning* tuning = nullptr;
  // Where what takes long says so (runtime/host/load_times.h); outlives all steps. Null: nobody asks.
  LoadTimes* load_times = nullptr;
  // Of CUDA's libraries, which steps on GPUs need: they are opened while a GPU is reached.
  bool needs_cublaslt = false, needs_cudnn = false;
};

class Step {
 public:
  virtual ~Step() = default;
  // Memory that the step needs besides the plan's: known once the step is made.
  virtual size_t LibraryWorkspaceBytes() const { return 0; }
  virtual absl::Status Run(const StepArgs& args) = 0;
  // Of a step that runs beside those given after it, as a collective of a GPU does: what is given from now on comes after
  // it. Called once for each Run, within the same recording (runtime/execute/collective_joins.h).
  virtual absl::Status Join() { return absl::OkStatus(); }
};

// Does nothing: a step whose operands have no elements.
class EmptyStep : public Step {
 public:
  absl::Status Run(const StepArgs&) override { return absl::OkStatus(); }
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_STEP_H_
