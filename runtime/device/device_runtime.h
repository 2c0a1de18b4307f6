// Interface of a session to one device of its plan: memory, steps, copies to and from main memory, replay.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceRuntime> gpu, MakeDeviceRuntime(Device::Gpu(0), options));
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, gpu->MakeStep(plan, step_table));
//   SINTER_RETURN_IF_ERROR(step->Run(args));             // A CPU computes; a GPU enqueues on its stream.
//   SINTER_RETURN_IF_ERROR(gpu->Download(host, result, bytes));
//
// A device runs its work in the order of the calls. Order between devices exists only through WaitFor. A
// device knows main memory and the other devices of its back end; runtime/execute/device_exchange.h goes
// between back ends. Not thread-safe, like sessions. Addresses are fixed before the first run, so that steps
// can be captured once.
//
// StepArgs on a device: buffers, workspace, library_workspace and scratch are in its memory. scratch has
// ScratchBytes() bytes; it is null if there are none.
#ifndef SINTER_RUNTIME_DEVICE_DEVICE_RUNTIME_H_
#define SINTER_RUNTIME_DEVICE_DEVICE_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/event_timer.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

class Backend;

namespace fb {
struct Plan;
struct Step;
}  // namespace fb

// Work of a device that is captured once and launched again as a whole.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  virtual absl::Status Launch() = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual Device device() const = 0;
  // The back end that made this runtime. Runtimes of one back end may use each other's insides.
  virtual const Backend& backend() const = 0;
  virtual CachingAllocator& allocator() = 0;
  // True if the CPU can read and write the device's memory directly.
  virtual bool is_host_memory() const = 0;
  // Alignment of arenas and inputs.
  virtual int64_t alignment() const = 0;

  // Load phase: connects the members of every group, once for all devices of this back end, before MakeStep
  // of a plan with collectives. `peers` are the plan's devices, null for a device of another back end or
  // process. `world` is null for a single process. Errors: FailedPrecondition (a library is missing),
  // Unavailable (a rank does not respond).
  virtual absl::Status Connect(const fb::Plan&, std::span<DeviceRuntime* const> /*peers*/,
                               const LocalDevices&, World* /*world*/) {
    return absl::OkStatus();
  }
  // Load phase, before the first MakeStep: may start slow preparations for the steps of the plan's device
  // `device`, on its own threads. MakeStep waits for them if necessary. The session therefore makes the steps
  // that take long (MakeCost) last.
  virtual void Prepare(const fb::Plan& /*plan*/, uint32_t /*device*/) {}
  // Ends every wait for a member of a collective, on this device or its host side, with this error. Callable
  // from any thread.
  virtual void Abort(const absl::Status& /*reason*/) {}

  // Load phase: makes a step, including all slow work. Errors: NotFound (no kernel for this device's
  // architecture; lists the plan's architectures), FailedPrecondition (a library is missing or has the wrong
  // version), Internal.
  virtual absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) = 0;
  // Memory, besides the library workspace, that all steps made so far share while they run. The session
  // allocates it.
  virtual size_t ScratchBytes() const { return 0; }

  // These run after all earlier work. Upload returns when `from` may change; Download and Synchronize when
  // all is done.
  virtual absl::Status Upload(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Download(void* to, const void* from, size_t bytes) = 0;
  // Copies a run's inputs to `to` and the `bytes` that follow. The pieces are in main memory. Those in memory
  // that the device copies from directly (PinnedHost) may change after FinishInputs, all others on return. A
  // device with uses_input_staging() gets `input_staging`, a second buffer of `bytes` in its
  // memory: it uploads to `input_staging` while earlier work still runs, and moves the inputs from there
  // afterwards. For other devices `input_staging` is null, and each piece is an Upload.
  struct InputPiece {
    size_t offset;
    const void* from;
    size_t bytes;
  };
  virtual bool uses_input_staging() const { return false; }
  virtual absl::Status UploadInputs(void* to, void* /*input_staging*/, std::span<const InputPiece> pieces,
                                    size_t /*bytes*/) {
    for (const InputPiece& piece : pieces) {
      absl::Status status = Upload(static_cast<std::byte*>(to) + piece.offset, piece.from, piece.bytes);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  // Waits until the pieces of the last UploadInputs may change.
  virtual absl::Status FinishInputs() { return absl::OkStatus(); }
  virtual absl::Status Fill(void* to, uint8_t value, size_t bytes) = 0;
  virtual absl::Status Synchronize() = 0;
  // After an error: true if earlier work may still run and write to its memory.
  virtual bool MayStillWork() const { return false; }
  // Makes later work of this device wait for all earlier work of `other`, which is a device of the same back
  // end or one with main memory. Does nothing if `other` is a CPU, whose work is always done.
  virtual absl::Status WaitFor(DeviceRuntime& other) = 0;
  // Copies from memory of another device of the same back end, peer to peer or through pinned memory, or
  // between main memory and this device. The session calls WaitFor if `other` may still be writing `from`,
  // and before `from` is overwritten. A copy from a CPU is an Upload: `from` may change on return. Never
  // called within Capture.
  virtual absl::Status CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) = 0;

  // Captures the work that `work` enqueues, without running it. Launch runs it, also the first time. `work`
  // may only run steps of this device that have run before. Returns null, without calling `work`, if the
  // device does not capture (a CPU).
  virtual absl::StatusOr<std::unique_ptr<CapturedGraph>> Capture(
      const std::function<absl::Status()>& work) = 0;

  // Within Capture: starts the next branch, counted from 0, which contains the following work. The branch
  // runs after the branches in `before` only and may run concurrently with the others. Call it before any
  // work of the capture, or never. A device without this feature keeps the order of the calls.
  virtual absl::Status BeginBranch(std::span<const uint32_t> /*before*/) { return absl::OkStatus(); }

  // Load phase: prepares RunWhile. FailedPrecondition: the device cannot run it.
  virtual absl::Status PrepareWhile() { return absl::OkStatus(); }
  // Runs `body` as long as the byte at `flag`, in the device's memory, is not 0, and at most `trips` times.
  // `count` has 8 bytes of the device's memory, which the call may change. Within Capture, the captured work
  // decides: `body` is called once, and must enqueue the same work in each trip.
  virtual absl::Status RunWhile(const void* flag, void* /*count*/, int64_t trips,
                                absl::FunctionRef<absl::Status()> body) {
    for (int64_t trip = 0; trip < trips; ++trip) {
      uint8_t goes_on = 0;
      absl::Status status = Download(&goes_on, flag, 1);
      if (status.ok() && goes_on != 0) status = body();
      if (!status.ok() || goes_on == 0) return status;
    }
    return absl::OkStatus();
  }

  // Makes an event timer with events 0 to `events` - 1 in this device's work. Load phase: allocates. The
  // first call may measure the cost of an event.
  virtual absl::StatusOr<std::unique_ptr<EventTimer>> MakeEventTimer(size_t events) = 0;

  // Bytes moved by Upload, Download and CopyFrom so far, and the number of Downloads. Tests use it to find
  // unrequested transfers; programs can read the cost of their transfers.
  struct Traffic {
    int64_t uploaded = 0, downloaded = 0, copied = 0;
    int64_t downloads = 0;
    int64_t from_pinned = 0;  // The part of `uploaded` that the device read from the caller's memory.
  };
  virtual Traffic traffic() const = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_DEVICE_RUNTIME_H_
