#include "sinter/runtime/cuda/cuda_runtime.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/cuda_context.h"
#include "sinter/runtime/cuda/cuda_memory.h"
#include "sinter/runtime/cuda/cuda_steps.h"
#include "sinter/runtime/cuda/peer_access.h"
#include "sinter/runtime/cuda/recorded_graph.h"
#include "sinter/runtime/cuda/staging_ring.h"

namespace sinter {
namespace {

class CudaRuntime : public DeviceRuntime {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceRuntime>> Make(int index, const CudaRuntimeOptions& options);
  // Waits, in the members' destructors.
  ~CudaRuntime() override = default;

  Device device() const override { return context_->device(); }
  CachingAllocator& allocator() override { return context_->allocator(); }
  bool is_host_memory() const override { return false; }
  int64_t alignment() const override { return 256; }

  absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) override {
    return MakeCudaStep(*context_, libraries_, plan, step);
  }

  absl::Status Upload(void* to, const void* from, size_t bytes) override;
  absl::Status Download(void* to, const void* from, size_t bytes) override;
  absl::Status Fill(void* to, uint8_t value, size_t bytes) override;
  absl::Status Synchronize() override;
  absl::Status WaitFor(DeviceRuntime& other) override;
  absl::Status CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) override;
  absl::StatusOr<std::unique_ptr<RecordedWork>> Record(const std::function<absl::Status()>& work) override {
    const CudaDeviceScope on(context_->index());
    return RecordGraph(*context_, work);
  }
  Traffic traffic() const override { return traffic_; }

 private:
  CudaRuntime() = default;

  cudaStream_t stream() const { return context_->stream(); }
  absl::Status CopyThroughPinned(CudaRuntime& other, std::byte* to, const std::byte* from, size_t bytes);
  // Makes this stream wait for what `other`'s was given so far, by an event of that GPU.
  absl::Status WaitForStream(CudaRuntime& other);

  std::unique_ptr<CachingAllocator> own_allocator_;
  std::unique_ptr<CudaContext> context_;
  KernelLibraries libraries_;
  std::unique_ptr<StagingRing> ring_;
  CudaEvent given_;    // Recorded on this stream when another waits for it.
  CudaEvent arrived_;  // Ends a download.
  CudaEvent arrived_before_;
  Traffic traffic_;
};

absl::StatusOr<std::unique_ptr<DeviceRuntime>> CudaRuntime::Make(int index,
                                                                 const CudaRuntimeOptions& options) {
  SINTER_RETURN_IF_ERROR(PeerAccessIsDisabled().status());
  std::unique_ptr<CudaRuntime> runtime(new CudaRuntime);
  CachingAllocator* allocator = options.allocator;
  if (allocator == nullptr) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeCudaMemory(index));
    SINTER_ASSIGN_OR_RETURN(runtime->own_allocator_, CachingAllocator::Create(std::move(memory)));
    allocator = runtime->own_allocator_.get();
  } else if (allocator->device() != Device::Gpu(index)) {
    return absl::InvalidArgumentError(absl::StrCat("an allocator of ", allocator->device().ToString(),
                                                   " cannot serve ", Device::Gpu(index).ToString()));
  }
  SINTER_ASSIGN_OR_RETURN(runtime->context_, CudaContext::Create(index, allocator));
  const CudaDeviceScope on(index);
  SINTER_ASSIGN_OR_RETURN(runtime->ring_, StagingRing::Create(runtime->context_.get()));
  for (CudaEvent* event : {&runtime->given_, &runtime->arrived_, &runtime->arrived_before_}) {
    SINTER_ASSIGN_OR_RETURN(*event, MakeCudaEvent());
  }
  return runtime;
}

absl::Status CudaRuntime::Upload(void* to, const void* from, size_t bytes) {
  const CudaDeviceScope on(context_->index());
  traffic_.uploaded += static_cast<int64_t>(bytes);
  for (size_t done = 0; done < bytes;) {
    SINTER_ASSIGN_OR_RETURN(const std::span<std::byte> piece, ring_->Take(bytes - done));
    std::memcpy(piece.data(), static_cast<const std::byte*>(from) + done, piece.size());
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, piece.data(),
                                                      piece.size(), cudaMemcpyHostToDevice, stream()),
                                      "upload"));
    done += piece.size();
  }
  return absl::OkStatus();
}

