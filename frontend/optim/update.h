// One update of a function: the optimiser's variables, and arithmetic that carries the user's line.
// For Sinter's own sources only.
//
//   Update u(function, {"Minimize", {loss}, where}, find_owner);
//   Variable m = u.Slot(parameter, "m", parameter.shape());               // "adam/m/<parameter>", zeros.
//   u.Assign(m, u.Add(u.Mul(u.Read(m), 0.9), u.Mul(gradient, 0.1)));      // Unless the step does not count.
#ifndef SINTER_FRONTEND_OPTIM_UPDATE_H_
#define SINTER_FRONTEND_OPTIM_UPDATE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/hyper.h"

namespace sinter::optim {

struct Rows;

// True if the graph places the tensor on a device.
bool IsPlaced(const Tensor& x);

// The owner of an update's variables.
struct UpdateOwner {
  VariableOwner owner;
  std::string prefix;  // Prefix of the variables' names.
};

// Computes in f32 (f64 for f64 parameters).
class Update {
 public:
  // Decides on the optimiser when it first needs a variable; nullopt, with an error kept, if it cannot.
  using FindOwner = std::function<std::optional<UpdateOwner>(Call&)>;
  // The call that adds the update, for errors.
  struct Origin {
    std::string call;
    std::vector<Tensor> operands;
    Where where;
  };
  Update(FunctionBuilder* function, Origin origin, FindOwner find_owner)
      : builder_(function),
        origin_(std::move(origin)),
        where_(origin_.where),
        find_owner_(std::move(find_owner)) {}

  // False, with an error kept, if the optimiser cannot be decided on.
  bool FindsOwner();
  // Prefix of the optimiser's variables; only after FindsOwner.
  const std::string& prefix() const { return owner_->prefix; }
  // The parameter's slot of this name and of its compute type; starts at zero.
  Variable Slot(const Variable& parameter, std::string_view slot, const Shape& shape);
  // A slot that sums gradients over several runs.
  Variable Accumulator(const Variable& parameter, std::string_view slot);
  // A variable of the optimiser itself.
  Variable State(const std::string& name, DType dtype, const Shape& shape, double initial);
  // 1 - beta^t, where t is the number of the update, counted from 1, as f32. All parameters share one count.
  Tensor BiasCorrection(const Hyper& beta);
  // The number of this update, counted from 1, as f32.
  Tensor StepNumber();
  // The same as i64.
  Tensor StepCount() { return StepNumber().ok() ? next_step_ : Tensor(); }
  // The number of the update as the optimiser's variable has it after this one: i64.
  Tensor StepAfter();
  // The value of a hyper-parameter in this update, in the type and on the device of `like`, or as a number.
  Operand Value(const Hyper& hyper, const Tensor& like);
  // A tensor of rank 0 in the type and on the device of `like`.
  Tensor Near(const Tensor& scalar, const Tensor& like);
  Tensor Read(const Variable& v) { return builder_.Read(v, where_); }
  // Assigns a new value, unless the step does not count.
  void Assign(const Variable& v, const Tensor& value);
  // Assigns new values to these rows.
  void AssignRows(const Variable& v, const Rows& rows, const Tensor& values);
  void AssignAlways(const Variable& v, const Tensor& value) { builder_.Assign(v, value, where_); }
  // Makes later Assign calls keep the old values if `counts`, i1[], is false at run time.
  void CountOnlyIf(const Tensor& counts);
  // i1[], as CountOnlyIf had it; true if it was never called.
  Tensor Counts();
  // Keeps an error, the first of this update; `message` is the rest of a sentence.
  void Fail(std::string_view message);
  bool failed() const { return failed_; }
  static DType ComputeType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  Tensor Add(Operand x, Operand y) { return At(x) + At(y); }
  Tensor Sub(Operand x, Operand y) { return At(x) - At(y); }
  Tensor Mul(Operand x, Operand y) { return At(x) * At(y); }
  Tensor Div(Operand x, Operand y) { return At(x) / At(y); }
  Operand At(const Operand& x) {
    return x.is_tensor() ? Operand(x.tensor(), where_) : Operand(x.number(), where_);
  }
  Builder& builder() { return builder_; }
  // For calls that come after the update.
  void set_where(Where where) { where_ = where; }
  Where where() const { return where_; }

 private:
  // Returns the value of a schedule in this update, as f32.
  Tensor ValueOf(const RateSchedule& schedule);

  Builder builder_;
  Origin origin_;
  Where where_;
  FindOwner find_owner_;
  std::optional<UpdateOwner> owner_;
  bool failed_ = false;
  Tensor counts_;  // Not ok: every step counts.
  Variable step_variable_;
  Tensor step_, next_step_;                  // As f32, as i64.
  std::map<double, Tensor> corrections_;     // Keyed by beta.
  std::map<const void*, Tensor> scheduled_;  // Keyed by the schedule's identity.
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_UPDATE_H_
