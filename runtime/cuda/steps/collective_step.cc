// One GPU's part of a collective: NCCL calls in one group, or writes into the memory of the other
// GPUs of this process.
//
// On a GPU that computes alone (CudaContext::is_alone) the step copies the rank's own values instead.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sinter/runtime/cuda/nccl/nccl_calls.h"
#include "sinter/runtime/cuda/nccl/nccl_communicators.h"
#include "sinter/runtime/cuda/peer/peer_exchanges.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/cuda/steps/exchange_step.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {
namespace {

std::byte* At(const StepArgs& args, const NcclCall::Place& place) {
  return place.buffer < 0 ? nullptr : static_cast<std::byte*>(args.buffers[place.buffer]) + place.offset;
}

class NcclStep : public CudaExchangeStep {
 public:
  NcclStep(const CudaContext& context, NcclCommunicator& communicator, std::string operation,
           const NcclTypes& types, std::vector<NcclCall> calls)
      : CudaExchangeStep(context, std::move(operation)),
        communicator_(communicator),
        types_(types),
        calls_(std::move(calls)) {}

 private:
  absl::Status Give(const StepArgs& args) override {
    return communicator_.Issue(
        operation(), patience(), [this, &args](const Nccl& nccl, ncclComm_t comm) -> absl::Status {
          for (const NcclCall& call : calls_) {
            SINTER_RETURN_IF_ERROR(nccl.Check(Start(nccl, comm, call, args), operation()));
          }
          return absl::OkStatus();
        });
  }

  ncclResult_t Start(const Nccl& nccl, ncclComm_t comm, const NcclCall& call, const StepArgs& args) const {
    const std::byte* const from = At(args, call.from);
    std::byte* const to = At(args, call.to);
    cudaStream_t stream = context().collective_stream();
    switch (call.kind) {
      case NcclCall::Kind::kAllReduce:
        return nccl.AllReduce(from, to, call.count, types_.dtype, types_.combine, comm, stream);
      case NcclCall::Kind::kReduce:
        return nccl.Reduce(from, to, call.count, types_.dtype, types_.combine, call.peer, comm, stream);
      case NcclCall::Kind::kBroadcast:
        return nccl.Broadcast(from, to, call.count, types_.dtype, call.peer, comm, stream);
      case NcclCall::Kind::kAllGather:
        return nccl.AllGather(from, to, call.count, types_.dtype, comm, stream);
      case NcclCall::Kind::kReduceScatter:
        return nccl.ReduceScatter(from, to, call.count, types_.dtype, types_.combine, comm, stream);
      case NcclCall::Kind::kSend:
        return nccl.Send(from, call.count, types_.dtype, call.peer, comm, stream);
      case NcclCall::Kind::kRecv:
        return nccl.Recv(to, call.count, types_.dtype, call.peer, comm, stream);
    }
    return ncclInternalError;
  }

  NcclCommunicator& communicator_;
  const NcclTypes types_;
  const std::vector<NcclCall> calls_;
};

// Factor on the patience of a member that waits for the others to come. One that stays away may itself wait
// for an exchange, and its error, which says more, should come first.
constexpr int kPatienceOfMeetings = 2;

// A collective that only moves elements between GPUs of this process.
class PeerStep : public CudaExchangeStep {
 public:
  PeerStep(const CudaContext& context, const PeerExchanges::Place& place, const CollectiveLayout& collective,
           uint32_t rank, size_t inputs, size_t outputs)
      : CudaExchangeStep(context, std::string(CollectiveName(collective.kind))),
        place_(place),
        rank_(rank),
        ranks_(collective.size()),
        inputs_(inputs),
        outputs_(outputs),
        element_bytes_(static_cast<size_t>(SizeOf(collective.dtype))) {
    part_.device = collective.group[rank];
    std::vector<std::vector<size_t>> sends(ranks_);
    for (const CollectiveMove& move : collective.traits().moves(collective, [](uint32_t) { return true; })) {
      if (move.count == 0) continue;
      if (move.from != move.to) sends[move.from].push_back(BytesOf(move.count));
      if (move.from == rank) sends_.push_back(move);
      if (move.from == move.to || (move.from != rank && move.to != rank)) continue;
      const uint32_t other = collective.group[move.from == rank ? move.to : move.from];
      if (std::ranges::find(part_.others, other) == part_.others.end()) part_.others.push_back(other);
    }
    part_.way = PeerExchanges::WayOf(sends);
  }

 private:
  bool MarksItself() const override { return true; }
  size_t BytesOf(int64_t elements) const { return static_cast<size_t>(elements) * element_bytes_; }

