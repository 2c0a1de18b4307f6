// What the steps of one GPU share: which GPU, its streams, and the handles of libraries, made when first needed.
//
//   SINTER_ASSIGN_OR_RETURN(auto context, CudaContext::Create(0, allocator));
//   SINTER_ASSIGN_OR_RETURN(const CublasHandle cublas, context->Cublas());
//   cublas.functions->Matmul(cublas.handle, ...);
//
// Whoever waits for the GPU does it here: with collectives under way it might wait for a rank that is gone, so that their
// communicators are looked at meanwhile.
//
// Steps keep a pointer to it: it outlives them. One thread at a time, but for what is prepared; methods make the GPU current
// themselves.
#ifndef SINTER_RUNTIME_CUDA_CUDA_CONTEXT_H_
#define SINTER_RUNTIME_CUDA_CUDA_CONTEXT_H_

#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/caching_allocator.h"
#include "sinter/runtime/cuda/cublaslt_library.h"
#include "sinter/runtime/cuda/cuda_devices.h"
#include "sinter/runtime/cuda/cuda_handles.h"
#include "sinter/runtime/cuda/cudnn_library.h"
#include "sinter/runtime/cuda/gpu_switches.h"
#include "sinter/runtime/device.h"

namespace sinter {

class CudnnPlans;
class LoadTimes;
class NcclCommunicators;
class SessionTuning;

struct CublasHandle {
  const CublasLt* functions = nullptr;
  cublasLtHandle_t handle = nullptr;
};

struct CudnnHandle {
  const Cudnn* functions = nullptr;
  cudnnHandle_t handle = nullptr;  // On the context's stream.
};

class CudaContext {
 public:
  // `allocator` serves what steps need while they are made.
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(int index, CachingAllocator* allocator);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaDeviceInfo& info() const { return info_; }
  Device device() const { return Device::Gpu(info_.index); }
  int index() const { return info_.index; }
  cudaStream_t stream() const { return stream_.get(); }
  // Where collectives run, beside the steps; and inputs on their way. Each is ordered with the first by events.
  cudaStream_t collective_stream() const { return collective_stream_.get(); }
  cudaStream_t input_stream() const { return input_stream_.get(); }
  CachingAllocator& allocator() const { return *allocator_; }

  // Null: the plan has no collectives.
  void set_communicators(std::shared_ptr<NcclCommunicators> communicators) {
    communicators_ = std::move(communicators);
  }
  NcclCommunicators* communicators() const { return communicators_.get(); }

  // Null: nothing is known of the quickest algorithms.
  void set_tuning(SessionTuning* tuning) { tuning_ = tuning; }
  SessionTuning* tuning() const { return tuning_; }

  // Null: nobody asks.
  void set_load_times(LoadTimes* times) { load_times_ = times; }
  LoadTimes* load_times() const { return load_times_; }

  void set_switches(const GpuSwitches& switches) { switches_ = switches; }
  const GpuSwitches& switches() const { return switches_; }

  // Whether a kernel that waits itself for those in front of it may be launched while they run: not where a recording puts
  // it behind something else.
  void set_may_start_early(bool may) { may_start_early_ = may; }
  bool may_start_early() const { return may_start_early_; }

  // Until the event has happened, or everything given to the first stream is done. `what` completes "could not ...". The
  // error of a communicator, if it has one: the GPU may then never be done.
  absl::Status WaitFor(cudaEvent_t event, std::string_view what) const;
  absl::Status WaitForStream(std::string_view what) const;
  // The last wait was given up: an exchange that was aborted has not ended, and may write to memory that it was given.
  bool may_still_work() const { return may_still_work_; }

  // FailedPrecondition: the library is not there (library_loader.h).
  absl::StatusOr<CublasHandle> Cublas();
  absl::StatusOr<CudnnHandle> CudnnOnStream();
  // Begins what cuBLASLt does when it is first asked for an algorithm, some 70 ms, on a thread of its own; Cublas waits for it.
  void PrepareCublas();
  // Has the works done on threads of their own, up to four, each with a handle of its own, while the caller goes on; until it asks
  // for cuDNN: then the plans that were built meanwhile are among cudnn_plans(). Where no handle can be made, nothing is. What the
  // work uses of the context besides must not change meanwhile, nor be timed.
  using CudnnWork = std::function<void(const CudnnHandle&, CudnnPlans&)>;
  void PrepareWithCudnn(std::vector<CudnnWork> works);
  void FinishPreparing();
  // What was built, whichever the handle. Only after CudnnOnStream.
  CudnnPlans& cudnn_plans() { return *cudnn_plans_; }

 private:
  struct Preparation;

  CudaContext(CudaDeviceInfo info, CachingAllocator* allocator);
  absl::StatusOr<CudnnHandle> MakeCudnnHandle() const;
  absl::StatusOr<CublasHandle> MakeCublasHandle() const;

  CudaDeviceInfo info_;
  CachingAllocator* allocator_;
  SessionTuning* tuning_ = nullptr;
  LoadTimes* load_times_ = nullptr;
  GpuSwitches switches_;
  bool may_start_early_ = true;
  CudaStream stream_, collective_stream_, input_stream_;
  CublasHandle cublas_;
  CudnnHandle cudnn_;
  std::unique_ptr<CudnnPlans> cudnn_plans_;
  std::thread preparing_cublas_;
  std::vector<std::unique_ptr<Preparation>> preparing_;
  std::vector<CudnnHandle> others_;  // Of plans that were prepared.
  std::shared_ptr<NcclCommunicators> communicators_;
  mutable bool may_still_work_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUDA_CONTEXT_H_
