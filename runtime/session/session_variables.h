// The variables of one session: their list, their initial values, reads and writes of all their copies.
//
//   SessionVariables variables(plan, &buffers, pool);
//   variables.StartInitialValues();               // Beside the load of the devices.
//   ...                                           // Allocate buffers.variables.
//   variables.WaitForInitialValues();
//   SINTER_RETURN_IF_ERROR(variables.Initialize());
//   SINTER_ASSIGN_OR_RETURN(size_t loss, variables.Find("loss"));
//   SINTER_ASSIGN_OR_RETURN(HostTensor value, variables.View(loss));
//
// A variable has copies: one on each device that uses it, and low-precision ones (plan.fbs: replica_of). The
// program sees one variable for them.
#ifndef SINTER_RUNTIME_SESSION_SESSION_VARIABLES_H_
#define SINTER_RUNTIME_SESSION_SESSION_VARIABLES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/initial_value_prefetch.h"
#include "sinter/runtime/tensor/initializer.h"
#include "sinter/runtime/tensor/scalar_log.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::internal_session {

class SessionVariables {
 public:
  // All references must outlive the variables. `buffers.local` is set.
  SessionVariables(const fb::Plan& plan, SessionBuffers* buffers, const ThreadPool& pool);

  // Without replicas.
  std::span<const VariableInfo> infos() const { return infos_; }
  // NotFound names the nearest variables.
  absl::StatusOr<size_t> Find(std::string_view name) const;

  // Returns a view, or a copy if the variable is on a GPU. FailedPrecondition if no local device has it, or
  // if a failed run may have left it half-written.
  absl::StatusOr<HostTensor> View(size_t variable) const;
  // Writes all local copies, rounding for low-precision ones. `data` may be the session's own memory.
  absl::Status Write(size_t variable, const void* data);
  // Returns the values of a log (runtime/tensor/scalar_log.h) since the last call. NotFound lists the logs.
  absl::StatusOr<LogValues> TakeLog(std::string_view name);

  // Starts computing the initial values of variables outside main memory.
  void StartInitialValues();
  // Waits until these are computed. Needs StartInitialValues.
  void WaitForInitialValues() { prefetch_->Wait(); }
  // Gives all local copies their initial values, and restarts the logs.
  absl::Status Initialize();

 private:
  DType TypeOf(uint32_t copy) const;
  // Returns the memory of the device that has this copy.
  const DeviceBuffers& BuffersOf(uint32_t copy) const;
  absl::StatusOr<uint32_t> FirstCopy(size_t variable) const;
  // Writes `bytes` of the variable at `offset`. Both are multiples of the element size.
  absl::Status WriteAt(size_t variable, size_t offset, const void* data, size_t bytes);
  absl::Status WriteRounded(uint32_t copy, size_t offset, const void* data, size_t bytes);
  InitialValues InitialValuesOf(size_t variable) const;
  absl::Status InitializeVariable(size_t variable, InitialValuePrefetch* prefetched);
  // For a variable whose first copy is not in main memory.
  absl::Status InitializeOnDevices(size_t variable, const InitialValues& values,
                                   InitialValuePrefetch* prefetched);
  absl::StatusOr<bool> FillCopies(size_t variable, const InitialValues& values);

  const fb::Plan& plan_;
  SessionBuffers& buffers_;
  const ThreadPool& pool_;
  std::vector<VariableInfo> infos_;
  std::vector<std::vector<uint32_t>> copies_;  // By variable: its local plan indices, low precision last.
  std::unique_ptr<InitialValuePrefetch> prefetch_;  // Until the variables are initialized.
  std::map<size_t, int64_t> log_numbers_;           // By ring variable: number of the last value read.
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_VARIABLES_H_
