#include "sinter/frontend/optim/update.h"

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter::optim {

bool IsPlaced(const Tensor& x) {
  return x.ok() && x.function()->DeviceOf(mlir::Value::getFromOpaquePointer(x.value()));
}

Variable Update::Slot(const Variable& parameter, std::string_view slot) {
  const Variable made = State(absl::StrCat(std::string(slot), "/", parameter.name()),
                              ComputeType(parameter.dtype()), parameter.shape(), 0);
  if (made.ok()) builder_.function()->graph().SetSlotOf(made.name(), parameter.name());
  return made;
}

Variable Update::Accumulator(const Variable& parameter, std::string_view slot) {
  const Variable made = Slot(parameter, slot);
  if (made.ok()) builder_.function()->graph().SetAccumulator(made.name());
  return made;
}

Variable Update::State(const std::string& name, DType dtype, const Shape& shape, double initial) {
  GraphState& graph = builder_.function()->graph();
  const std::string full = absl::StrCat(owner_.prefix, "/", name);
  const VariableOptions options{.init = {.a = initial}, .trainable = false};
  if (!graph.CheckVariableName(full, where_) ||
      !graph.FindOrMake(full, dtype, shape, options, where_, owner_.owner)) {
    return {};
  }
  return Variable(&graph, full, dtype, shape);
}

Tensor Update::StepNumber() {
  if (step_.ok()) return step_;
  Variable step = State("step", DType::kI64, {}, 0);
  if (!step.ok()) return {};
  Tensor next = Add(Read(step), 1);
  Assign(step, next);
  return step_ = Cast(next, DType::kF32, where_);
}

Tensor Update::BiasCorrection(double beta) {
  if (auto found = corrections_.find(beta); found != corrections_.end()) return found->second;
  Tensor t = StepNumber();
  if (!t.ok()) return {};
  // Computed as -expm1(t log beta), which is accurate for small t too. Uses sn_log_f64, because the C
  // library's log depends on the CPU. A beta of 0 has no logarithm and needs no correction.
  Tensor correction = beta == 0 ? builder_.Full(DType::kF32, {}, 1, where_)
                                : Mul(Expm1(Mul(t, sn_log_f64(beta)), where_), -1.0);
  return corrections_[beta] = correction;
}

void Update::Assign(const Variable& v, const Tensor& value) {
  Tensor next = Cast(value, v.dtype(), where_);
  if (counts_.ok() && next.ok()) {
    Tensor counts = IsPlaced(next) ? Copy(counts_, next, where_) : counts_;
    next = Select(At(counts), At(next), At(Read(v)));
  }
  builder_.Assign(v, next, where_);
}

void Update::CountOnlyIf(const Tensor& counts) {
  if (!counts_.ok()) {
    counts_ = counts;
  } else {
    counts_ = At(counts_) && At(IsPlaced(counts_) ? Copy(counts, counts_, where_) : counts);
  }
}

}  // namespace sinter::optim
