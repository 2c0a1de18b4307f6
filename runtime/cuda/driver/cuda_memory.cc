#include "sinter/runtime/cuda/driver/cuda_memory.h"

#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"

namespace sinter {
namespace {

// The granularity of caching allocators. CUDA guarantees 256 bytes but returns multiples of 512; Checked
// verifies this.
constexpr int64_t kCudaAlignment = 512;

std::atomic<int64_t> allocations = 0;
std::atomic<int64_t> frees = 0;
std::atomic<int64_t> failed_frees = 0;

// A failed GPU frees nothing more. The original error was reported where it occurred.
void CountFree(cudaError_t code) { ++(code == cudaSuccess ? frees : failed_frees); }

absl::StatusOr<void*> Checked(void* ptr) {
  ++allocations;
  if (reinterpret_cast<uintptr_t>(ptr) % kCudaAlignment != 0) {
    return absl::InternalError("CUDA aligned memory to less than 512 bytes");
  }
  return ptr;
}

class CudaMemory : public DeviceMemory {
 public:
  explicit CudaMemory(const CudaDeviceInfo& info) : index_(info.index), total_bytes_(info.total_bytes) {}

  absl::StatusOr<void*> Allocate(int64_t bytes) override {
    if (bytes <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot allocate ", bytes, " bytes on ", device().ToString()));
    }
    const CudaDeviceScope on(index_);
    SINTER_RETURN_IF_ERROR(on.status());
    void* ptr = nullptr;
    absl::Status status =
        CudaStatus(cudaMalloc(&ptr, static_cast<size_t>(bytes)),
                   absl::StrCat("allocate ", DescribeBytes(bytes), " on ", device().ToString()));
    if (absl::IsResourceExhausted(status)) {
      return absl::ResourceExhaustedError(absl::StrCat(std::string(status.message()), "; ",
                                                       DescribeBytes(FreeBytes()), " of ",
                                                       DescribeBytes(TotalBytes()), " are free"));
    }
    SINTER_RETURN_IF_ERROR(status);
    return Checked(ptr);
  }

  void Free(void* ptr, int64_t) noexcept override {
    const CudaDeviceScope on(index_);
    CountFree(cudaFree(ptr));
  }

  void Fill(void* ptr, uint8_t value, int64_t bytes) noexcept override {
    const CudaDeviceScope on(index_);
    (void)cudaDeviceSynchronize();
    (void)cudaMemset(ptr, value, static_cast<size_t>(bytes));
    (void)cudaDeviceSynchronize();
  }

  int64_t TotalBytes() const override { return total_bytes_; }
  int64_t FreeBytes() const override {
    const CudaDeviceScope on(index_);
    size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<int64_t>(free) : 0;
  }
  Device device() const override { return Device::Gpu(index_); }
  int64_t alignment() const override { return kCudaAlignment; }

 private:
  int index_;
  int64_t total_bytes_;
};

class PinnedMemory : public DeviceMemory {
 public:
  absl::StatusOr<void*> Allocate(int64_t bytes) override {
    if (bytes <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes of pinned memory"));
    }
    // If main memory is short, the Linux kernel kills the program instead of refusing to lock the memory.
    if (bytes > main_memory_.FreeBytes()) {
      return absl::ResourceExhaustedError(absl::StrCat("main memory has no room to pin ",
                                                       DescribeBytes(bytes), ": ",
                                                       DescribeBytes(main_memory_.FreeBytes()), " are free"));
    }
    void* ptr = nullptr;
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaHostAlloc(&ptr, static_cast<size_t>(bytes), cudaHostAllocPortable),
                                      absl::StrCat("pin ", DescribeBytes(bytes), " of main memory")));
    return Checked(ptr);
  }

  void Free(void* ptr, int64_t) noexcept override { CountFree(cudaFreeHost(ptr)); }

  void Fill(void* ptr, uint8_t value, int64_t bytes) noexcept override {
    std::memset(ptr, value, static_cast<size_t>(bytes));
  }

  int64_t TotalBytes() const override { return main_memory_.TotalBytes(); }
  int64_t FreeBytes() const override { return main_memory_.FreeBytes(); }
  Device device() const override { return Device::Cpu(); }
  int64_t alignment() const override { return kCudaAlignment; }

 private:
  HostMemory main_memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeCudaMemory(int index) {
  SINTER_ASSIGN_OR_RETURN(const CudaDeviceInfo info, DescribeCudaDevice(index));
  return std::make_unique<CudaMemory>(info);
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> MakePinnedMemory() {
  SINTER_RETURN_IF_ERROR(CudaAvailable());
  return std::make_unique<PinnedMemory>();
}

bool IsPinned(const void* data, size_t bytes) {
  if (bytes == 0) return false;
  const auto* const first = static_cast<const std::byte*>(data);
  // A caller may have locked a part of the memory alone.
  for (const std::byte* at : {first, first + bytes - 1}) {
    cudaPointerAttributes attributes = {};
    if (cudaPointerGetAttributes(&attributes, at) != cudaSuccess) {
      // A failed GPU fails the following copy too, which reports it.
      (void)cudaGetLastError();
      return false;
    }
    if (attributes.type != cudaMemoryTypeHost) return false;
  }
  return true;
}

CudaDriverCalls CountCudaDriverCalls() { return {allocations.load(), frees.load(), failed_frees.load()}; }

}  // namespace sinter
