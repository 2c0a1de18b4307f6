// The parts of a Session, in the order in which they must be created and destroyed.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SessionState> state,
//                           SessionState::Load(std::move(plan), options, MakeDeviceRuntime));
//
// session_devices.h has the devices and their memory, session_variables.h the variables, and
// runtime/execute/loaded_function.h the functions.
#ifndef SINTER_RUNTIME_SESSION_SESSION_STATE_H_
#define SINTER_RUNTIME_SESSION_SESSION_STATE_H_

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
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
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/bucket_runner.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/session/session_devices.h"
#include "sinter/runtime/session/session_variables.h"
#include "sinter/runtime/world/host_position.h"
#include "sinter/runtime/world/rank_program.h"

namespace sinter::internal_session {

class SessionState {
 public:
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
  static SessionState& Of(const Session& session) { return *session.state_; }
  // Waits for devices. If one may still write afterwards, its memory is never freed.
  ~SessionState();

  // Requires SessionBuffers::use, as do all functions that run, read or write.
  absl::StatusOr<Session> Share(const SessionOptions& options);
  // FailedPrecondition if other sessions read the variables.
  absl::Status CheckNotShared() const;
  // NotFound lists the existing functions.
  absl::StatusOr<Entry*> Find(std::string_view function);
  // Returns null if no buckets have this name. InvalidArgument if their functions are no buckets of each
  // other. Unimplemented if each of several processes has other rows of an axis.
  absl::StatusOr<BucketRunner*> FindBuckets(std::string_view name);
  // Errors as Session::Run.
  absl::Status Run(Entry& entry, std::span<const Argument> arguments, Profile* profile);

  const Plan& plan() const { return plan_; }
  const fb::Plan& program() const { return program_.table(); }
  const ThreadPool& pool() const { return *pool_; }
  const LoadTimes& load_times() const { return load_times_; }
  const SessionTuning& tuning() const { return tuning_; }
  SessionBuffers& buffers() { return buffers_; }
  SessionDevices& devices() { return *devices_; }
  SessionVariables& variables() { return *variables_; }

 private:
  SessionState(Plan plan, const DeviceRuntimeFactory& make, std::shared_ptr<Sharing> sharing);
  absl::Status UseOptions(const SessionOptions& options);
  absl::Status LoadDevices(const SessionOptions& options);
  absl::Status LoadProgram();
  absl::Status LoadFunctions();
  absl::Status AllocateMemory();

  Plan plan_;
  HostPosition on_host_;
  RankProgram program_;  // The plan's program for the ranks of this process.
  DeviceRuntimeFactory make_;
  std::unique_ptr<ThreadPool> pool_;
  SharingMember sharing_;
  bool owns_variables_;  // True if this session initialized the variables and reports their memory.
  LoadTimes load_times_;
  SessionTuning tuning_;
  SessionBuffers buffers_;
  std::unique_ptr<SessionDevices> devices_;
  std::unique_ptr<SessionVariables> variables_;
  std::vector<Entry> functions_;
  // Keyed by the name of the buckets; null until they are looked for.
  std::map<std::string, std::unique_ptr<BucketRunner>, std::less<>> buckets_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_STATE_H_
