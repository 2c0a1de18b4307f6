// The outputs of one function, as tensors in main memory.
//
//   FunctionOutputs outputs(function, infos, memory);
//   outputs.Finish(inputs);                                       // At the end of each run.
//   SINTER_ASSIGN_OR_RETURN(const HostTensor* loss, outputs.Get(0));
//
// Those of CPUs are views of where they were computed. Those of other devices are downloaded when first asked for after a
// run, each by itself, and never otherwise. Inputs handed through are copied, since their memory is the caller's. Where an
// output has several buffers, on several devices, it is the first that this process has.
#ifndef SINTER_RUNTIME_EXECUTE_FUNCTION_OUTPUTS_H_
#define SINTER_RUNTIME_EXECUTE_FUNCTION_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/execute/function_inputs.h"
#include "sinter/runtime/execute/session_memory.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::internal_session {

class FunctionOutputs {
 public:
  // `infos`: of the function's outputs, and all four must outlive it.
  FunctionOutputs(const fb::Plan& plan, const fb::Function& table, const std::vector<TensorInfo>& infos,
                  Memory* memory);

  // Of Memory::outputs, for copies and downloads.
  size_t HostBytes() const { return host_bytes_; }
  // Once, when `memory` is complete.
  void Place();

  void Finish(const FunctionInputs& inputs);

  // FailedPrecondition: the output is still on its device, and a later run has overwritten it there; or no device of this
  // process has it; or another thread uses the session. The errors of downloads, which are also those of the run itself.
  absl::StatusOr<const HostTensor*> Get(size_t i);

 private:
  enum class Kind { kInPlace, kHandedThrough, kDownloaded, kElsewhere };
  struct Output {
    Kind kind;
    const fb::Buffer* buffer;  // If elsewhere, the output's own.
    size_t host_offset = 0;    // In Memory::outputs.
    HostTensor tensor;
    int64_t downloaded_run = 0;
  };

  const fb::Plan* plan_;
  const std::vector<TensorInfo>& infos_;
  Memory* memory_;
  size_t host_bytes_ = 0;
  int64_t run_ = 0;  // The number of the last one.
  std::vector<Output> outputs_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_FUNCTION_OUTPUTS_H_
