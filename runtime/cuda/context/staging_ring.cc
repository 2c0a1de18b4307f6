#include "sinter/runtime/cuda/context/staging_ring.h"

#include <algorithm>

#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/host/round_up.h"

namespace sinter {
namespace {

// GPU copies are fastest from this alignment.
constexpr size_t kPieceAlignment = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<StagingRing>> StagingRing::Create(const CudaContext* context,
                                                                 cudaStream_t stream) {
  const CudaDeviceScope on(context->index());
  SINTER_RETURN_IF_ERROR(on.status());
  std::unique_ptr<StagingRing> ring(new StagingRing(context, stream));
  SINTER_ASSIGN_OR_RETURN(ring->memory_, MakePinnedMemory());
  SINTER_ASSIGN_OR_RETURN(void* data, ring->memory_->Allocate(kSlots * kSlotBytes));
  ring->data_ = static_cast<std::byte*>(data);
  for (Slot& slot : ring->slots_) {
    SINTER_ASSIGN_OR_RETURN(slot.left, MakeCudaEvent());
  }
  return ring;
}

StagingRing::~StagingRing() {
  const CudaDeviceScope on(context_->index());
  // The GPU may still be reading.
  (void)cudaStreamSynchronize(stream_);
  if (data_ != nullptr) memory_->Free(data_, kSlots * kSlotBytes);
}

absl::StatusOr<std::span<std::byte>> StagingRing::Take(size_t bytes) {
  if (used_ == kSlotBytes) {
    Slot& full = slots_[slot_];
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(full.left.get(), stream_), "record an event"));
    full.was_left = true;
    slot_ = (slot_ + 1) % kSlots;
    used_ = 0;
    if (slots_[slot_].was_left) {
      SINTER_RETURN_IF_ERROR(context_->WaitFor(slots_[slot_].left.get(), "wait for earlier copies"));
    }
  }
  const size_t size = std::min(bytes, kSlotBytes - used_);
  std::byte* const piece = data_ + slot_ * kSlotBytes + used_;
  used_ = std::min(kSlotBytes, used_ + RoundUp(size, kPieceAlignment));
  return std::span<std::byte>(piece, size);
}

}  // namespace sinter
