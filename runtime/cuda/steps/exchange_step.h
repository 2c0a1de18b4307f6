// One GPU's part of an exchange, parallel to independent steps: it runs on the context's collective stream.
//
//   class NcclStep : public CudaExchangeStep { ... absl::Status Give(const StepArgs& args) override; };
//   auto made = std::make_unique<NcclStep>(...);
//   SINTER_RETURN_IF_ERROR(made->Prepare(plan, place, member));
//
// In a capture, the collective's stream forks from the steps' stream and joins it again at Wait. Outside a
// capture (such as a function's first run, when NCCL connects the members and every GPU still loads code),
// Run blocks until the exchange is complete and submits no other work to the GPU. Otherwise an operation that
// waits for the whole GPU would also wait for another member.
//
// If exchanges have a time limit, each has a mark (exchange_progress.h), which precedes an exchange that does
// not set it itself. The mark that ends these comes at the end of the capture, after all kernels: a kernel
// that starts early must follow kernels alone.
#ifndef SINTER_RUNTIME_CUDA_STEPS_EXCHANGE_STEP_H_
#define SINTER_RUNTIME_CUDA_STEPS_EXCHANGE_STEP_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/context/exchange_progress.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

// The position of a step in its plan.
struct StepPlace {
  const fb::Function* function = nullptr;
  uint32_t index = 0;
  uint32_t function_index = 0;

  // The function is null if the step is of another plan.
  static StepPlace Of(const fb::Plan& plan, const fb::Step& step);
};

class CudaExchangeStep : public Step {
 public:
  // `operation`: for example "all_reduce".
  CudaExchangeStep(const CudaContext& context, std::string operation)
      : context_(context), operation_(std::move(operation)) {}

  // Call it once. `member`: for example "rank 0 of 2 (gpu:0, gpu:1)".
  absl::Status Prepare(const fb::Plan& plan, const StepPlace& place, const std::string& member);

  absl::Status Run(const StepArgs& args) final;
  absl::Status Wait() final;

 protected:
  // Gives the exchange to the context's collective stream.
  virtual absl::Status Give(const StepArgs& args) = 0;
  // True if the exchange sets mark() while it is under way.
  virtual bool MarksItself() const { return false; }
  // Null if the exchange has no time limit.
  uint32_t* mark() const { return number_.has_value() ? context_.progress()->mark(*number_) : nullptr; }

  const CudaContext& context() const { return context_; }
  const std::string& operation() const { return operation_; }
  // The longest time that the exchange may take; 0: no limit.
  std::chrono::milliseconds patience() const { return patience_; }
  // The longest time for which a member waits for the others to come. One that stays away may itself wait for
  // an exchange, and its error, which says more, should come first.
  std::chrono::milliseconds patience_of_meetings() const { return 2 * patience_; }
  // The error after this time. Only if there is a limit.
  absl::Status TooLate() const { return context_.progress()->TooLate(*number_); }

 private:
  const CudaContext& context_;
  const std::string operation_;
  std::optional<uint32_t> number_;  // Number in context.progress(). Missing: no time limit.
  std::chrono::milliseconds patience_{0};
  CudaEvent begun_, done_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_EXCHANGE_STEP_H_
