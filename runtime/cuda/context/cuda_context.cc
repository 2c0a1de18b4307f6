#include "sinter/runtime/cuda/context/cuda_context.h"

#include <chrono>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/context/exchange_progress.h"
#include "sinter/runtime/cuda/context/exchange_watch.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// The first polls do not sleep, so that short waits end quickly.
constexpr int kSpins = 2000;
constexpr std::chrono::microseconds kPause(20);
constexpr std::chrono::milliseconds kCheckPause(5);
// Time limit for work that is pending when the communicators are aborted. Such work ends soon and uses memory
// until then.
constexpr std::chrono::seconds kAbortLimit(5);

// Queries an algorithm for an arbitrary matmul, which is never run.
void AskCublasOnce(const CublasHandle& cublas) {
  constexpr int64_t kSize = 1024;
  const CublasLt& f = *cublas.functions;
  cublasLtMatmulDesc_t matmul = nullptr;
  cublasLtMatrixLayout_t matrix = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  if (f.MatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
      f.MatrixLayoutCreate(&matrix, CUDA_R_16BF, kSize, kSize, kSize) == CUBLAS_STATUS_SUCCESS &&
      f.MatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS) {
    (void)f.MatmulAlgoGetHeuristic(cublas.handle, matmul, matrix, matrix, matrix, matrix, preference, 1,
                                   &found, &count);
  }
  if (preference != nullptr) (void)f.MatmulPreferenceDestroy(preference);
  if (matrix != nullptr) (void)f.MatrixLayoutDestroy(matrix);
  if (matmul != nullptr) (void)f.MatmulDescDestroy(matmul);
}

}  // namespace

CudaContext::CudaContext(CudaDeviceInfo info, CachingAllocator* allocator)
    : info_(std::move(info)), allocator_(allocator) {}

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(int index, CachingAllocator* allocator) {
  SINTER_ASSIGN_OR_RETURN(CudaDeviceInfo info, DescribeCudaDevice(index));
  std::unique_ptr<CudaContext> context(new CudaContext(std::move(info), allocator));
  // No CudaDeviceScope: a failure of cudaSetDevice shows here that the GPU is unusable.
  int before = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&before), "ask for the current GPU"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), absl::StrCat("use gpu:", index)));
  absl::Status status;
  for (CudaStream* stream : {&context->stream_, &context->collective_stream_, &context->input_stream_}) {
    // Other GPUs wait for exchanges too.
    absl::StatusOr<CudaStream> made = MakeCudaStream(/*is_urgent=*/stream == &context->collective_stream_);
    status.Update(made.status());
    if (made.ok()) *stream = *std::move(made);
  }
  (void)cudaSetDevice(before);
  SINTER_RETURN_IF_ERROR(status);
  return context;
}

CudaContext::~CudaContext() {
  FinishPreparing();
  if (preparing_cublas_.joinable()) preparing_cublas_.join();
  const CudaDeviceScope on(index());
  if (stream_ != nullptr) WaitForStream("end").IgnoreError();
  // Its handles use the stream.
  solver_.reset();
  if (cublas_.handle != nullptr) (void)cublas_.functions->Destroy(cublas_.handle);
  for (CudaStream* stream : {&input_stream_, &collective_stream_, &stream_}) stream->reset();
}

void CudaContext::set_progress(std::unique_ptr<ExchangeProgress> progress) {
  progress_ = std::move(progress);
}

absl::Status CudaContext::Poll(std::string_view what, const std::function<cudaError_t()>& query) const {
  using Clock = std::chrono::steady_clock;
  Clock::time_point checked = Clock::now(), failed;
  std::optional<ExchangeDeadline> deadline;
  if (progress_ != nullptr) deadline.emplace(*progress_);
  absl::Status failure;
  for (int spins = 0;; ++spins) {
    const cudaError_t code = query();
    if (code != cudaErrorNotReady) {
      // Aborted work ends like completed work, but has computed nothing.
      if (failure.ok()) failure = watch_->aborted();
      return failure.ok() ? CudaStatus(code, what) : failure;
    }
    if (spins < kSpins) continue;
    std::this_thread::sleep_for(kPause);
    const Clock::time_point now = Clock::now();
    // After a given-up wait an aborted exchange may still write to its buffers.
    may_still_work_ = !failure.ok() && now - failed > kAbortLimit;
    if (may_still_work_) return failure;
    if (!failure.ok() || now - checked < kCheckPause) continue;
    checked = now;
    absl::Status status = watch_->Check();
    if (status.ok() && deadline.has_value()) {
      status = deadline->Check();
      if (!status.ok()) watch_->Abort(status);
    }
    if (status.ok()) continue;
    failure =
        absl::Status(status.code(), absl::StrCat("could not ", std::string(what), ": ", status.message()));
    failed = now;
  }
}

absl::Status CudaContext::WaitFor(cudaEvent_t event, std::string_view what) const {
  if (watch_ == nullptr) return CudaStatus(cudaEventSynchronize(event), what);
  return Poll(what, [&] { return cudaEventQuery(event); });
}

absl::Status CudaContext::WaitForWorkOf(cudaStream_t stream, std::string_view what) const {
  if (watch_ == nullptr) return CudaStatus(cudaStreamSynchronize(stream), what);
  return Poll(what, [&] { return cudaStreamQuery(stream); });
}

absl::Status CudaContext::WaitForStream(std::string_view what) const { return WaitForWorkOf(stream(), what); }

absl::Status CudaContext::WaitForInputs(std::string_view what) const {
  return WaitForWorkOf(input_stream(), what);
}

absl::StatusOr<CublasHandle> CudaContext::MakeCublasHandle() const {
  const CudaDeviceScope on(index());
  SINTER_RETURN_IF_ERROR(on.status());
  CublasHandle made;
  SINTER_ASSIGN_OR_RETURN(made.functions, LoadCublasLt());
  SINTER_RETURN_IF_ERROR(CublasStatus(made.functions->Create(&made.handle), "make a handle"));
  return made;
}

absl::StatusOr<CublasHandle> CudaContext::Cublas() {
  if (!preparing_cublas_.joinable() && cublas_.handle != nullptr) return cublas_;
  const LoadTimes::Scope time = LoadTimes::Time(load_times_, "open cuBLASLt");
  if (preparing_cublas_.joinable()) preparing_cublas_.join();
  if (cublas_.handle == nullptr) {
    SINTER_ASSIGN_OR_RETURN(cublas_, MakeCublasHandle());
  }
  return cublas_;
}

void CudaContext::PrepareCublas() {
  if (preparing_cublas_.joinable() || cublas_.handle != nullptr) return;
  preparing_cublas_ = std::thread([this] {
    // An error is dropped here: the next call of Cublas retries and returns it.
    const absl::StatusOr<CublasHandle> made = MakeCublasHandle();
    if (!made.ok()) return;
    const CudaDeviceScope on(index());
    AskCublasOnce(*made);
    cublas_ = *made;
  });
}

void CudaContext::FinishPreparing() {
  for (std::thread& thread : preparing_) thread.join();
  preparing_.clear();
}

}  // namespace sinter