  absl::Status Give(const StepArgs& args) override {
    PeerExchanges& peers = *context().peers();
    std::vector<std::byte*> own;
    for (size_t i = 0; i < outputs_; ++i) own.push_back(static_cast<std::byte*>(args.buffers[inputs_ + i]));
    SINTER_ASSIGN_OR_RETURN(const auto outputs, peers.Meet(place_, rank_, ranks_, std::move(own),
                                                           kPatienceOfMeetings * patience()));
    if (outputs == nullptr) return TooLate();
    part_.mark = mark();
    part_.sends.clear();
    for (const CollectiveMove& move : sends_) {
      part_.sends.push_back(
          {.from = static_cast<const std::byte*>(args.buffers[move.tensor]) + BytesOf(move.source),
           .to = (*outputs)[move.to][move.tensor] + BytesOf(move.target),
           .bytes = BytesOf(move.count)});
    }
    return peers.Give(part_, context().collective_stream());
  }

  const PeerExchanges::Place place_;
  const uint32_t rank_, ranks_;
  const size_t inputs_, outputs_;
  const size_t element_bytes_;
  std::vector<CollectiveMove> sends_;
  PeerExchanges::Part part_;
};

// Null if the kernel of sums does not add the type.
std::optional<kernels::SumType> SumTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return kernels::SumType::kF32;
    case DType::kBf16:
      return kernels::SumType::kBf16;
    case DType::kF16:
      return kernels::SumType::kF16;
    default:
      return std::nullopt;
  }
}

// True if all tensors of a list, or all parts, are multiples of 16 bytes.
bool HasUnitsOf16(const CollectiveLayout& collective) {
  return std::ranges::all_of(collective.starts,
                             [&](int64_t start) { return start * SizeOf(collective.dtype) % 16 == 0; });
}

// A sum or mean by a kernel that reads the terms of the other GPUs of this process.
class PeerSumStep : public CudaExchangeStep {
 public:
  PeerSumStep(const CudaContext& context, const PeerExchanges::Place& place,
              const CollectiveLayout& collective, uint32_t rank, size_t inputs)
      : CudaExchangeStep(context, std::string(CollectiveName(collective.kind))),
        place_(place),
        rank_(rank),
        inputs_(inputs),
        is_scattered_(collective.kind == fb::CollectiveKind::ReduceScatter),
        has_units_of_16_(HasUnitsOf16(collective)),
        tensors_(is_scattered_ ? 1 : collective.starts.size() - 1),
        starts_(collective.starts),
        group_(collective.group),
        element_bytes_(static_cast<size_t>(SizeOf(collective.dtype))) {
    part_.device = group_[rank];
    std::ranges::remove_copy(group_, std::back_inserter(part_.others), group_[rank]);
    part_.type = *SumTypeOf(collective.dtype);
    part_.is_mean = collective.combine == fb::ReduceOp::Mean;
    // A rank's part of its own operand is read by no other rank.
    part_.may_be_in_place = !is_scattered_;
    part_.most_elements = static_cast<size_t>(collective.elements());
    if (!is_scattered_) return;
    part_.most_elements = 0;
    for (size_t r = 0; r < group_.size(); ++r) part_.most_elements = std::max(part_.most_elements, Count(r));
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
    SINTER_ASSIGN_OR_RETURN(const auto all,
                            context().peers()->Meet(place_, rank_, static_cast<uint32_t>(group_.size()),
                                                    std::move(own), kPatienceOfMeetings * patience()));
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
    part_.is_aligned = IsAligned(*all);
    return context().peers()->GiveSum(part_, context().collective_stream());
  }

  // The same for all members.
  bool IsAligned(const PeerExchanges::Addresses& all) const {
    if (!has_units_of_16_) return false;
    uintptr_t bits = 0;
    for (const std::vector<std::byte*>& member : all) {
      for (const std::byte* address : member) bits |= reinterpret_cast<uintptr_t>(address);
    }
    return bits % 16 == 0;
  }

  const PeerExchanges::Place place_;
  const uint32_t rank_;
  const size_t inputs_;
  const bool is_scattered_, has_units_of_16_;
  const size_t tensors_;
  const std::vector<int64_t> starts_;
  const std::vector<uint32_t> group_;
  const size_t element_bytes_;
  PeerExchanges::SumPart part_;
};

// A collective on a GPU that computes alone: puts its own values in the places of all members, so that later
// steps compute with ordinary numbers.
class LoneCollectiveStep : public Step {
 public:
  LoneCollectiveStep(const CudaContext& context, const CollectiveLayout& collective, uint32_t rank,
                     std::vector<NcclCall> calls)
      : context_(context),
        element_bytes_(static_cast<size_t>(SizeOf(collective.dtype))),
        ranks_(collective.size()),
        rank_(rank),
        calls_(std::move(calls)) {}

