// One update of a function: the optimiser's variables, and arithmetic that carries the user's line.
// For Sinter's own sources only.
//
//   Update u(function, {owner, "adam"}, where);
//   Variable m = u.Slot(parameter, "m");                                  // "adam/m/<parameter>", zeros.
//   u.Assign(m, u.Add(u.Mul(u.Read(m), 0.9), u.Mul(gradient, 0.1)));      // Unless the step does not count.
#ifndef SINTER_FRONTEND_OPTIM_UPDATE_H_
#define SINTER_FRONTEND_OPTIM_UPDATE_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::optim {

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
  Update(FunctionBuilder* function, UpdateOwner owner, Where where)
      : builder_(function), owner_(std::move(owner)), where_(where) {}

  // The parameter's slot of this name; starts at zero.
  Variable Slot(const Variable& parameter, std::string_view slot);
  // A slot that sums gradients over several runs.
  Variable Accumulator(const Variable& parameter, std::string_view slot);
  // A variable of the optimiser itself.
  Variable State(const std::string& name, DType dtype, const Shape& shape, double initial);
  // 1 - beta^t, where t is the number of the update, counted from 1. All parameters share one count.
  Tensor BiasCorrection(double beta);
  // The number of this update, counted from 1, as f32.
  Tensor StepNumber();
  Tensor Read(const Variable& v) { return builder_.Read(v, where_); }
  // Assigns a new value, unless the step does not count.
  void Assign(const Variable& v, const Tensor& value);
  void AssignAlways(const Variable& v, const Tensor& value) { builder_.Assign(v, value, where_); }
  // Makes later Assign calls keep the old values if `counts`, i1[], is false at run time.
  void CountOnlyIf(const Tensor& counts);
  static DType ComputeType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  Tensor Add(Operand x, Operand y) { return At(x) + At(y); }
  Tensor Sub(Operand x, Operand y) { return At(x) - At(y); }
  Tensor Mul(Operand x, Operand y) { return At(x) * At(y); }
  Tensor Div(Operand x, Operand y) { return At(x) / At(y); }
  Operand At(const Operand& x) {
    return x.is_tensor() ? Operand(x.tensor(), where_) : Operand(x.number(), where_);
  }
  Where where() const { return where_; }

 private:
  Builder builder_;
  UpdateOwner owner_;
  Where where_;
  Tensor counts_;  // Not ok: every step counts.
  Tensor step_;
  std::map<double, Tensor> corrections_;
};

// Returns a parameter's new value from its gradient. p, g and lr have the compute type.
using Rule = std::function<Tensor(Update& u, const Variable& variable, const Tensor& p, const Tensor& g,
                                  const Operand& lr)>;

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_UPDATE_H_
