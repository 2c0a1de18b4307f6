// cuDNN as the steps of one GPU use it: a handle on the context's stream, and the plans that were built.
//
//   CudnnSession cudnn(*context);
//   cudnn.Prepare({[](const CudnnHandle& handle, CudnnPlans& plans) { ... }});      // On other threads.
//   SINTER_ASSIGN_OR_RETURN(const CudnnHandle handle, cudnn.OnStream());            // Waits for them.
//   cudnn.plans().Attention(handle, attention);
//
// One thread at a time. The context outlives it, and its steps do not.
#ifndef SINTER_RUNTIME_CUDA_CUDNN_CUDNN_SESSION_H_
#define SINTER_RUNTIME_CUDA_CUDNN_CUDNN_SESSION_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/cudnn/cudnn_plans.h"

namespace sinter {

class CudnnSession {
 public:
  explicit CudnnSession(CudaContext& context) : context_(context) {}
  // Waits for the stream: its work uses the plans.
  ~CudnnSession();
  CudnnSession(const CudnnSession&) = delete;
  CudnnSession& operator=(const CudnnSession&) = delete;

  // FailedPrecondition: the library is not there (runtime/host/library_loader.h).
  absl::StatusOr<CudnnHandle> OnStream();
  // Does the works on threads of their own, up to four, each with a handle of its own, while the caller goes
  // on. OnStream waits for them; the plans that they built are then among plans(). If no handle can be made,
  // none of them is done.
  using Work = std::function<void(const CudnnHandle&, CudnnPlans&)>;
  void Prepare(std::vector<Work> works);
  // All plans that were built, whichever the handle. Only after OnStream.
  CudnnPlans& plans() { return plans_; }

 private:
  struct Preparation {
    CudnnHandle handle;  // Null until it is made.
    CudnnPlans plans;
  };

  absl::StatusOr<CudnnHandle> MakeHandle() const;
  void FinishPreparing();

  CudaContext& context_;
  CudnnHandle handle_;
  CudnnPlans plans_;
  std::vector<std::unique_ptr<Preparation>> preparing_;
  std::vector<CudnnHandle> others_;  // The handles that plans were prepared with.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDNN_CUDNN_SESSION_H_