// While the CPU copies one piece out of pinned memory, the next is on its way.
absl::Status CudaRuntime::Download(void* to, const void* from, size_t bytes) {
  const CudaDeviceScope on(context_->index());
  traffic_.downloaded += static_cast<int64_t>(bytes);
  std::span<std::byte> before;
  std::byte* target = static_cast<std::byte*>(to);
  const auto finish_before = [&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(arrived_before_.get()), "download"));
    std::memcpy(target, before.data(), before.size());
    target += before.size();
    return absl::OkStatus();
  };
  for (size_t asked = 0; asked < bytes;) {
    SINTER_ASSIGN_OR_RETURN(const std::span<std::byte> piece, ring_->Take(bytes - asked));
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(piece.data(), static_cast<const std::byte*>(from) + asked, piece.size(),
                                   cudaMemcpyDeviceToHost, stream()),
                   "download"));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(arrived_.get(), stream()), "record an event"));
    if (!before.empty()) SINTER_RETURN_IF_ERROR(finish_before());
    before = piece;
    std::swap(arrived_, arrived_before_);
    asked += piece.size();
  }
  return before.empty() ? absl::OkStatus() : finish_before();
}

absl::Status CudaRuntime::Fill(void* to, uint8_t value, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const CudaDeviceScope on(context_->index());
  return CudaStatus(cudaMemsetAsync(to, value, bytes, stream()), "fill memory");
}

absl::Status CudaRuntime::Synchronize() {
  const CudaDeviceScope on(context_->index());
  return CudaStatus(cudaStreamSynchronize(stream()),
                    absl::StrCat("finish the work of ", device().ToString()));
}

absl::Status CudaRuntime::WaitForStream(CudaRuntime& other) {
  {
    const CudaDeviceScope on(other.context_->index());
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaEventRecord(other.given_.get(), other.stream()), "record an event"));
  }
  const CudaDeviceScope on(context_->index());
  return CudaStatus(cudaStreamWaitEvent(stream(), other.given_.get(), 0),
                    absl::StrCat("let ", device().ToString(), " wait for ", other.device().ToString()));
}

absl::Status CudaRuntime::WaitFor(DeviceRuntime& other) {
  if (other.is_host_memory() || &other == this) return absl::OkStatus();
  return WaitForStream(static_cast<CudaRuntime&>(other));
}

absl::Status CudaRuntime::CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (other.is_host_memory()) return Upload(to, from, bytes);
  CudaRuntime& owner = static_cast<CudaRuntime&>(other);
  traffic_.copied += static_cast<int64_t>(bytes);
  const int reader_index = context_->index(), owner_index = owner.context_->index();
  SINTER_ASSIGN_OR_RETURN(const bool direct, EnablePeerAccess(reader_index, owner_index));
  if (!direct) {
    return CopyThroughPinned(owner, static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  }
  const CudaDeviceScope on(reader_index);
  return CudaStatus(cudaMemcpyPeerAsync(to, reader_index, from, owner_index, bytes, stream()),
                    absl::StrCat("copy from ", owner.device().ToString(), " to ", device().ToString()));
}

absl::Status CudaRuntime::CopyThroughPinned(CudaRuntime& other, std::byte* to, const std::byte* from,
                                            size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    absl::StatusOr<std::span<std::byte>> piece = [&] {
      const CudaDeviceScope on(context_->index());
      return ring_->Take(bytes - done);
    }();
    SINTER_RETURN_IF_ERROR(piece.status());
    {
      const CudaDeviceScope on(other.context_->index());
      SINTER_RETURN_IF_ERROR(CudaStatus(
          cudaMemcpyAsync(piece->data(), from + done, piece->size(), cudaMemcpyDeviceToHost, other.stream()),
          absl::StrCat("copy from ", other.device().ToString())));
    }
    SINTER_RETURN_IF_ERROR(WaitForStream(other));
    const CudaDeviceScope on(context_->index());
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(to + done, piece->data(), piece->size(), cudaMemcpyHostToDevice, stream()),
                   absl::StrCat("copy to ", device().ToString())));
    done += piece->size();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeCudaRuntime(Device device,
                                                               const CudaRuntimeOptions& options) {
  if (!device.is_gpu()) {
    return absl::InvalidArgumentError(absl::StrCat(device.ToString(), " is no GPU"));
  }
  return CudaRuntime::Make(device.index(), options);
}

}  // namespace sinter
