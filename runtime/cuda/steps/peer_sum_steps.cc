#include "sinter/runtime/cuda/steps/peer_sum_steps.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/sum_shares.h"

namespace sinter {
namespace {

constexpr int64_t kMostReadByElements = int64_t{1} << 20;
// The kernel counts the units of a sum in 32 bits.
constexpr int64_t kMostElements = int64_t{1} << 31;

kernels::SumType SumTypeOf(DType dtype) {
  if (dtype == DType::kBf16) return kernels::SumType::kBf16;
  return dtype == DType::kF16 ? kernels::SumType::kF16 : kernels::SumType::kF32;
}

// True if all tensors of a list, or all parts, are multiples of 16 bytes.
bool HasUnitsOf16(const CollectiveLayout& collective) {
  return std::ranges::all_of(collective.starts,
                             [&](int64_t start) { return start * SizeOf(collective.dtype) % 16 == 0; });
}

// True if all are multiples of 16 bytes. The same for all members.
bool AreAligned(const PeerExchanges::Addresses& all) {
  uintptr_t bits = 0;
  for (const std::vector<std::byte*>& member : all) {
    for (const std::byte* address : member) bits |= reinterpret_cast<uintptr_t>(address);
  }
  return bits % 16 == 0;
}

// A sum or mean by a kernel that reads the terms of the other GPUs of this process.
class ReadSumStep : public CudaExchangeStep {
 public:
  ReadSumStep(const CudaContext& context, const PeerExchanges::Place& place,
              const CollectiveLayout& collective, uint32_t rank, size_t inputs)
      : CudaExchangeStep(context, std::string(CollectiveName(collective.kind))),
        place_(place),
        rank_(rank),
        ranks_(collective.size()),
        inputs_(inputs),
        is_scattered_(collective.kind == fb::CollectiveKind::ReduceScatter),
        has_units_of_16_(HasUnitsOf16(collective)),
        tensors_(is_scattered_ ? 1 : collective.starts.size() - 1),
        starts_(collective.starts),
        element_bytes_(static_cast<size_t>(SizeOf(collective.dtype))) {
    part_.device = collective.group[rank];
    std::ranges::remove_copy(collective.group, std::back_inserter(part_.others), part_.device);
    part_.type = SumTypeOf(collective.dtype);
    part_.is_mean = collective.combine == fb::ReduceOp::Mean;
    // A rank's part of its own operand is read by no other rank.
    part_.may_be_in_place = !is_scattered_;
    part_.most_elements = static_cast<size_t>(collective.elements());
    if (!is_scattered_) return;
    part_.most_elements = 0;
    for (size_t r = 0; r < ranks_; ++r) part_.most_elements = std::max(part_.most_elements, Count(r));
  }

 private:
  bool MarksItself() const override { return true; }
  size_t Count(size_t i) const { return static_cast<size_t>(starts_[i + 1] - starts_[i]); }
  size_t Offset(size_t part) const { return static_cast<size_t>(starts_[part]) * element_bytes_; }

  absl::Status Give(const StepArgs& args) override {
    // The inputs, then the outputs.
    std::vector<std::byte*> own;
    for (const size_t first : {size_t{0}, inputs_}) {
      for (size_t i = 0; i < tensors_; ++i) own.push_back(static_cast<std::byte*>(args.buffers[first + i]));
    }
    SINTER_ASSIGN_OR_RETURN(const auto all, context().peers()->Meet(place_, rank_, ranks_, std::move(own),
                                                                    patience_of_meetings()));
    if (all == nullptr) return TooLate();
    part_.mark = mark();
    part_.sums.clear();
    for (size_t i = 0; i < tensors_; ++i) {
      PeerExchanges::Sum sum = {.terms = {},
                                .to = static_cast<std::byte*>(args.buffers[inputs_ + i]),
                                .elements = Count(is_scattered_ ? rank_ : i)};
      for (const std::vector<std::byte*>& member : *all) {
        sum.terms.push_back(member[i] + (is_scattered_ ? Offset(rank_) : 0));
      }
      part_.sums.push_back(std::move(sum));
    }
    part_.is_aligned = has_units_of_16_ && AreAligned(*all);
    return context().peers()->GiveSum(part_, context().collective_stream());
  }

