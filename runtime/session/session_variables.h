// The variables of one session: their list, their initial values, reads and writes of all their copies.
//
//   SessionVariables variables(program, &buffers, pool);
//   variables.StartInitialValues();               // Beside the load of the devices.
//   ...                                           // Allocate buffers.variables.
//   variables.WaitForInitialValues();
//   SINTER_RETURN_IF_ERROR(variables.Initialize());
//   SINTER_ASSIGN_OR_RETURN(size_t loss, variables.Find("loss"));
//   SINTER_ASSIGN_OR_RETURN(HostTensor value, variables.View(loss));
//
// A variable has copies: one on each device that uses it, and low-precision ones (plan.fbs: replica_of). The
// program sees one variable for them. If ranks hold parts of it (plan.fbs: VariableBox), the copies with one
// box are a part; the variable's value is made of the parts of all ranks, which may be those of other
// processes. If ranks hold terms (plan.fbs: sum_axes), each term of a part is a part of its own, and the
// value is the sum of all ranks' terms. A value that is written becomes the first term; the others become
// zero.
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
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/initial_value_prefetch.h"
#include "sinter/runtime/tensor/initializer.h"
#include "sinter/runtime/tensor/scalar_log.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/tensor/tensor_box.h"
#include "sinter/runtime/world/rank_program.h"

namespace sinter::internal_session {

class SessionVariables {
 public:
  // A part of a variable, with its local copies.
  struct Part {
    TensorBox box;
    uint32_t term;                 // Number of the term; 0 unless the variable is a sum.
    uint32_t rank;                 // The first local rank that holds it; 0 without a mesh.
    size_t number;                 // Counts the parts of all variables.
    std::vector<uint32_t> copies;  // Plan indices, low precision last. At least one, of the variable's type.
  };

  // All references must outlive the variables. `buffers.local` is set.
  SessionVariables(const RankProgram& program, SessionBuffers* buffers, const ThreadPool& pool);

  // Without replicas.
  std::span<const VariableInfo> infos() const { return infos_; }
  // NotFound names the nearest variables.
  absl::StatusOr<size_t> Find(std::string_view name) const;

  // Returns a view, or a copy if the variable is on a GPU, cut or a sum. FailedPrecondition if no local
  // device has it, or if a failed run may have left it half-written. Among several processes all call it for
  // a variable that is cut or a sum.
  absl::StatusOr<HostTensor> View(size_t variable) const;
  // Writes all local copies, rounding for low-precision ones. `data` may be the session's own memory.
  absl::Status Write(size_t variable, const void* data);
  // The local parts, by their first ranks. Empty if no local device has the variable.
  std::span<const Part> PartsOf(size_t variable) const { return parts_[variable]; }
  // The different parts of all ranks, by their first ranks.
  std::vector<RankedPart> PartsOfAllRanks(size_t variable) const;
  // The part of each rank of this process, in their order.
  std::vector<RankedPart> PartsOfLocalRanks(size_t variable) const;
  // The process that runs a rank.
  int ProcessOf(uint32_t rank) const;
  // The part's values in main memory; null if they are on another device.
  std::byte* InMemory(const Part& part) const {
    return BuffersOf(part.copies.front()).is_host ? buffers_.variables[part.copies.front()] : nullptr;
  }
  // FailedPrecondition as View.
  absl::Status CheckReadable(size_t variable) const;
  // Copies elements [begin, begin + count) of a part to main memory.
  absl::Status ReadPart(const Part& part, int64_t begin, int64_t count, void* to) const;
  // Returns a part with its own shape: a view, or a copy if it is on a GPU.
  absl::StatusOr<HostTensor> ViewPart(const Part& part) const;
  // Writes elements [begin, begin + count) of all copies of a part. MarkWritten follows the last piece.
  // Several threads may write different elements of a single copy in main memory.
  absl::Status WritePart(const Part& part, int64_t begin, int64_t count, const void* data);
  // Sets all elements of a part to zero.
  absl::Status ZeroPart(const Part& part) { return InitializePart(part, {}, /*prefetched=*/nullptr); }
  void MarkWritten(size_t variable);

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
  absl::StatusOr<HostTensor> Assemble(size_t variable) const;
  // `offset` and `bytes` are in bytes of the f32 variable, before rounding.
  absl::Status WriteRounded(uint32_t copy, size_t offset, const void* data, size_t bytes);
  InitialValues InitialValuesOf(size_t variable) const;
  absl::Status InitializeVariable(size_t variable, InitialValuePrefetch* prefetched);
  absl::Status InitializePart(const Part& part, const InitialValues& values,
                              InitialValuePrefetch* prefetched);
  // For a part whose first copy is not in main memory.
  absl::Status InitializeOnDevices(const Part& part, const InitialValues& values,
                                   InitialValuePrefetch* prefetched);
  absl::StatusOr<bool> FillCopies(const Part& part, const InitialValues& values);

  const fb::Plan& file_;  // Has the mesh and the boxes of all ranks.
  const fb::Plan& plan_;  // Has the copies of this process.
  SessionBuffers& buffers_;
  const ThreadPool& pool_;
  std::vector<VariableInfo> infos_;
  size_t num_parts_ = 0;
  std::vector<uint32_t> originals_;       // By variable: its plan index, in the program and in the file.
  std::vector<std::vector<Part>> parts_;  // By variable.
  std::unique_ptr<InitialValuePrefetch> prefetch_;  // Until the variables are initialized.
  std::map<size_t, int64_t> log_numbers_;           // By ring variable: number of the last value read.
};

// The part with this box; null if there is none. Of a sum: its first term.
const SessionVariables::Part* FindPart(std::span<const SessionVariables::Part> parts, const TensorBox& box);

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SESSION_VARIABLES_H_
