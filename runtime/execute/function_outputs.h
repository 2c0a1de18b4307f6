// The outputs of one function, as tensors in main memory.
//
//   FunctionOutputs outputs(function, infos, memory);
//   outputs.Finish(inputs);                                       // At the end of each run.
//   SINTER_ASSIGN_OR_RETURN(const HostTensor* loss, outputs.Get(0));
//
// Outputs on CPUs are views of their buffers. Outputs on other devices are downloaded separately, at the
// first request after a run, and never otherwise. Outputs that are inputs are copied, because their memory is
// the caller's. If an output has several buffers on several devices, this class reads the first local one.
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
  // `infos` describes the function's outputs. All four arguments must outlive this object.
  FunctionOutputs(const fb::Plan& plan, const fb::Function& table, const std::vector<TensorInfo>& infos,
                  SessionBuffers* memory);

  // Bytes of SessionBuffers::outputs, for copies and downloads.
  size_t HostBytes() const { return host_bytes_; }
  // Call once, when `memory` is complete.
  void Place();

  void Finish(const FunctionInputs& inputs);

  // FailedPrecondition: a later run has overwritten the output on its device before it was read; or no local
  // device has the output; or another thread uses the session. Also returns the errors of downloads, which
  // include the errors of the run.
  absl::StatusOr<const HostTensor*> Get(size_t i);

 private:
  enum class Kind { kInPlace, kHandedThrough, kDownloaded, kElsewhere };
  struct Output {
    Kind kind;
    const fb::Buffer* buffer;  // For Kind::kElsewhere: the output's own buffer.
    size_t host_offset = 0;    // In SessionBuffers::outputs.
    HostTensor tensor;
    int64_t downloaded_run = 0;
  };

  const fb::Plan* plan_;
  const std::vector<TensorInfo>& infos_;
  SessionBuffers* memory_;
  size_t host_bytes_ = 0;
  int64_t run_ = 0;  // Number of the last run.
  std::vector<Output> outputs_;
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_EXECUTE_FUNCTION_OUTPUTS_H_
