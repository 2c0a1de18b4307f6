#include "sinter/runtime/cuda/cudnn/cudnn_session.h"

#include <algorithm>
#include <utility>

#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Threads that prepare: the handle of each takes memory of the GPU.
constexpr size_t kMostPreparing = 4;

}  // namespace

CudnnSession::~CudnnSession() {
  FinishPreparing();
  const CudaDeviceScope on(context_.index());
  context_.WaitForStream("end").IgnoreError();
  plans_ = CudnnPlans();
  for (const CudnnHandle& other : others_) (void)other.functions->Destroy(other.handle);
  if (handle_.handle != nullptr) (void)handle_.functions->Destroy(handle_.handle);
}

absl::StatusOr<CudnnHandle> CudnnSession::MakeHandle() const {
  const CudaDeviceScope on(context_.index());
  SINTER_RETURN_IF_ERROR(on.status());
  SINTER_ASSIGN_OR_RETURN(const Cudnn* functions, LoadCudnn());
  CudnnHandle made = {.functions = functions};
  SINTER_RETURN_IF_ERROR(functions->Check(functions->Create(&made.handle), "make a handle"));
  const absl::Status status =
      functions->Check(functions->SetStream(made.handle, context_.stream()), "use a stream");
  if (status.ok()) return made;
  (void)functions->Destroy(made.handle);
  return status;
}

void CudnnSession::Prepare(std::vector<Work> works) {
  FinishPreparing();
  const size_t threads = std::min(works.size(), kMostPreparing);
  std::vector<std::vector<Work>> shares(threads);
  for (size_t i = 0; i < works.size(); ++i) shares[i % threads].push_back(std::move(works[i]));
  for (std::vector<Work>& share : shares) {
    Preparation& preparation = *preparing_.emplace_back(std::make_unique<Preparation>());
    context_.Prepare([this, &preparation, share = std::move(share)] {
      // If there is no handle, whoever asks for cuDNN gets the error.
      const absl::StatusOr<CudnnHandle> made = MakeHandle();
      if (!made.ok()) return;
      preparation.handle = *made;
      const CudaDeviceScope on(context_.index());
      for (const Work& work : share) work(preparation.handle, preparation.plans);
    });
  }
}

void CudnnSession::FinishPreparing() {
  context_.FinishPreparing();
  for (const std::unique_ptr<Preparation>& preparation : preparing_) {
    if (preparation->handle.handle == nullptr) continue;
    others_.push_back(preparation->handle);
    plans_.TakeFrom(preparation->plans);
  }
  preparing_.clear();
}

absl::StatusOr<CudnnHandle> CudnnSession::OnStream() {
  FinishPreparing();
  if (handle_.handle != nullptr) return handle_;
  if (!others_.empty()) {
    handle_ = others_.back();
    others_.pop_back();
    return handle_;
  }
  const LoadTimes::Scope time = LoadTimes::Time(context_.load_times(), "open cuDNN");
  SINTER_ASSIGN_OR_RETURN(handle_, MakeHandle());
  return handle_;
}

}  // namespace sinter
