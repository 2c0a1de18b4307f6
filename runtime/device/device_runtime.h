// What a session needs of one device of its plan: memory, steps, copies to and from main memory, and replay.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceRuntime> gpu, MakeDeviceRuntime(Device::Gpu(0), options));
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, gpu->MakeStep(plan, step_table));
//   SINTER_RETURN_IF_ERROR(step->Run(args));             // A CPU computes; a GPU enqueues on its stream.
//   SINTER_RETURN_IF_ERROR(gpu->Download(host, result, bytes));
//
// A device's work runs in the order in which it was given. Between devices order exists only where WaitFor makes it. One
// thread at a time, as for sessions. Addresses are fixed before the first run, so that steps may be recorded once.
//
// StepArgs on a device: buffers, workspace and library_workspace are in its memory; so is scratch, ScratchBytes() of it, null
// when there are none.
#ifndef SINTER_RUNTIME_DEVICE_DEVICE_RUNTIME_H_
#define SINTER_RUNTIME_DEVICE_DEVICE_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/device/stopwatch.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

namespace fb {
struct Plan;
struct Step;
}  // namespace fb

// Work of a device that was recorded once and is launched again as a whole: a CUDA graph.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual absl::Status Launch() = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual Device device() const = 0;
  virtual CachingAllocator& allocator() = 0;
  // Whether the CPU may read and write the device's memory directly.
  virtual bool is_host_memory() const = 0;
  // The multiple that arenas and inputs start at.
  virtual int64_t alignment() const = 0;

  // Load phase, once for all devices of this kind, before the steps of a plan with collectives among them are made: lets the
  // members of every group reach each other. `peers` are the plan's devices; null where one is of another kind or elsewhere.
  // `world`: null for a process alone. Errors: FailedPrecondition (a library is missing), Unavailable (a rank does not answer).
  virtual absl::Status Connect(const fb::Plan&, std::span<DeviceRuntime* const> /*peers*/,
                               const LocalDevices&, World* /*world*/) {
    return absl::OkStatus();
  }
  // Load phase, before the first step is made: may begin what takes long about steps of the plan's device `device`, on threads of
  // its own. MakeStep waits for it where it must; attention's steps are made last for that.
  virtual void Prepare(const fb::Plan& /*plan*/, uint32_t /*device*/) {}
  // Whoever waits for a member of a collective, on this device or on its CPU side, gets this error instead. Any thread.
  virtual void Abort(const absl::Status& /*reason*/) {}

  // Load phase: everything slow about a step. Errors: NotFound (no kernel for this device's architecture: says which the
  // plan holds), FailedPrecondition (a library is missing or of the wrong version), Internal.
  virtual absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) = 0;
  // Memory that all steps made so far share while they run, besides the library workspace. The session allocates it.
  virtual size_t ScratchBytes() const { return 0; }

  // After all work given so far. Upload returns when `from` may be changed; Download and Synchronize when it is done.
  virtual absl::Status Upload(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Download(void* to, const void* from, size_t bytes) = 0;
  // A run's inputs to their place, `bytes` from `to` on: pieces of main memory, which may be changed on return. A device that
  // uses a landing, as many bytes of its memory, brings them there while earlier work still runs, and from there to their
  // place when that is done; for others `landing` is null, and it is an Upload of each.
  struct InputPiece {
    size_t offset;
    const void* from;
    size_t bytes;
  };
  virtual bool uses_landing() const { return false; }
  virtual absl::Status UploadInputs(void* to, void* /*landing*/, std::span<const InputPiece> pieces,
                                    size_t /*bytes*/) {
    for (const InputPiece& piece : pieces) {
      absl::Status status = Upload(static_cast<std::byte*>(to) + piece.offset, piece.from, piece.bytes);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  virtual absl::Status Fill(void* to, uint8_t value, size_t bytes) = 0;
  virtual absl::Status Synchronize() = 0;
  // After an error: what it was given may still be running, and write to memory that it was given.
  virtual bool MayStillWork() const { return false; }
  // Work given from now on waits for all that `other` was given so far. Nothing to do for a CPU as `other`, which is never
  // behind.
  virtual absl::Status WaitFor(DeviceRuntime& other) = 0;
  // Copies from memory of another device; the session has called WaitFor where `other` may still be writing `from`, and
  // will where it is to be written again. Peer to peer, or through pinned memory. From a CPU it is an Upload: `from` may be
  // changed on return. Never called within Record.
  virtual absl::Status CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) = 0;

  // Calls `work`, which only runs steps of this device that have run before, and keeps what it enqueues instead of running
  // it: Launch runs it, the first time too. Null: the device has no use for recording (a CPU), and `work` was not called.
  virtual absl::StatusOr<std::unique_ptr<RecordedWork>> Record(const std::function<absl::Status()>& work) = 0;

  // Within Record: what is given from now on, up to the next call, is the next piece, counted from 0, and comes after the
  // pieces `before` alone; the others may run beside it. First called before anything is given, or not at all. A device that
  // knows no such thing keeps the order in which it was given its work.
  virtual absl::Status BeginPiece(std::span<const uint32_t> /*before*/) { return absl::OkStatus(); }

  // With marks 0 to `marks` - 1 in this device's work. Load phase: allocates, and the first may measure what a mark costs.
  virtual absl::StatusOr<std::unique_ptr<Stopwatch>> MakeStopwatch(size_t marks) = 0;

  // Bytes moved by Upload, Download and CopyFrom so far, and how often it was a Download: for tests that count unrequested
  // transfers, and for what a program's transfers cost.
  struct Traffic {
    int64_t uploaded = 0, downloaded = 0, copied = 0;
    int64_t downloads = 0;
  };
  virtual Traffic traffic() const = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_DEVICE_RUNTIME_H_
