// Pinned memory on the way between main memory and one GPU, handed out in a circle.
//
//   SINTER_ASSIGN_OR_RETURN(auto ring, StagingRing::Create(context, stream));
//   SINTER_ASSIGN_OR_RETURN(std::span<std::byte> piece, ring->Take(bytes));   // As much of it as fits.
//   std::memcpy(piece.data(), from, piece.size());
//   cudaMemcpyAsync(to, piece.data(), piece.size(), cudaMemcpyHostToDevice, stream);
//
// A piece belongs to the taker until the work that was given to the stream before the next Take has run: Take waits for
// that where it must. What the CPU reads from a piece it must read before kSlots - 2 further slots' worth is taken. So a
// large upload copies into one slot while the GPU reads others, and small ones do not wait at all.
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
  // A slot is long enough for PCIe to run at full speed, and four keep both ends busy.
  static constexpr size_t kSlots = 4;
  static constexpr size_t kSlotBytes = size_t{2} << 20;

  // `stream`: of the context, to which the work goes that uses the pieces.
  static absl::StatusOr<std::unique_ptr<StagingRing>> Create(const CudaContext* context, cudaStream_t stream);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // At least 1 and at most min(bytes, kSlotBytes) bytes, for `bytes` > 0.
  absl::StatusOr<std::span<std::byte>> Take(size_t bytes);

 private:
  struct Slot {
    CudaEvent left;  // Recorded when the ring went on to the next slot.
    bool was_left = false;
  };

  StagingRing(const CudaContext* context, cudaStream_t stream) : context_(context), stream_(stream) {}

  const CudaContext* context_;
  cudaStream_t stream_;
  std::unique_ptr<DeviceMemory> memory_;
  std::byte* data_ = nullptr;
  std::array<Slot, kSlots> slots_;
  size_t slot_ = 0;
  size_t used_ = 0;  // Bytes of the current slot.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_STAGING_RING_H_