  const PeerExchanges::Place place_;
  const uint32_t rank_, ranks_;
  const size_t inputs_;
  const bool is_scattered_, has_units_of_16_;
  const size_t tensors_;
  const std::vector<int64_t> starts_;
  const size_t element_bytes_;
  PeerExchanges::SumPart part_;
};

// A sum or mean of whole tensors of which each GPU adds a share.
class SharedSumStep : public CudaExchangeStep {
 public:
  SharedSumStep(const CudaContext& context, const PeerExchanges::Place& place,
                const CollectiveLayout& collective, uint32_t rank, size_t inputs)
      : CudaExchangeStep(context, std::string(CollectiveName(collective.kind))),
        place_(place),
        inputs_(inputs),
        starts_(collective.starts) {
    part_.group = collective.group;
    part_.rank = rank;
    part_.type = SumTypeOf(collective.dtype);
    part_.is_mean = collective.combine == fb::ReduceOp::Mean;
  }

  size_t ExchangeWorkspaceBytes() const override { return ShareWorkspaceBytes(part_.group.size()); }

 private:
  bool MarksItself() const override { return true; }

  absl::Status Give(const StepArgs& args) override {
    const size_t tensors = starts_.size() - 1;
    // The inputs, the outputs, then the workspace.
    std::vector<std::byte*> own;
    for (const size_t first : {size_t{0}, inputs_}) {
      for (size_t i = 0; i < tensors; ++i) own.push_back(static_cast<std::byte*>(args.buffers[first + i]));
    }
    own.push_back(static_cast<std::byte*>(args.exchange_workspace));
    SINTER_ASSIGN_OR_RETURN(
        const auto all, context().peers()->Meet(place_, part_.rank, static_cast<uint32_t>(part_.group.size()),
                                                std::move(own), patience_of_meetings()));
    if (all == nullptr) return TooLate();
    part_.mark = mark();
    part_.is_aligned = AreAligned(*all);
    part_.workspaces.clear();
    for (const std::vector<std::byte*>& member : *all) part_.workspaces.push_back(member.back());
    part_.tensors.clear();
    for (size_t i = 0; i < tensors; ++i) {
      const auto elements = static_cast<size_t>(starts_[i + 1] - starts_[i]);
      if (elements == 0) continue;
      part_.tensors.push_back(
          {.from = static_cast<const std::byte*>(args.buffers[i]), .to = {}, .elements = elements});
      for (const std::vector<std::byte*>& member : *all) {
        part_.tensors.back().to.push_back(member[tensors + i]);
      }
      if (part_.tensors.size() == PeerExchanges::kMostShared) SINTER_RETURN_IF_ERROR(GiveTensors());
    }
    return part_.tensors.empty() ? absl::OkStatus() : GiveTensors();
  }

  absl::Status GiveTensors() {
    SINTER_RETURN_IF_ERROR(context().peers()->GiveShares(part_, context().collective_stream()));
    part_.tensors.clear();
    return absl::OkStatus();
  }

  const PeerExchanges::Place place_;
  const size_t inputs_;
  const std::vector<int64_t> starts_;
  PeerExchanges::SharePart part_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CudaExchangeStep>> MakePeerSumStep(const CudaContext& context,
                                                                  const PeerExchanges::Place& place,
                                                                  const CollectiveLayout& collective,
                                                                  uint32_t rank, size_t inputs) {
  using Parts = CollectiveTraits::Parts;
  if (context.peers() == nullptr || !context.peers()->Has(collective.group) || !AddsOnGpus(collective)) {
    return nullptr;
  }
  if (GoesInShares(collective)) {
    return std::make_unique<SharedSumStep>(context, place, collective, rank, inputs);
  }
  const CollectiveTraits& traits = collective.traits();
  const int64_t bytes = collective.elements() * SizeOf(collective.dtype);
  // NCCL does what one rank needs, and what the kernel would read by elements for long.
  const bool is_short =
      bytes <= kMostReadByElements || (traits.parts != Parts::kNone && HasUnitsOf16(collective));
  const bool is_read =
      traits.outputs == CollectiveTraits::Owners::kAll && is_short && collective.elements() <= kMostElements;
  if (!is_read) return nullptr;
  return std::make_unique<ReadSumStep>(context, place, collective, rank, inputs);
}

}  // namespace sinter
