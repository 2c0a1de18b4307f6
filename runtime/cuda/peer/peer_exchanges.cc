#include "sinter/runtime/cuda/peer/peer_exchanges.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/cuda/driver/peer_access.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

using Kind = StreamMemoryOp::Kind;

// Pause between two looks at the flags after an abort.
constexpr std::chrono::microseconds kReleasePause(100);

}  // namespace

absl::StatusOr<std::shared_ptr<PeerExchanges>> PeerExchanges::Create(const std::vector<PlanGpu>& gpus) {
  if (gpus.size() < 2) return nullptr;
  for (const PlanGpu& reader : gpus) {
    for (const PlanGpu& owner : gpus) {
      if (reader.gpu == owner.gpu) continue;
      SINTER_ASSIGN_OR_RETURN(const bool direct, EnablePeerAccess(reader.gpu, owner.gpu));
      if (!direct) return nullptr;
    }
  }
  SINTER_ASSIGN_OR_RETURN(const StreamMemoryOps ops, StreamMemoryOps::Load());
  std::shared_ptr<PeerExchanges> made(new PeerExchanges(gpus, ops));
  SINTER_ASSIGN_OR_RETURN(made->memory_, MakePinnedMemory());
  const size_t bytes = 2 * gpus.size() * gpus.size() * sizeof(uint32_t);
  SINTER_ASSIGN_OR_RETURN(void* const flags, made->memory_->Allocate(static_cast<int64_t>(bytes)));
  std::memset(flags, 0, bytes);
  made->flags_ = static_cast<uint32_t*>(flags);
  return made;
}

PeerExchanges::~PeerExchanges() {
  is_over_ = true;
  if (releasing_.joinable()) releasing_.join();
  if (flags_ == nullptr) return;
  memory_->Free(flags_, static_cast<int64_t>(2 * gpus_.size() * gpus_.size() * sizeof(uint32_t)));
}

size_t PeerExchanges::PositionOf(uint32_t device) const {
  return static_cast<size_t>(std::ranges::find(gpus_, device, &PlanGpu::device) - gpus_.begin());
}

bool PeerExchanges::Has(const std::vector<uint32_t>& group) const {
  return std::ranges::all_of(group, [&](uint32_t device) { return PositionOf(device) < gpus_.size(); });
}

uint32_t* PeerExchanges::ReadyFlag(uint32_t owner, uint32_t reader) const {
  return flags_ + PositionOf(owner) * gpus_.size() + PositionOf(reader);
}

uint32_t* PeerExchanges::ReadFlag(uint32_t owner, uint32_t reader) const {
  return ReadyFlag(owner, reader) + gpus_.size() * gpus_.size();
}

absl::StatusOr<std::shared_ptr<const PeerExchanges::Inputs>> PeerExchanges::Meet(
    const Place& place, uint32_t rank, uint32_t ranks, std::vector<const std::byte*> own,
    std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meetings_[place];
  if (meeting.come == 0) meeting.inputs = std::make_shared<Inputs>(ranks);
  // The next exchange at this place has a list of its own.
  const std::shared_ptr<Inputs> inputs = meeting.inputs;
  (*inputs)[rank] = std::move(own);
  if (++meeting.come == ranks) {
    meeting = {};
    changed_.notify_all();
  }
  const auto is_over = [&] { return !reason_.ok() || meetings_[place].inputs != inputs; };
  if (patience.count() == 0) {
    changed_.wait(lock, is_over);
  } else if (!changed_.wait_for(lock, patience, is_over)) {
    return absl::UnavailableError(
        absl::StrCat("another GPU of this process has not come for ", patience.count(), " ms"));
  }
  SINTER_RETURN_IF_ERROR(reason_);
  return inputs;
}

absl::Status PeerExchanges::Give(const Part& part, cudaStream_t stream) const {
  const uint32_t self = part.device;
  std::vector<uint32_t> owners;
  for (const Read& read : part.reads) {
    const bool is_known = std::ranges::find(owners, read.owner) != owners.end();
    if (read.owner != self && !is_known) owners.push_back(read.owner);
  }
  std::vector<StreamMemoryOp> ops;
  for (const uint32_t reader : part.readers) ops.push_back({Kind::kWrite, ReadyFlag(self, reader), 1});
  for (const uint32_t owner : owners) {
    ops.push_back({Kind::kWait, ReadyFlag(owner, self), 1});
    ops.push_back({Kind::kWrite, ReadyFlag(owner, self), 0});
  }
  SINTER_RETURN_IF_ERROR(ops_.Give(stream, ops));
  for (const Read& read : part.reads) {
    if (read.from == read.to || read.bytes == 0) continue;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(read.to, read.from, read.bytes, cudaMemcpyDeviceToDevice, stream),
                   "copy from another GPU"));
  }
  ops.clear();
  for (const uint32_t owner : owners) ops.push_back({Kind::kWrite, ReadFlag(owner, self), 1});
  for (const uint32_t reader : part.readers) {
    ops.push_back({Kind::kWait, ReadFlag(self, reader), 1});
    ops.push_back({Kind::kWrite, ReadFlag(self, reader), 0});
  }
  return ops_.Give(stream, ops);
}

void PeerExchanges::Abort(const absl::Status& reason) {
  const std::lock_guard lock(mutex_);
  if (!reason_.ok()) return;
  reason_ = reason;
  changed_.notify_all();
  // A stream clears a flag that it has awaited, and may await it again.
  releasing_ = std::thread([this] {
    const size_t count = 2 * gpus_.size() * gpus_.size();
    while (!is_over_) {
      for (size_t i = 0; i < count; ++i) std::atomic_ref(flags_[i]).store(1);
      std::this_thread::sleep_for(kReleasePause);
    }
  });
}

}  // namespace sinter
