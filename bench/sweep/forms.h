// The forms of the sweep, each written as a user writes it, with the public functions.
//
//   const SweepForm kForms[] = {{"relu", [](SweepCall& x) { x.Result("y", Relu(x["x"])); }}};
//
// bench/peers/sweep/torch_forms.py and jax_forms.py have the same forms under the same names. A form computes
// results; BuildDraw adds the gradients of the draw.
#ifndef SINTER_BENCH_SWEEP_FORMS_H_
#define SINTER_BENCH_SWEEP_FORMS_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sinter/bench/sweep/draw.h"

namespace sinter::bench {

// The operands and options of a call of a form, and its results.
class SweepCall {
 public:
  SweepCall(Builder& b, const Draw& draw, MathMode math);

  Builder& b;
  const Draw& draw;
  const MathMode math;  // Arithmetic of f32 products.

  // An operand's value, and its variable. The name must be one of the draw's.
  const Tensor& operator[](const std::string& name) const { return tensors_.at(name); }
  const Variable& VariableOf(const std::string& name) const { return variables_.at(name); }
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  // Options. The draw must have the option.
  double Real(const char* name) const { return draw.options.at(name); }
  int64_t Integer(const char* name) const { return draw.options.at(name); }
  Shape Integers(const char* name) const { return draw.options.at(name).get<Shape>(); }

  void Result(const std::string& name, const Tensor& value) { results_.emplace_back(name, value); }
  const std::vector<std::pair<std::string, Tensor>>& results() const { return results_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, Variable> variables_;
  std::vector<std::pair<std::string, Tensor>> results_;
};

struct SweepForm {
  std::string name;
  std::function<void(SweepCall&)> body;
};

std::span<const SweepForm> NormForms();
std::span<const SweepForm> LossForms();
std::span<const SweepForm> ReduceForms();
std::span<const SweepForm> IndexForms();
std::span<const SweepForm> LayoutForms();
std::span<const SweepForm> PointwiseForms();
std::span<const SweepForm> UpdateForms();
std::span<const SweepForm> ProductForms();
std::span<const SweepForm> ImageForms();

// x in f32 if it is narrower, as losses and norms by hand compute.
Tensor Wide(const Tensor& x);

// Returns a graph with one function "run" without inputs. Its outputs are the form's results, and "d:NAME"
// for the gradient of each operand in draw.wrt: that of the first result, or of its product with the operand
// "dy" if it has a rank. `bytes`, if not null, becomes the number of bytes of all operands and results.
// NotFound: no form of this name; InvalidArgument: an operand or option that the form needs is missing.
absl::StatusOr<Graph> BuildDraw(const Draw& draw, MathMode math, double* bytes = nullptr);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_SWEEP_FORMS_H_