  absl::Status Run(const StepArgs& args) override {
    const CudaDeviceScope on(context_.index());
    for (const NcclCall& call : calls_) {
      const std::byte* const from = At(args, call.from);
      std::byte* const to = At(args, call.to);
      const size_t bytes = call.count * element_bytes_;
      if (to == nullptr) continue;
      if (call.kind == NcclCall::Kind::kAllGather) {
        for (size_t r = 0; r < ranks_; ++r) SINTER_RETURN_IF_ERROR(Copy(to + r * bytes, from, bytes));
      } else if (call.kind == NcclCall::Kind::kReduceScatter) {
        SINTER_RETURN_IF_ERROR(Copy(to, from + rank_ * bytes, bytes));
      } else {
        SINTER_RETURN_IF_ERROR(Copy(to, from, bytes));
      }
    }
    return absl::OkStatus();
  }

 private:
  // `from` may be null: then zeros arrive.
  absl::Status Copy(std::byte* to, const std::byte* from, size_t bytes) const {
    if (to == from || bytes == 0) return absl::OkStatus();
    return CudaStatus(from == nullptr
                          ? cudaMemsetAsync(to, 0, bytes, context_.stream())
                          : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, context_.stream()),
                      "copy the values of a collective");
  }

  const CudaContext& context_;
  const size_t element_bytes_;
  const size_t ranks_, rank_;
  const std::vector<NcclCall> calls_;
};

// True if the GPUs of this process can do the collective by their own writes. All members agree.
bool GoesByPeers(const CudaContext& context, const CollectiveLayout& collective) {
  return context.peers() != nullptr && collective.traits().moves != nullptr && collective.size() > 1 &&
         context.peers()->Has(collective.group);
}

// True if a kernel that reads the terms of all GPUs does the collective. NCCL does a large all_reduce, of
// which each GPU would read all terms, and a large reduce_scatter that the kernel would read by elements.
bool IsPeerSum(const CudaContext& context, const CollectiveLayout& collective) {
  using Kind = fb::CollectiveKind;
  const bool adds = collective.combine == fb::ReduceOp::Sum || collective.combine == fb::ReduceOp::Mean;
  const bool can = context.peers() != nullptr && collective.traits().combines && adds &&
                   collective.size() > 1 && SumTypeOf(collective.dtype).has_value() &&
                   context.peers()->Has(collective.group);
  const int64_t bytes = collective.elements() * SizeOf(collective.dtype);
  switch (collective.kind) {
    case Kind::AllReduce:
      return can && bytes <= PeerExchanges::kMostSumBytes &&
             collective.starts.size() <= PeerExchanges::kMostSums + 1;
    case Kind::ReduceScatter:
      return can && (bytes <= PeerExchanges::kMostSumBytes ||
                     (HasUnitsOf16(collective) && collective.elements() <= PeerExchanges::kMostScattered));
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaCollectiveStep(CudaContext& context, const fb::Plan& plan,
                                                             const fb::Step& step) {
  const StepPlace place = StepPlace::Of(plan, step);
  if (place.function == nullptr) return absl::InternalError("a step of another plan");
  const CollectiveLayout collective = CollectiveLayout::Of(*place.function, place.index);
  const uint32_t rank = step.body_as_CollectiveStep()->rank();
  SINTER_ASSIGN_OR_RETURN(const NcclTypes types, NcclTypesOf(collective));
  const size_t inputs = step.inputs() == nullptr ? 0 : step.inputs()->size();
  const size_t outputs = step.outputs() == nullptr ? 0 : step.outputs()->size();
  std::vector<NcclCall> calls = NcclCallsOf(collective, rank, static_cast<int>(inputs));
  if (calls.empty()) return MakeEmptyStep();
  if (context.is_alone()) {
    return std::make_unique<LoneCollectiveStep>(context, collective, rank, std::move(calls));
  }
  if (context.communicators() == nullptr) {
    return absl::InternalError("a collective's members were not connected");
  }
  SINTER_ASSIGN_OR_RETURN(NcclCommunicator * communicator,
                          context.communicators()->Find(collective.group, step.device()));
  std::unique_ptr<CudaExchangeStep> made;
  const PeerExchanges::Place exchange = {place.function_index, BeginOfChannel(*place.function, place.index),
                                         collective.group.front()};
  if (IsPeerSum(context, collective)) {
    made = std::make_unique<PeerSumStep>(context, exchange, collective, rank, inputs);
  } else if (GoesByPeers(context, collective)) {
    made = std::make_unique<PeerStep>(context, exchange, collective, rank, inputs, outputs);
  } else {
    made = std::make_unique<NcclStep>(context, *communicator, std::string(CollectiveName(collective.kind)),
                                      types, std::move(calls));
  }
  SINTER_RETURN_IF_ERROR(made->Prepare(plan, place, communicator->name()));
  return made;
}

}  // namespace sinter
