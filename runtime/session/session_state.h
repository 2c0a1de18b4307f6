// What a Session owns, in the order in which it must come and go.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<State> state, State::Load(std::move(plan), options, MakeDeviceRuntime));
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
#include "sinter/runtime/execute/executable.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/execute/memory_sharing.h"
#include "sinter/runtime/session/values_ahead.h"
#include "sinter/runtime/tensor/initializer.h"

namespace sinter::internal_session {

struct State {
  struct Entry {
    std::unique_ptr<FunctionState> function;
    BoundFunction bound;  // For Session::Run.
  };

  // As Session::Create, for whom `make` is MakeDeviceRuntime; tests bring devices of their own.
  static absl::StatusOr<Session> MakeSession(Plan plan, const SessionOptions& options,
                                             const DeviceRuntimeFactory& make);
  // `sharing`: of the session whose variables this one is to read; null: it has its own.
  static absl::StatusOr<std::unique_ptr<State>> Load(Plan plan, const SessionOptions& options,
                                                     const DeviceRuntimeFactory& make,
                                                     std::shared_ptr<Sharing> sharing = nullptr);
  // With Memory::use, as what follows.
  absl::StatusOr<Session> Share(const SessionOptions& options);
  // FailedPrecondition: other sessions read the variables.
  absl::Status CheckNotShared() const;
  // Devices may still be working in the memory that goes.
  ~State();

  // NotFound lists what there is.
  absl::StatusOr<Entry*> Find(std::string_view function);
  absl::StatusOr<size_t> FindVariable(std::string_view name) const;
  absl::Status InitializeVariables();
  absl::Status Synchronize();

  // Of a variable of the plan.
  const DevicePlaces& PlacesOf(uint32_t plan_variable) const;
  // FailedPrecondition: no device of this process has the variable.
  absl::StatusOr<uint32_t> FirstCopy(size_t variable) const;
  // A view, or of another device than a CPU a copy.
  absl::StatusOr<HostTensor> ViewVariable(size_t variable) const;
  // To all copies that are here, those of narrower types rounded. `data` may be the session's own.
  absl::Status WriteCopies(size_t variable, const void* data);
  // Of the variable `bytes` from `offset` on, whole elements.
  absl::Status WriteCopies(size_t variable, size_t offset, const void* data, size_t bytes);
  // Null: the session takes nothing of this device.
  const DeviceShare* FindShare(Device device) const;

  Plan plan;
  DeviceRuntimeFactory make;
  std::unique_ptr<ThreadPool> pool;
  SharingMember sharing;
  bool owns_variables;  // It gave them their initial values, and counts their memory.
  LoadTimes load_times;
  SessionTuning tuning;
  std::vector<std::unique_ptr<DeviceRuntime>> runtimes;  // As the plan lists the devices that are here.
  std::vector<DeviceShare> shares;            // One a runtime, and the main memory's if none has it.
  std::vector<VariableInfo> variables;        // Without replicas,
  std::vector<std::vector<uint32_t>> copies;  // and where each is here: of the plan's, narrow ones last.
  Memory memory;
  std::vector<Entry> functions;
  std::unique_ptr<ValuesAhead> values_ahead;  // Of variables, until they are initialized.
  std::vector<std::span<std::byte>>
      large_staging;                      // By the number of a large input; taken when one must be copied.
  std::map<size_t, int64_t> log_numbers;  // By a ring's variable: the number of the last value that was read.

 private:
  State(Plan plan, const DeviceRuntimeFactory& make, std::shared_ptr<Sharing> sharing);
  absl::Status UseOptions(const SessionOptions& options);
  absl::Status LoadDevices(const SessionOptions& options);
  absl::Status LoadProgram();
  void ListVariables();
  DType TypeOf(uint32_t plan_variable) const;
  absl::Status WriteNarrowCopy(uint32_t plan_variable, size_t offset, const void* data, size_t bytes);
  std::vector<Device> LocalNames() const;
  absl::Status Connect();
  absl::Status MakeRuntimes(const SessionOptions& options);
  absl::Status LoadFunctions();
  absl::Status Allocate();
  void ListPieces();
  absl::StatusOr<std::byte*> LargeStaging(size_t number, size_t bytes);
  absl::Status PlaceConstants();
  InitialValues InitialValuesOf(size_t variable) const;
  // Of variables on GPUs.
  void StartInitialValues();
  absl::Status InitializeVariable(size_t variable);
  // Of a variable whose first copy is not in the main memory.
  absl::Status InitializeOnDevices(size_t variable, const InitialValues& values);
  absl::StatusOr<bool> FillCopies(size_t variable, const InitialValues& values);
  DeviceShare& ShareOf(uint32_t device) { return shares[device - memory.local.first]; }
  // The share of the first CPU.
  DeviceShare& MainMemory();
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_STATE_H_
