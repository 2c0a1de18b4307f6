// Runs the smallest bucket of a group that the arguments fit in (runtime/plan/buckets.h).
//
//   SINTER_ASSIGN_OR_RETURN(BucketRunner::Fitted fitted, runner.Fit(arguments));
//   ... run fitted.function with fitted.arguments ...
//   SINTER_ASSIGN_OR_RETURN(const HostTensor* logits, fitted.outputs->Get(0));
//
// Arguments that are smaller than their inputs are copied into tensors of the inputs' size, behind which
// zeros follow. Outputs are cut back to the sizes that the run was given.
//
// Several processes agree on the sizes of each run: the largest that any of them was given. So all run one
// bucket, and a process with smaller arguments fills them up, as one process would that had all rows.
#ifndef SINTER_RUNTIME_SESSION_BUCKET_RUNNER_H_
#define SINTER_RUNTIME_SESSION_BUCKET_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/execute/loaded_function.h"
#include "sinter/runtime/plan/buckets.h"
#include "sinter/runtime/tensor/argument.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::internal_session {

// The outputs of one bucket, cut back to the sizes of the last run.
class BucketOutputs {
 public:
  // Both must outlive this object.
  BucketOutputs(LoadedFunction* function, const BucketGroup* group);

  // Begins a run with these sizes, one for each axis.
  void Start(std::span<const int64_t> sizes);
  // Errors as FunctionOutputs::Get.
  absl::StatusOr<const HostTensor*> Get(size_t i);

 private:
  struct Cut {
    bool is_made = false;  // In this run.
    HostTensor memory;     // Elements as many as the output's.
    HostTensor tensor;     // A view of the memory.
  };

  LoadedFunction* function_;
  const BucketGroup* group_;
  std::vector<int64_t> sizes_;
  std::vector<Cut> cuts_;
};

class BucketRunner {
 public:
  // Finds the buckets among the functions. InvalidArgument names the group: its functions are no buckets of
  // each other. Unimplemented: each of several processes reads other rows of an axis of the buckets.
  static absl::StatusOr<std::unique_ptr<BucketRunner>> Create(std::string name,
                                                              std::span<LoadedFunction* const> functions);

  const BucketGroup& group() const { return group_; }

  // Function, arguments and outputs of a run. Valid until the next call.
  struct Fitted {
    LoadedFunction* function;
    std::span<const Argument> arguments;
    BucketOutputs* outputs;
  };
  // InvalidArgument: an argument differs from its input in more than the size of an axis; two arguments have
  // different sizes of an axis; no bucket has room. An argument without an input is passed on. Among several
  // processes a call of all of them: Unavailable as World::Exchange.
  absl::StatusOr<Fitted> Fit(std::span<const Argument> arguments);

 private:
  explicit BucketRunner(BucketGroup group) : group_(std::move(group)) {}
  absl::Status CheckRows() const;
  absl::Status AgreeOnSizes();
  absl::Status ReadSizes(std::span<const Argument> arguments);
  void ReadSizesOf(const Argument& argument, const TensorInfo& input, std::vector<std::string>& problems);
  absl::StatusOr<const HostTensor*> Pad(size_t bucket, const TensorInfo& input, const HostTensor& tensor);

  struct Loaded {
    LoadedFunction* function;
    std::unique_ptr<BucketOutputs> outputs;
    std::map<std::string, HostTensor, std::less<>> padded;  // Keyed by input.
  };

  BucketGroup group_;
  uint32_t first_function_ = 0;            // Number of the first bucket among the plan's functions.
  std::vector<Loaded> loaded_;             // One for each bucket of the group.
  std::vector<std::string> length_names_;  // One for each axis.
  std::vector<int64_t> sizes_;             // Sizes of the run; 0 where no argument has told it.
  std::vector<std::string> told_by_;       // Inputs that told them.
  std::vector<Argument> arguments_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_BUCKET_RUNNER_H_
