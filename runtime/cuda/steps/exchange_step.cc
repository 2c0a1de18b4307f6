#include "sinter/runtime/cuda/steps/exchange_step.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter {
namespace {

// "all_reduce, rank 0 of 2 (gpu:0, gpu:1), function "train", step 14 (net.cc:12: Linear(128))".
std::string NameOf(const fb::Plan& plan, const StepPlace& place, const std::string& member) {
  const fb::Step& step = *place.function->steps()->Get(place.index);
  const std::string line = step.locations() != nullptr && step.locations()->size() > 0
                               ? LocationText(plan, step.locations()->Get(0))
                               : "";
  return absl::StrCat(std::string(CollectiveName(step.body_as_CollectiveStep()->kind())), ", ", member,
                      ", function \"", place.function->name()->c_str(), "\", step ", place.index,
                      line.empty() ? "" : " (", line, line.empty() ? "" : ")");
}

}  // namespace

StepPlace StepPlace::Of(const fb::Plan& plan, const fb::Step& step) {
  for (uint32_t f = 0; plan.functions() != nullptr && f < plan.functions()->size(); ++f) {
    const fb::Function& function = *plan.functions()->Get(f);
    for (uint32_t s = 0; function.steps() != nullptr && s < function.steps()->size(); ++s) {
      if (function.steps()->Get(s) == &step) return {&function, s, f};
    }
  }
  return {};
}

absl::Status CudaExchangeStep::Prepare(const fb::Plan& plan, const StepPlace& place,
                                       const std::string& member) {
  SINTER_ASSIGN_OR_RETURN(begun_, MakeCudaEvent());
  SINTER_ASSIGN_OR_RETURN(done_, MakeCudaEvent());
  if (context_.progress() == nullptr) return absl::OkStatus();
  patience_ = context_.patience().WithinRun(plan, *place.function);
  number_ = context_.progress()->Add({.place = {place.function_index, place.index},
                                      .name = NameOf(plan, place, member),
                                      .patience = patience_});
  return absl::OkStatus();
}

absl::Status CudaExchangeStep::Run(const StepArgs& args) {
  const CudaDeviceScope on(context_.index());
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(begun_.get(), context_.stream()), "begin a collective"));
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaStreamWaitEvent(context_.collective_stream(), begun_.get(), 0),
                                    "let a collective wait for its inputs"));
  if (number_.has_value() && !MarksItself()) {
    SINTER_RETURN_IF_ERROR(context_.progress()->Begin(*number_, context_.collective_stream()));
  }
  SINTER_RETURN_IF_ERROR(Give(args));
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

absl::Status CudaExchangeStep::Wait() {
  const CudaDeviceScope on(context_.index());
  return CudaStatus(cudaStreamWaitEvent(context_.stream(), done_.get(), 0), "wait for a collective");
}

}  // namespace sinter
