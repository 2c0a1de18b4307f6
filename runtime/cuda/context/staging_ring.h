// A ring of pinned staging buffers between main memory and one GPU.
//
//   SINTER_ASSIGN_OR_RETURN(auto ring, StagingRing::Create(context, stream));
//   SINTER_ASSIGN_OR_RETURN(std::span<std::byte> piece, ring->Take(bytes));   // May be shorter than `bytes`.
//   std::memcpy(piece.data(), from, piece.size());
//   cudaMemcpyAsync(to, piece.data(), piece.size(), cudaMemcpyHostToDevice, stream);
//
// The caller owns a piece until the work that it submitted to the stream before the next Take is complete;
// Take waits for such work if necessary. The CPU must read downloaded pieces before kSlots - 2 further slots
// are taken. So a large upload fills one slot while the GPU reads others, and small uploads do not wait.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_STAGING_RING_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_STAGING_RING_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class StagingRing {
 public:
  // A slot is long enough for full PCIe bandwidth. Four slots keep the CPU and the GPU busy.
  static constexpr size_t kSlots = 4;
  static constexpr size_t kSlotBytes = size_t{2} << 20;

  // `stream`: the stream of the context whose work uses the pieces.
  static absl::StatusOr<std::unique_ptr<StagingRing>> Create(const CudaContext* context, cudaStream_t stream);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // Returns a piece of 1 to min(bytes, kSlotBytes) bytes; `bytes` must be positive.
  absl::StatusOr<std::span<std::byte>> Take(size_t bytes);

 private:
  struct Slot {
    CudaEvent left;  // Recorded when the ring moves on to the next slot.
    bool was_left = false;
  };

  StagingRing(const CudaContext* context, cudaStream_t stream) : context_(context), stream_(stream) {}

  const CudaContext* context_;
  cudaStream_t stream_;
  std::unique_ptr<DeviceMemory> memory_;
  std::byte* data_ = nullptr;
  std::array<Slot, kSlots> slots_;
  size_t slot_ = 0;
  size_t used_ = 0;  // Bytes used in the current slot.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_STAGING_RING_H_
