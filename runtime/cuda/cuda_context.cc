#include "sinter/runtime/cuda/cuda_context.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cudnn_plans.h"
#include "sinter/runtime/cuda/nccl_communicators.h"
#include "sinter/runtime/load_times.h"
#include "sinter/runtime/status.h"

namespace sinter {
namespace {

// What is nearly done is waited for without sleeping.
constexpr int kSpins = 2000;
constexpr std::chrono::microseconds kPause(20);
constexpr std::chrono::milliseconds kCheckPause(5);
// For what is under way when communicators are aborted: it ends soon, and uses memory until then.
constexpr std::chrono::seconds kAbortLimit(5);

// `query`: cudaErrorNotReady, or how it ended.
template <typename Query>
absl::Status Poll(NcclCommunicators& communicators, std::string_view what, Query&& query) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point checked = Clock::now(), failed;
  absl::Status failure;
  for (int spins = 0;; ++spins) {
    const cudaError_t code = query();
    if (code != cudaErrorNotReady) {
      // What was aborted ends like what is done, and has computed nothing.
      if (failure.ok()) failure = communicators.aborted();
      return failure.ok() ? CudaStatus(code, what) : failure;
    }
    if (spins < kSpins) continue;
    std::this_thread::sleep_for(kPause);
    const Clock::time_point now = Clock::now();
    if (!failure.ok() && now - failed > kAbortLimit) return failure;
    if (!failure.ok() || now - checked < kCheckPause) continue;
    checked = now;
    const absl::Status status = communicators.Check();
    if (status.ok()) continue;
    failure =
        absl::Status(status.code(), absl::StrCat("could not ", std::string(what), ": ", status.message()));
    failed = now;
  }
}

}  // namespace

CudaContext::CudaContext(CudaDeviceInfo info, CachingAllocator* allocator)
    : info_(std::move(info)), allocator_(allocator), cudnn_plans_(std::make_unique<CudnnPlans>()) {}

absl::StatusOr<std::unique_ptr<CudaContext>> CudaContext::Create(int index, CachingAllocator* allocator) {
  SINTER_ASSIGN_OR_RETURN(CudaDeviceInfo info, DescribeCudaDevice(index));
  std::unique_ptr<CudaContext> context(new CudaContext(std::move(info), allocator));
  // Not within a scope: here it shows when the GPU cannot be used at all.
  int before = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&before), "ask for the current GPU"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), absl::StrCat("use gpu:", index)));
  absl::Status status;
  for (CudaStream* stream : {&context->stream_, &context->collective_stream_, &context->input_stream_}) {
    absl::StatusOr<CudaStream> made = MakeCudaStream();
    status.Update(made.status());
    if (made.ok()) *stream = *std::move(made);
  }
  (void)cudaSetDevice(before);
  SINTER_RETURN_IF_ERROR(status);
  return context;
}

CudaContext::~CudaContext() {
  FinishPreparing();
  const CudaDeviceScope on(index());
  if (stream_ != nullptr) WaitForStream("end").IgnoreError();
  if (cublas_.handle != nullptr) (void)cublas_.functions->Destroy(cublas_.handle);
  cudnn_plans_.reset();
  if (cudnn_.handle != nullptr) (void)cudnn_.functions->Destroy(cudnn_.handle);
  for (CudaStream* stream : {&input_stream_, &collective_stream_, &stream_}) stream->reset();
}

absl::Status CudaContext::WaitFor(cudaEvent_t event, std::string_view what) const {
  if (communicators_ == nullptr) return CudaStatus(cudaEventSynchronize(event), what);
  return Poll(*communicators_, what, [&] { return cudaEventQuery(event); });
}

absl::Status CudaContext::WaitForStream(std::string_view what) const {
  if (communicators_ == nullptr) return CudaStatus(cudaStreamSynchronize(stream()), what);
  return Poll(*communicators_, what, [&] { return cudaStreamQuery(stream()); });
}

absl::StatusOr<CublasHandle> CudaContext::Cublas() {
  if (cublas_.handle != nullptr) return cublas_;
  const LoadTimes::Scope time = LoadTimes::Time(load_times_, "open cuBLASLt");
  const CudaDeviceScope on(index());
  SINTER_ASSIGN_OR_RETURN(cublas_.functions, LoadCublasLt());
  SINTER_RETURN_IF_ERROR(CublasStatus(cublas_.functions->Create(&cublas_.handle), "make a handle"));
  return cublas_;
}

void CudaContext::PrepareWithCudnn(std::function<void()> work) {
  SINTER_CHECK(cudnn_.handle != nullptr && !preparing_.joinable());
  preparing_ = std::thread([this, work = std::move(work)] {
    const CudaDeviceScope on(index());
    work();
  });
}

absl::StatusOr<CudnnHandle> CudaContext::CudnnOnStream() {
  FinishPreparing();
  if (cudnn_.handle != nullptr) return cudnn_;
  const LoadTimes::Scope time = LoadTimes::Time(load_times_, "open cuDNN");
  const CudaDeviceScope on(index());
  SINTER_ASSIGN_OR_RETURN(const Cudnn* functions, LoadCudnn());
  cudnnHandle_t handle = nullptr;
  SINTER_RETURN_IF_ERROR(functions->Check(functions->Create(&handle), "make a handle"));
  cudnn_ = {functions, handle};
  SINTER_RETURN_IF_ERROR(functions->Check(functions->SetStream(handle, stream()), "use a stream"));
  return cudnn_;
}

}  // namespace sinter
