// The memory of a session: where its pieces are, what they need on each device, and whether that is there.
//
//   DeviceShare share(runtime.allocator(), limit);
//   share.Need("arena", bytes, &SessionMemory::arena, &places.arena);
//   SINTER_RETURN_IF_ERROR(CheckRoom(shares));          // Before anything is taken, for all devices at once.
//   SINTER_RETURN_IF_ERROR(share.Take());
#ifndef SINTER_RUNTIME_EXECUTE_SESSION_MEMORY_H_
#define SINTER_RUNTIME_EXECUTE_SESSION_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/execute/session_use.h"
#include "sinter/runtime/execute/variables_in_doubt.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/memory_limit.h"
#include "sinter/runtime/execute/memory_sharing.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"
#include "sinter/runtime/execute/memory_use.h"

namespace sinter {

namespace fb {
struct Buffer;
}  // namespace fb

namespace internal_session {

// What all functions share on one device. Every piece starts at a multiple of the runtime's alignment and is never null.
struct DevicePlaces {
  DeviceRuntime* runtime = nullptr;  // Null: another process runs the device, and the rest says nothing.
  bool is_host = true;
  std::byte* arena = nullptr;
  size_t arena_bytes = 0;
  std::byte* constants = nullptr;  // Never written to: on a host they are the plan's own bytes.
  std::byte* inputs = nullptr;     // The function's copies of inputs; not on a host.
  std::byte* landing = nullptr;    // As large, where the runtime uses it.
  std::byte* scratch = nullptr;
  std::byte* library_workspace = nullptr;

  bool is_here() const { return runtime != nullptr; }
};

struct Memory {
  std::vector<DevicePlaces> devices;  // As the plan lists them.
  LocalDevices local;                 // Those that this process runs.
  World* world = nullptr;             // Null: there are no other processes.
  std::vector<std::byte*> variables;  // As the plan lists them, replicas too; null of devices elsewhere.
  // In main memory: inputs on their way, and outputs that are not to be read where they are.
  std::byte* staging = nullptr;
  std::byte* outputs = nullptr;
  size_t outputs_bytes = 0;
  // The same for the large input of this number of any function, of this size at least: taken at the first call for it.
  std::function<absl::StatusOr<std::byte*>(size_t number, size_t bytes)> large_staging;
  // What a run may write in main memory: an input that lies there is copied first.
  std::vector<std::span<const std::byte>> written;
  bool poison = false;
  LoadTimes* load_times = nullptr;  // Of the session.
  int64_t runs = 0;                 // Begun so far, of all functions: outputs of earlier ones are gone.
  int64_t exchanging_runs = 0;      // Of functions that exchange with other processes, which all run alike.
  SessionUse use;                   // Of whatever runs, reads or writes.
  uint32_t session = 0;             // In the world (World::Operation).
  absl::Status given_up;            // Why no run can follow among several processes.
  VariablesInDoubt in_doubt;
  Sharing* sharing = nullptr;  // The session's.

  // Of any buffer of a device here but an input. Constants are not to be written to.
  std::byte* AddressOf(const fb::Buffer& buffer) const;
  bool IsWritten(const void* data, size_t bytes) const;
  // What every run ends with that fails among several processes: the others must not wait for it, nor take the next one for it.
  // Returns the reason.
  absl::Status GiveUp(const absl::Status& reason);
};

// What a session takes from one allocator.
class DeviceShare {
 public:
  // InvalidArgument: the limit cannot be.
  static absl::StatusOr<DeviceShare> Make(CachingAllocator& allocator,
                                          const std::optional<MemoryLimit>& limit);

  // `place` is set by Take. `kind`: where it is reported. `is_shared`: with later sessions of the plan (memory_sharing.h).
  void Need(std::string tag, size_t bytes, int64_t SessionMemory::* kind, std::byte** place,
            bool is_shared = false);
  // Allocates everything; places of no bytes are somewhere.
  absl::Status Take(Sharing& sharing);
  // Never frees it: a device or a message may still write there.
  void Abandon();

  // For a need that came up in a run. ResourceExhausted: more than the limit, or than the allocator has; `instead` says what
  // could be done to need nothing.
  absl::StatusOr<std::byte*> TakeMore(const std::string& tag, size_t bytes, int64_t SessionMemory::* kind,
                                      const std::string& instead);

  Device device() const { return allocator_->device(); }
  CachingAllocator& allocator() const { return *allocator_; }
  const SessionMemory& report() const { return report_; }
  SessionMemory& report() { return report_; }

 private:
  friend absl::Status CheckRoom(std::span<const DeviceShare> shares);

  struct Piece {
    std::string tag;
    size_t bytes;
    std::byte** place;
    bool is_shared;
  };

  DeviceShare(CachingAllocator& allocator, int64_t limit) : allocator_(&allocator), limit_(limit) {}
  // What keeps the pieces from being allocated, if `free_bytes` are left on the device; empty: nothing.
  std::string Problem(int64_t needed, int64_t free_bytes) const;
  std::string Largest() const;

  CachingAllocator* allocator_;
  int64_t limit_;  // Of this session; 0: none.
  std::vector<Piece> pieces_;
  std::vector<Allocation> allocations_;
  SessionMemory report_;
};

// ResourceExhausted when the pieces of any device do not fit, with what every device needs and has. CPUs share the main
// memory, so their needs add up.
absl::Status CheckRoom(std::span<const DeviceShare> shares);

// Until the process ends: something may still write there.
void KeepForever(std::shared_ptr<const void> memory);

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_SESSION_MEMORY_H_
