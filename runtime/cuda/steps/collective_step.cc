// One GPU's part of a collective: a group of NCCL calls on a separate stream, parallel to independent steps.
//
// In a capture, the collective's stream forks from the steps' stream and joins it again at Wait. Outside a
// capture (such as a function's first run, when NCCL connects the members and every GPU still loads code),
// Run blocks until the exchange is complete and submits no other work to the GPU. Otherwise an operation that
// waits for the whole GPU would also wait for another member.
//
// If exchanges have a time limit, a mark precedes each (exchange_progress.h). The mark that ends them comes
// at the end of the capture, after all kernels: a kernel that starts early must follow kernels alone.
//
// On a GPU that computes alone (CudaContext::is_alone) the step copies the rank's own values instead.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/context/exchange_progress.h"
#include "sinter/runtime/cuda/nccl/nccl_calls.h"
#include "sinter/runtime/cuda/nccl/nccl_communicators.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {
namespace {

std::byte* At(const StepArgs& args, const NcclCall::Place& place) {
  return place.buffer < 0 ? nullptr : static_cast<std::byte*>(args.buffers[place.buffer]) + place.offset;
}

class CudaCollectiveStep : public Step {
 public:
  CudaCollectiveStep(const CudaContext& context, NcclCommunicator& communicator, std::string operation,
                     const NcclTypes& types, std::vector<NcclCall> calls)
      : context_(context),
        communicator_(communicator),
        operation_(std::move(operation)),
        types_(types),
        calls_(std::move(calls)) {}

  // `number`: that of the exchange in context.progress(), which is not null. `patience` is above 0.
  void HasDeadline(uint32_t number, std::chrono::milliseconds patience) {
    number_ = number;
    patience_ = patience;
  }

  absl::Status MakeEvents() {
    SINTER_ASSIGN_OR_RETURN(begun_, MakeCudaEvent());
    SINTER_ASSIGN_OR_RETURN(done_, MakeCudaEvent());
    return absl::OkStatus();
  }

  absl::Status Run(const StepArgs& args) override {
    const CudaDeviceScope on(context_.index());
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaEventRecord(begun_.get(), context_.stream()), "begin a collective"));
    SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamWaitEvent(context_.collective_stream(), begun_.get(), 0),
                                      "let a collective wait for its inputs"));
    if (number_.has_value()) {
      SINTER_RETURN_IF_ERROR(context_.progress()->Begin(*number_, context_.collective_stream()));
    }
    SINTER_RETURN_IF_ERROR(communicator_.Issue(
        operation_, patience_, [this, &args](const Nccl& nccl, ncclComm_t comm) -> absl::Status {
          for (const NcclCall& call : calls_) {
            SINTER_RETURN_IF_ERROR(nccl.Check(Give(nccl, comm, call, args), operation_));
          }
          return absl::OkStatus();
        }));
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaEventRecord(done_.get(), context_.collective_stream()), "end a collective"));
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    SINTER_RETURN_IF_ERROR(
        CudaStatus(cudaStreamIsCapturing(context_.stream(), &capture), "ask whether steps are captured"));
    if (capture != cudaStreamCaptureStatusNone) return absl::OkStatus();
    SINTER_RETURN_IF_ERROR(context_.WaitFor(done_.get(), operation_));
    if (number_.has_value()) context_.progress()->Clear();
    return absl::OkStatus();
  }

  absl::Status Wait() override {
    const CudaDeviceScope on(context_.index());
    return CudaStatus(cudaStreamWaitEvent(context_.stream(), done_.get(), 0), "wait for a collective");
  }

 private:
  ncclResult_t Give(const Nccl& nccl, ncclComm_t comm, const NcclCall& call, const StepArgs& args) const {
    const std::byte* const from = At(args, call.from);
    std::byte* const to = At(args, call.to);
    cudaStream_t stream = context_.collective_stream();
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

  const CudaContext& context_;
  NcclCommunicator& communicator_;
  const std::string operation_;  // For example "all_reduce".
  const NcclTypes types_;
  const std::vector<NcclCall> calls_;
  std::optional<uint32_t> number_;         // Missing: the exchange has no time limit.
  std::chrono::milliseconds patience_{0};  // 0: no limit.
  CudaEvent begun_, done_;
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

// The position of a step in its plan.
struct StepPlace {
  const fb::Function* function = nullptr;
  uint32_t index = 0;
  uint32_t function_index = 0;
};

// "all_reduce, rank 0 of 2 (gpu:0, gpu:1), function "train", step 14 (net.cc:12: Linear(128))".
std::string NameOf(const fb::Plan& plan, const StepPlace& place, const fb::Step& step,
                   const std::string& member) {
  const std::string line = step.locations() != nullptr && step.locations()->size() > 0
                               ? LocationText(plan, step.locations()->Get(0))
                               : "";
  return absl::StrCat(std::string(CollectiveName(step.body_as_CollectiveStep()->kind())), ", ", member,
                      ", function \"", place.function->name()->c_str(), "\", step ", place.index,
                      line.empty() ? "" : " (", line, line.empty() ? "" : ")");
}

StepPlace PlaceOf(const fb::Plan& plan, const fb::Step& step) {
  for (uint32_t f = 0; plan.functions() != nullptr && f < plan.functions()->size(); ++f) {
    const fb::Function& function = *plan.functions()->Get(f);
    for (uint32_t s = 0; function.steps() != nullptr && s < function.steps()->size(); ++s) {
      if (function.steps()->Get(s) == &step) return {&function, s, f};
    }
  }
  return {};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaCollectiveStep(CudaContext& context, const fb::Plan& plan,
                                                             const fb::Step& step) {
  const StepPlace place = PlaceOf(plan, step);
  if (place.function == nullptr) return absl::InternalError("a step of another plan");
  const CollectiveLayout collective = CollectiveLayout::Of(*place.function, place.index);
  const uint32_t rank = step.body_as_CollectiveStep()->rank();
  SINTER_ASSIGN_OR_RETURN(const NcclTypes types, NcclTypesOf(collective));
  const size_t inputs = step.inputs() == nullptr ? 0 : step.inputs()->size();
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
  auto made = std::make_unique<CudaCollectiveStep>(
      context, *communicator, std::string(CollectiveName(collective.kind)), types, std::move(calls));
  SINTER_RETURN_IF_ERROR(made->MakeEvents());
  if (context.progress() != nullptr) {
    const std::chrono::milliseconds patience = context.patience().WithinRun(plan, *place.function);
    made->HasDeadline(context.progress()->Add({.place = {place.function_index, place.index},
                                               .name = NameOf(plan, place, step, communicator->name()),
                                               .patience = patience}),
                      patience);
  }
  return made;
}

}  // namespace sinter
