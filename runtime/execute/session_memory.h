// Lists the memory that a session needs on each device, checks that it fits, and allocates it.
//
//   MemoryReservation share(runtime.allocator(), limit);
//   share.Need("arena", bytes, &SessionMemory::arena, &buffers.arena);
//   SINTER_RETURN_IF_ERROR(CheckRoom(shares));          // Before any allocation, for all devices.
//   SINTER_RETURN_IF_ERROR(share.Take(sharing));
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
#include "sinter/runtime/execute/memory_sharing.h"
#include "sinter/runtime/execute/memory_use.h"
#include "sinter/runtime/execute/session_use.h"
#include "sinter/runtime/execute/variables_in_doubt.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/memory_limit.h"
#include "sinter/runtime/world/exchange_patience.h"
#include "sinter/runtime/world/local_devices.h"
#include "sinter/runtime/world/world.h"

namespace sinter {

namespace fb {
struct Buffer;
}  // namespace fb

namespace internal_session {

// Memory that all functions share on one device. Every piece is aligned to the runtime's alignment and is
// never null.
struct DeviceBuffers {
  DeviceRuntime* runtime = nullptr;  // Null if another process owns the device; the rest is then unset.
  bool is_host = true;
  std::byte* arena = nullptr;
  size_t arena_bytes = 0;
  std::byte* constants = nullptr;      // Never written. On a host: the plan's own bytes.
  std::byte* rank_values = nullptr;    // Never written. RankProgram::rank_values.
  std::byte* inputs = nullptr;         // The function's copies of inputs; unused on a host.
  std::byte* input_staging = nullptr;  // As large as `inputs`; only if the runtime uses it.
  std::byte* scratch = nullptr;
  std::byte* library_workspace = nullptr;
  std::byte* exchange_workspace = nullptr;

  bool is_here() const { return runtime != nullptr; }
};

struct SessionBuffers {
  std::vector<DeviceBuffers> devices;  // In plan order.
  LocalDevices local;                  // The devices that this process runs.
  World* world = nullptr;              // Null if there are no other processes.
  ExchangePatience patience;           // Limits exchanges in the world and between GPUs.
  std::vector<std::byte*> variables;   // In plan order, with replicas; null if on a remote device.
  // In main memory: staging for inputs, and copies of outputs that cannot be read in place.
  std::byte* staging = nullptr;
  std::byte* outputs = nullptr;
  size_t outputs_bytes = 0;
  std::byte* exchange = nullptr;  // For CopyBetween.
  size_t exchange_bytes = 0;
  // Returns a staging buffer of at least `bytes` for large input `number` of any function. Allocated by the
  // first call that needs it.
  std::function<absl::StatusOr<std::byte*>(size_t number, size_t bytes)> large_staging;
  // Main memory that a run may write. An input that overlaps it is copied first.
  std::vector<std::span<const std::byte>> written;
  bool poison = false;
  LoadTimes* load_times = nullptr;  // The session's.
  int64_t runs = 0;                 // Runs begun so far, of all functions. Outputs of earlier runs are gone.
  int64_t exchanging_runs = 0;      // Runs that exchange with other processes. All ranks have the same count.
  SessionUse use;                   // Held by each call that runs, reads or writes.
  uint32_t session = 0;             // Number within the world (World::Operation).
  absl::Status given_up;            // Why no further run is possible among several processes.
  VariablesInDoubt in_doubt;
  bool has_initial_values = false;  // True if nothing has written a variable since its initial value.
  Sharing* sharing = nullptr;       // The session's.

  // Returns the address of a buffer on a local device; null for inputs. Callers must not write constants.
  std::byte* AddressOf(const fb::Buffer& buffer) const;
  bool IsWritten(const void* data, size_t bytes) const;
  // Ends a failed run: tells the other processes to neither wait for this run nor mistake the next run for
  // it. Returns the reason.
  absl::Status GiveUp(const absl::Status& reason);
};

// The memory that a session takes from one allocator.
class MemoryReservation {
 public:
  // InvalidArgument if the limit is invalid.
  static absl::StatusOr<MemoryReservation> Make(CachingAllocator& allocator,
                                                const std::optional<MemoryLimit>& limit);

  // Adds a piece of memory. Take sets `place`; `kind` is the field that reports the piece. `is_shared` pieces
  // are shared with later sessions of the plan (memory_sharing.h).
  void Need(std::string tag, size_t bytes, int64_t SessionMemory::* kind, std::byte** place,
            bool is_shared = false);
  // Allocates all pieces. Pieces of 0 bytes get an arbitrary non-null address.
  absl::Status Take(Sharing& sharing);
  // Never frees the memory: a device or a message may still write there.
  void Abandon();

  // Allocates for a need that arises in a run. ResourceExhausted if it exceeds the limit or the allocator's
  // memory; `instead` tells the user how to avoid the need.
  absl::StatusOr<std::byte*> TakeMore(const std::string& tag, size_t bytes, int64_t SessionMemory::* kind,
                                      const std::string& instead);

  Device device() const { return allocator_->device(); }
  CachingAllocator& allocator() const { return *allocator_; }
  const SessionMemory& report() const { return report_; }
  SessionMemory& report() { return report_; }

 private:
  friend absl::Status CheckRoom(std::span<const MemoryReservation> shares);

  struct Piece {
    std::string tag;
    size_t bytes;
    std::byte** place;
    bool is_shared;
  };

  MemoryReservation(CachingAllocator& allocator, int64_t limit) : allocator_(&allocator), limit_(limit) {}
  // Returns why the pieces cannot be allocated when `free_bytes` are left on the device; empty if they can.
  std::string Problem(int64_t needed, int64_t free_bytes) const;
  std::string Largest() const;

  CachingAllocator* allocator_;
  int64_t limit_;  // This session's limit; 0 means none.
  std::vector<Piece> pieces_;
  std::vector<Allocation> allocations_;
  SessionMemory report_;
};

// ResourceExhausted if the pieces of any device do not fit, with the needs and free memory of every device.
// CPU devices share the main memory, so their needs add up.
absl::Status CheckRoom(std::span<const MemoryReservation> shares);

// Keeps `memory` until the process ends, because a device or a message may still write there.
void KeepForever(std::shared_ptr<const void> memory);

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_SESSION_MEMORY_H_
