// The devices of one session in this process: their runtimes, and the memory that the session takes there.
//
//   SessionDevices devices(program, &buffers);
//   SINTER_RETURN_IF_ERROR(devices.Open(make, options, context));
//   devices.Prepare();
//   SINTER_RETURN_IF_ERROR(devices.Connect());
//   ...                                            // Load the functions, which know their needs.
//   SINTER_RETURN_IF_ERROR(devices.Allocate(functions, sharing, owns_variables));
//   SINTER_RETURN_IF_ERROR(devices.PlaceConstants(sharing, owns_variables));
//
// Call these in this order, each once. They fill `buffers`, which must outlive the devices.
#ifndef SINTER_RUNTIME_SESSION_SESSION_DEVICES_H_
#define SINTER_RUNTIME_SESSION_SESSION_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/execute/loaded_function.h"
#include "sinter/runtime/execute/memory_sharing.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/world/rank_program.h"

namespace sinter::internal_session {

using LoadedFunctions = std::span<LoadedFunction* const>;

class SessionDevices {
 public:
  SessionDevices(const RankProgram& program, SessionBuffers* buffers)
      : program_(program), plan_(program.table()), buffers_(*buffers) {}

  // Makes the runtimes of the local devices, from the options' allocators or the process-wide ones. Sets
  // `context.scratch_stride`; the caller sets the rest of `context`. InvalidArgument: the allocators do not
  // fit the plan.
  absl::Status Open(const DeviceRuntimeFactory& make, const SessionOptions& options, StepContext context);
  // Starts the runtimes' slow preparations.
  void Prepare();
  // Connects the devices that exchange.
  absl::Status Connect();
  // Allocates all memory of the session. ResourceExhausted before any allocation if it does not fit. A
  // session that does not own its variables takes them and the constants from `sharing`.
  absl::Status Allocate(LoadedFunctions functions, Sharing& sharing, bool owns_variables);
  // Makes the plan's constants and rank values readable on each device.
  absl::Status PlaceConstants(Sharing& sharing, bool owns_variables);

  absl::Status Synchronize();
  // After an error: true if a device may still write to its memory.
  bool MayStillWork() const;
  // Never frees the memory.
  void Abandon();

  // One for each local device, plus main memory if no device has it.
  std::span<const MemoryReservation> reservations() const { return reservations_; }
  // Returns null if the session takes nothing on this device.
  const MemoryReservation* Find(Device device) const;

 private:
  std::vector<Device> LocalNames() const;
  absl::Status OpenDevice(const DeviceRuntimeFactory& make, uint32_t device, CachingAllocator* allocator,
                          const SessionOptions& options, const StepContext& context);
  // Returns the error of the plan's last device of that kind, if it is not there either. So a message tells
  // how many devices the whole plan needs. OK if `device` is the last one.
  absl::Status LastMissing(const DeviceRuntimeFactory& make, Device device, const StepContext& context) const;
  void ListVariables(const Sharing& sharing, bool owns_variables);
  void ListBuffers(LoadedFunctions functions, bool owns_variables);
  absl::Status PlaceRankValues();
  absl::Status ClearInputStaging(LoadedFunctions functions);
  absl::StatusOr<std::byte*> LargeStaging(size_t number, size_t bytes);
  DeviceBuffers& BuffersOf(uint32_t variable);
  MemoryReservation& ReservationOf(uint32_t device) { return reservations_[device - buffers_.local.first]; }
  // Returns the reservation that counts main memory: the first local CPU's, or a separate one if there is no
  // local CPU.
  MemoryReservation& MainMemory();

  const RankProgram& program_;
  const fb::Plan& plan_;
  SessionBuffers& buffers_;
  std::vector<std::unique_ptr<DeviceRuntime>> runtimes_;  // The local devices, in plan order.
  std::vector<MemoryReservation> reservations_;
  // By number of the large input; allocated when one must be copied.
  std::vector<std::span<std::byte>> large_staging_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_DEVICES_H_
