#include "sinter/frontend/optim/update.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/optim/touched_rows.h"
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter::optim {

bool IsPlaced(const Tensor& x) {
  return x.ok() && x.function()->DeviceOf(mlir::Value::getFromOpaquePointer(x.value()));
}

bool Update::FindsOwner() {
  if (owner_ || failed_) return !failed_;
  Call call(origin_.call, where_, builder_.function(), origin_.operands);
  if (call.ok()) owner_ = find_owner_(call);
  failed_ = !owner_;
  return !failed_;
}

Variable Update::Slot(const Variable& parameter, std::string_view slot, const Shape& shape) {
  const Variable made =
      State(absl::StrCat(std::string(slot), "/", parameter.name()), ComputeType(parameter.dtype()), shape, 0);
  if (made.ok()) builder_.function()->graph().SetSlotOf(made.name(), parameter.name());
  return made;
}

Variable Update::Accumulator(const Variable& parameter, std::string_view slot) {
  const Variable made = Slot(parameter, slot, parameter.shape());
  if (made.ok()) builder_.function()->graph().SetAccumulator(made.name());
  return made;
}

Variable Update::State(const std::string& name, DType dtype, const Shape& shape, double initial) {
  if (!FindsOwner()) return {};
  GraphState& graph = builder_.function()->graph();
  const std::string full = absl::StrCat(owner_->prefix, "/", name);
  const VariableOptions options{.init = {.a = initial}, .trainable = false};
  if (!graph.CheckVariableName(full, where_) ||
      !graph.FindOrMake(full, dtype, shape, options, where_, owner_->owner)) {
    failed_ = true;
    return {};
  }
  return Variable(&graph, full, dtype, shape);
}

Tensor Update::StepNumber() {
  if (step_.ok()) return step_;
  step_variable_ = State("step", DType::kI64, {}, 0);
  if (!step_variable_.ok()) return {};
  next_step_ = Add(Read(step_variable_), 1);
  Assign(step_variable_, next_step_);
  return step_ = Cast(next_step_, DType::kF32, where_);
}

Tensor Update::StepAfter() { return StepNumber().ok() ? Read(step_variable_) : Tensor(); }

Tensor Update::BiasCorrection(const Hyper& beta) {
  if (!beta.is_number()) {
    const Tensor t = StepNumber();
    if (!t.ok()) return {};
    return Mul(Expm1(Mul(t, Log(Value(beta, t).tensor(), where_)), where_), -1.0);
  }
  const double number = beta.number();
  if (auto found = corrections_.find(number); found != corrections_.end()) return found->second;
  Tensor t = StepNumber();
  if (!t.ok()) return {};
  // Computed as -expm1(t log beta), which is accurate for small t too. Uses sn_log_f64, because the C
  // library's log depends on the CPU. A beta of 0 has no logarithm and needs no correction.
  Tensor correction = number == 0 ? builder_.Full(DType::kF32, {}, 1, where_)
                                  : Mul(Expm1(Mul(t, sn_log_f64(number)), where_), -1.0);
  return corrections_[number] = correction;
}

Tensor Update::ValueOf(const RateSchedule& schedule) {
  Tensor& value = scheduled_[schedule.identity()];
  if (value.ok() || !StepNumber().ok()) return value;
  const Tensor since_first = Cast(Sub(next_step_, 1), DType::kF64, where_);
  return value = Cast(schedule.At(since_first), DType::kF32, where_);
}

Tensor Update::Near(const Tensor& scalar, const Tensor& like) {
  return Cast(IsPlaced(scalar) || IsPlaced(like) ? Copy(scalar, like, where_) : scalar, like.dtype(), where_);
}

Operand Update::Value(const Hyper& hyper, const Tensor& like) {
  if (hyper.is_number()) return Operand(hyper.number(), where_);
  if (std::string wrong = WrongIn({{"a hyper-parameter", hyper, {}}}); !wrong.empty()) {
    Fail(wrong);
    return Operand(Tensor(), where_);
  }
  const Tensor& tensor = hyper.schedule() ? ValueOf(*hyper.schedule()) : hyper.operand().tensor();
  const Tensor here = Cast(IsPlaced(tensor) ? Copy(tensor, like, where_) : tensor, like.dtype(), where_);
  return Operand(hyper.factor() == 1 ? here : Mul(here, hyper.factor()), where_);
}

Tensor Update::Counts() { return counts_.ok() ? counts_ : builder_.Full(DType::kI1, {}, 1, where_); }

void Update::Fail(std::string_view message) {
  if (!failed_)
    builder_.function()->graph().Error(where_, CallString(origin_.call, origin_.operands), message);
  failed_ = true;
}

void Update::Assign(const Variable& v, const Tensor& value) {
  Tensor next = Cast(value, v.dtype(), where_);
  if (counts_.ok() && next.ok()) {
    Tensor counts = IsPlaced(next) ? Copy(counts_, next, where_) : counts_;
    next = Select(At(counts), At(next), At(Read(v)));
  }
  builder_.Assign(v, next, where_);
}

void Update::AssignRows(const Variable& v, const Rows& rows, const Tensor& values) {
  const Tensor table = Read(v), next = Cast(values, v.dtype(), where_);
  Tensor numbers = rows.numbers;
  if (counts_.ok() && next.ok()) {
    // No row has this number, so that the table stays as it is.
    const Operand none(v.shape()[0], where_);
    numbers = Select(At(IsPlaced(next) ? Copy(counts_, next, where_) : counts_), At(numbers), none);
  }
  builder_.Assign(v, Rows{numbers}.In(table, next, where_), where_);
}

void Update::CountOnlyIf(const Tensor& counts) {
  if (!counts_.ok()) {
    counts_ = counts;
  } else {
    counts_ = At(counts_) && At(IsPlaced(counts_) ? Copy(counts, counts_, where_) : counts);
  }
}

}  // namespace sinter::optim
