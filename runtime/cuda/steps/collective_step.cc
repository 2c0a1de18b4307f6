// One GPU's part of a collective: NCCL calls in one group, or writes into the memory of the other
// GPUs of this process.
//
// On a GPU that computes alone (CudaContext::is_alone) the step copies the rank's own values instead.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "sinter/runtime/cuda/nccl/nccl_calls.h"
#include "sinter/runtime/cuda/nccl/nccl_communicators.h"
#include "sinter/runtime/cuda/peer/peer_exchanges.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/cuda/steps/exchange_step.h"
#include "sinter/runtime/cuda/steps/peer_sum_steps.h"
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
    // The neighbour first: if all sent to the same GPU at a time, its links would be the limit.
    std::ranges::stable_sort(sends_, {},
                             [&](const CollectiveMove& move) { return (move.to + ranks_ - rank) % ranks_; });
  }

 private:
  bool MarksItself() const override { return true; }
  size_t BytesOf(int64_t elements) const { return static_cast<size_t>(elements) * element_bytes_; }

  absl::Status Give(const StepArgs& args) override {
    PeerExchanges& peers = *context().peers();
    std::vector<std::byte*> own;
    for (size_t i = 0; i < outputs_; ++i) own.push_back(static_cast<std::byte*>(args.buffers[inputs_ + i]));
    SINTER_ASSIGN_OR_RETURN(const auto outputs,
                            peers.Meet(place_, rank_, ranks_, std::move(own), patience_of_meetings()));
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
  const PeerExchanges::Place exchange = {place.function_index, BeginOfChannel(*place.function, place.index),
                                         collective.group.front()};
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CudaExchangeStep> made,
                          MakePeerSumStep(context, exchange, collective, rank, inputs));
  if (made != nullptr) {
    // The kernels of exchanges add.
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
