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
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_CUDA_CONTEXT_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_CUDA_CONTEXT_H_

#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/driver/cublaslt_library.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/gpu_switches.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

class CudnnSession;
class ExchangeWatch;
class LoadTimes;
class NcclCommunicators;
class SessionTuning;

struct CublasHandle {
  const CublasLt* functions = nullptr;
  cublasLtHandle_t handle = nullptr;
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

  // Null: the plan has no collectives. `watch` is the communicators, as waits see them.
  void set_communicators(std::shared_ptr<NcclCommunicators> communicators, ExchangeWatch* watch) {
    communicators_ = std::move(communicators);
    watch_ = watch;
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
  // Begins what cuBLASLt does when it is first asked for an algorithm, some 70 ms, on a thread of its own; Cublas waits for it.
  void PrepareCublas();
  // Does the work on a thread of its own while the caller goes on. What the work uses of the context must not change meanwhile, nor be
  // timed: FinishPreparing waits for it.
  void Prepare(std::function<void()> work) { preparing_.emplace_back(std::move(work)); }
  void FinishPreparing();

  // Null: no step of the plan needs cuDNN. Outlives the steps.
  void set_cudnn(CudnnSession* cudnn) { cudnn_ = cudnn; }
  CudnnSession* cudnn() const { return cudnn_; }

 private:
  CudaContext(CudaDeviceInfo info, CachingAllocator* allocator);
  absl::StatusOr<CublasHandle> MakeCublasHandle() const;

  CudaDeviceInfo info_;
  CachingAllocator* allocator_;
  SessionTuning* tuning_ = nullptr;
  LoadTimes* load_times_ = nullptr;
  GpuSwitches switches_;
  bool may_start_early_ = true;
  CudaStream stream_, collective_stream_, input_stream_;
  CublasHandle cublas_;
  CudnnSession* cudnn_ = nullptr;
  std::thread preparing_cublas_;
  std::vector<std::thread> preparing_;
  std::shared_ptr<NcclCommunicators> communicators_;
  ExchangeWatch* watch_ = nullptr;
  mutable bool may_still_work_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_CUDA_CONTEXT_H_
