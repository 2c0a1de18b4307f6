// The state that one GPU's steps share: the device, its streams, and library handles made on first use.
//
//   SINTER_ASSIGN_OR_RETURN(auto context, CudaContext::Create(0, allocator));
//   SINTER_ASSIGN_OR_RETURN(const CublasHandle cublas, context->Cublas());
//   cublas.functions->Matmul(cublas.handle, ...);
//
// Use WaitFor and WaitForStream for all waits on the GPU. A pending collective might wait for a rank that is
// gone, so these waits also check the communicators.
//
// The context must outlive its steps, which keep a pointer to it. It is not thread-safe, apart from the
// Prepare methods, which start threads. Its methods make the GPU current themselves.
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
#include "sinter/runtime/world/exchange_patience.h"

namespace sinter {

class CudnnSession;
class ExchangeProgress;
class ExchangeWatch;
class LoadTimes;
class NcclCommunicators;
class PeerExchanges;
class SessionTuning;
class SolverSession;

struct CublasHandle {
  const CublasLt* functions = nullptr;
  cublasLtHandle_t handle = nullptr;
};

class CudaContext {
 public:
  // `allocator` provides the memory that steps need during their creation.
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(int index, CachingAllocator* allocator);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaDeviceInfo& info() const { return info_; }
  Device device() const { return Device::Gpu(info_.index); }
  int index() const { return info_.index; }
  cudaStream_t stream() const { return stream_.get(); }
  // The streams of collectives (parallel to the steps) and of uploads of inputs. Events order each of them
  // with stream().
  cudaStream_t collective_stream() const { return collective_stream_.get(); }
  cudaStream_t input_stream() const { return input_stream_.get(); }
  CachingAllocator& allocator() const { return *allocator_; }

  // Null if the plan has no collectives. `watch` is the communicators, as waits see them.
  void set_communicators(std::shared_ptr<NcclCommunicators> communicators, ExchangeWatch* watch) {
    communicators_ = std::move(communicators);
    watch_ = watch;
  }
  NcclCommunicators* communicators() const { return communicators_.get(); }

  // Null if no exchange goes by copies between the GPUs of this process.
  void set_peers(std::shared_ptr<PeerExchanges> peers) { peers_ = std::move(peers); }
  PeerExchanges* peers() const { return peers_.get(); }

  // The GPU exchanges nothing (World::connects): each exchange is a copy of its own values.
  void set_is_alone() { is_alone_ = true; }
  bool is_alone() const { return is_alone_; }

  void set_patience(const ExchangePatience& patience) { patience_ = patience; }
  const ExchangePatience& patience() const { return patience_; }
  // A wait breaks off if an exchange takes longer than it may.
  void set_progress(std::unique_ptr<ExchangeProgress> progress);
  // Null if exchanges have no time limit.
  ExchangeProgress* progress() const { return progress_.get(); }

  // Null if no tuning data is available.
  void set_tuning(SessionTuning* tuning) { tuning_ = tuning; }
  SessionTuning* tuning() const { return tuning_; }

  // Null if load times are not recorded.
  void set_load_times(LoadTimes* times) { load_times_ = times; }
  LoadTimes* load_times() const { return load_times_; }

  void set_switches(const GpuSwitches& switches) { switches_ = switches; }
  const GpuSwitches& switches() const { return switches_; }

  // True if a kernel that waits on the device for its predecessors may be launched while they run. False in a
  // capture if a predecessor is not a kernel.
  void set_may_start_early(bool may) { uses_programmatic_launch_ = may; }
  bool uses_programmatic_launch() const { return uses_programmatic_launch_; }

  // Waits for the event, or for all work on stream(). `what` completes "could not ...". Returns the error of
  // a communicator, if any, because the GPU may then never finish.
  absl::Status WaitFor(cudaEvent_t event, std::string_view what) const;
  absl::Status WaitForStream(std::string_view what) const;
  // The same for all work on input_stream().
  absl::Status WaitForInputs(std::string_view what) const;
  // True if the last wait gave up: an aborted exchange is still running and may write to its buffers.
  bool may_still_work() const { return may_still_work_; }

  // FailedPrecondition if the library is missing (library_loader.h).
  absl::StatusOr<CublasHandle> Cublas();
  // Starts the initialization of cuBLASLt's first algorithm query (about 70 ms) on a separate thread. Cublas
  // waits for it.
  void PrepareCublas();
  // Runs the work on a separate thread and returns immediately. Until FinishPreparing, other state of the
  // context that the work uses must not change, and must not be timed.
  void Prepare(std::function<void()> work) { preparing_.emplace_back(std::move(work)); }
  // Waits for the works.
  void FinishPreparing();

  // Null: no step of the plan needs cuDNN. Outlives the steps.
  void set_cudnn(CudnnSession* cudnn) { cudnn_ = cudnn; }
  CudnnSession* cudnn() const { return cudnn_; }

  // cuSOLVER and cuBLAS; null until a step needs them (cusolver/solver_session.h).
  void set_solver(std::shared_ptr<SolverSession> solver) { solver_ = std::move(solver); }
  SolverSession* solver() const { return solver_.get(); }

 private:
  CudaContext(CudaDeviceInfo info, CachingAllocator* allocator);
  absl::StatusOr<CublasHandle> MakeCublasHandle() const;
  absl::Status WaitForWorkOf(cudaStream_t stream, std::string_view what) const;
  // Polls until the work ends. `query` returns cudaErrorNotReady while the work runs, then its result.
  absl::Status Poll(std::string_view what, const std::function<cudaError_t()>& query) const;

  CudaDeviceInfo info_;
  CachingAllocator* allocator_;
  SessionTuning* tuning_ = nullptr;
  LoadTimes* load_times_ = nullptr;
  GpuSwitches switches_;
  bool uses_programmatic_launch_ = true;
  CudaStream stream_, collective_stream_, input_stream_;
  CublasHandle cublas_;
  CudnnSession* cudnn_ = nullptr;
  std::shared_ptr<SolverSession> solver_;
  std::thread preparing_cublas_;
  std::vector<std::thread> preparing_;
  std::shared_ptr<NcclCommunicators> communicators_;
  std::shared_ptr<PeerExchanges> peers_;
  ExchangeWatch* watch_ = nullptr;
  std::unique_ptr<ExchangeProgress> progress_;
  ExchangePatience patience_;
  bool is_alone_ = false;
  mutable bool may_still_work_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_CUDA_CONTEXT_H_
