// The members of a Session, in the order in which they must be created and destroyed.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SessionState> state,
//                           SessionState::Load(std::move(plan), options, MakeDeviceRuntime));
#ifndef SINTER_RUNTIME_SESSION_SESSION_STATE_H_
#define SINTER_RUNTIME_SESSION_SESSION_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/device/session_tuning.h"
#include "sinter/runtime/execute/loaded_function.h"
#include "sinter/runtime/execute/memory_sharing.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/initial_value_prefetch.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/initializer.h"

namespace sinter::internal_session {

struct SessionState {
  struct Entry {
    std::unique_ptr<LoadedFunction> function;
    BoundFunction bound;  // For Session::Run.
  };

  // Like Session::Create, which passes MakeDeviceRuntime as `make`; tests pass their own devices.
  static absl::StatusOr<Session> MakeSession(Plan plan, const SessionOptions& options,
                                             const DeviceRuntimeFactory& make);
  // `sharing` belongs to the session whose variables this one reads; null if this session has its own.
  static absl::StatusOr<std::unique_ptr<SessionState>> Load(Plan plan, const SessionOptions& options,
                                                            const DeviceRuntimeFactory& make,
                                                            std::shared_ptr<Sharing> sharing = nullptr);
  // Requires SessionBuffers::use, as do the functions below.
  absl::StatusOr<Session> Share(const SessionOptions& options);
  // FailedPrecondition if other sessions read the variables.
  absl::Status CheckNotShared() const;
  // Waits for devices. If one may still write afterwards, its memory is never freed.
  ~SessionState();

  // NotFound lists the existing functions.
  absl::StatusOr<Entry*> Find(std::string_view function);
  absl::StatusOr<size_t> FindVariable(std::string_view name) const;
  absl::Status InitializeVariables();
  absl::Status Synchronize();

  // Returns the memory of the device that has this variable of the plan.
  const DeviceBuffers& BuffersOf(uint32_t plan_variable) const;
  // Returns the plan index of the variable's first local copy. FailedPrecondition if no local device has one.
  absl::StatusOr<uint32_t> FirstCopy(size_t variable) const;
  // Returns a view, or a copy if the variable is on a GPU.
  absl::StatusOr<HostTensor> ViewVariable(size_t variable) const;
  // Writes all local copies, rounding for low-precision ones. `data` may be the session's own memory.
  absl::Status WriteCopies(size_t variable, const void* data);
  // Writes `bytes` of the variable at `offset`. Both are multiples of the element size.
  absl::Status WriteCopies(size_t variable, size_t offset, const void* data, size_t bytes);
  // Returns null if the session takes nothing on this device.
  const MemoryReservation* FindShare(Device device) const;

  Plan plan;
  DeviceRuntimeFactory make;
  std::unique_ptr<ThreadPool> pool;
  SharingMember sharing;
  bool owns_variables;  // True if this session initialized the variables and reports their memory.
  LoadTimes load_times;
  SessionTuning tuning;
  std::vector<std::unique_ptr<DeviceRuntime>> runtimes;  // The local devices, in plan order.
  std::vector<MemoryReservation> shares;      // One per runtime, plus main memory if no runtime has it.
  std::vector<VariableInfo> variables;        // Without replicas.
  std::vector<std::vector<uint32_t>> copies;  // By variable: its local plan indices, low precision last.
  SessionBuffers memory;
  std::vector<Entry> functions;
  std::unique_ptr<InitialValuePrefetch> initial_value_prefetch;  // For variables, until they are initialized.
  std::vector<std::span<std::byte>>
      large_staging;                      // By number of the large input; allocated when one must be copied.
  std::map<size_t, int64_t> log_numbers;  // By ring variable: number of the last value read.

 private:
  SessionState(Plan plan, const DeviceRuntimeFactory& make, std::shared_ptr<Sharing> sharing);
  absl::Status UseOptions(const SessionOptions& options);
  absl::Status LoadDevices(const SessionOptions& options);
  absl::Status LoadProgram();
  void ListVariables();
  DType TypeOf(uint32_t plan_variable) const;
  absl::Status WriteLowPrecisionCopy(uint32_t plan_variable, size_t offset, const void* data, size_t bytes);
  std::vector<Device> LocalNames() const;
  absl::Status Connect();
  absl::Status MakeRuntimes(const SessionOptions& options);
  absl::Status LoadFunctions();
  absl::Status Allocate();
  void ListPieces();
  absl::StatusOr<std::byte*> LargeStaging(size_t number, size_t bytes);
  absl::Status PlaceConstants();
  InitialValues InitialValuesOf(size_t variable) const;
  // Starts computing the initial values of variables outside main memory.
  void StartInitialValues();
  absl::Status InitializeVariable(size_t variable);
  // For a variable whose first copy is not in main memory.
  absl::Status InitializeOnDevices(size_t variable, const InitialValues& values);
  absl::StatusOr<bool> FillCopies(size_t variable, const InitialValues& values);
  MemoryReservation& ShareOf(uint32_t device) { return shares[device - memory.local.first]; }
  // Returns the share that counts main memory: the first local CPU's, or a separate one if there is no local
  // CPU.
  MemoryReservation& MainMemory();
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_STATE_H_
