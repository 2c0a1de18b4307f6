#include "sinter/frontend/optim/hooks.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/optim/global_norm.h"
#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

namespace {

// Calls `change` for each parameter that the filter chooses, and sets its gradient to the result.
void ForEach(Gradients& g, const VariableFilter& of, const std::function<Tensor(size_t)>& change) {
  for (size_t i = 0; i < g.size(); ++i) {
    if (!of || of(g.variable(i))) g.Set(i, change(i));
  }
}

Operand Negative(const Operand& x) { return x.is_tensor() ? Operand(-x) : Operand(-x.number().real()); }

Tensor LarsOf(Gradients& g, const LarsOptions& o, size_t i) {
  const Operand decay = g.At(o.decay, i), trust = g.At(o.trust, i);
  const Tensor of_p = Norm(g.WholeValue(i)), of_g = Norm(g[i]);
  const bool decays = !o.decay.is_zero();
  const Tensor divisor = decays ? of_g + of_p * decay : of_g;
  const Tensor has_both = of_p > 0 && divisor > 0;
  const Tensor factor = Select(has_both, of_p * trust / Select(has_both, divisor, 1), 1);
  return (decays ? g[i] + g.value(i) * decay : g[i]) * factor;
}

}  // namespace

Gradients::Gradients(Update& update, std::vector<Variable> variables, std::vector<Tensor> values,
                     std::vector<Tensor> gradients, std::set<size_t> touched_only)
    : update_(&update),
      variables_(std::move(variables)),
      values_(std::move(values)),
      gradients_(std::move(gradients)),
      touched_only_(std::move(touched_only)) {}

void Gradients::Set(size_t i, const Tensor& gradient) {
  const Tensor& old = gradients_[i];
  if (gradient.ok() && old.ok() && (gradient.shape() != old.shape() || gradient.dtype() != old.dtype())) {
    return Fail(absl::StrCat("has a hook that changes the gradient of \"", variables_[i].name(), "\" from ",
                             old.ToString(), " to ", gradient.ToString(),
                             "; a hook may change its elements only"));
  }
  gradients_[i] = gradient;
  norm_ = {};
}

Tensor Gradients::WholeValue(size_t i) {
  if (!has_touched_rows_only(i)) return values_[i];
  return Cast(update_->Read(variables_[i]), values_[i].dtype());
}

Tensor Gradients::Norm() {
  if (norm_.ok() || gradients_.empty()) return norm_;
  return norm_ = GlobalNorm(gradients_, update_->where());
}

Tensor Gradients::Step() { return update_->StepNumber(); }
Operand Gradients::At(const Hyper& hyper, size_t i) { return update_->Value(hyper, gradients_[i]); }
Tensor Gradients::Near(const Tensor& scalar, size_t i) { return update_->Near(scalar, gradients_[i]); }
Tensor Gradients::RandomLike(size_t i) {
  const Tensor& g = gradients_[i];
  return update_->builder().RandomNormal(g.dtype(), g.shape());
}
void Gradients::Fail(std::string_view message) { update_->Fail(message); }

std::string Hook::wrong() const {
  if (!run_) return "has a hook without a function";
  const std::string wrong = WrongIn(hypers_);
  return wrong.empty() ? "" : absl::StrCat("has a hook, ", name_, ", that ", wrong);
}

Hook Decay(Hyper rate, VariableFilter of) {
  return Hook("Decay", {{"a rate", rate, {.low = 0}}}, [rate, of = std::move(of)](Gradients& g) {
    ForEach(g, of, [&](size_t i) { return g[i] + g.value(i) * g.At(rate, i); });
  });
}

Hook Lasso(Hyper rate, VariableFilter of) {
  return Hook("Lasso", {{"a rate", rate, {.low = 0}}}, [rate, of = std::move(of)](Gradients& g) {
    ForEach(g, of, [&](size_t i) { return g[i] + Sign(g.value(i)) * g.At(rate, i); });
  });
}

Hook ClipNorm(Hyper most) {
  return Hook("ClipNorm", {{"a norm", most, {.above = 0}}}, [most](Gradients& g) {
    if (g.size() == 0) return;
    const Tensor norm = g.Norm();
    // A norm of 0 divides to infinity, and the minimum makes the factor 1.
    const Operand limit =
        most.is_number() ? Operand(most.number()) : Operand(Cast(g.At(most, 0).tensor(), norm.dtype()));
    const Tensor factor = Minimum(limit / norm, 1.0);
    ForEach(g, {}, [&](size_t i) { return g[i] * g.Near(factor, i); });
  });
}

Hook ClipValue(Hyper most) {
  return Hook("ClipValue", {{"a value", most, {.above = 0}}}, [most](Gradients& g) {
    ForEach(g, {}, [&](size_t i) {
      const Operand limit = g.At(most, i);
      return Maximum(Minimum(g[i], limit), Negative(limit));
    });
  });
}

Hook Noise(Hyper eta, Hyper gamma) {
  return Hook("Noise", {{"an eta", eta, {.low = 0}}, {"a gamma", gamma, {.low = 0}}},
              [eta, gamma](Gradients& g) {
                const Tensor t = g.Step();  // 1 + t, with t counted from 0.
                ForEach(g, {}, [&](size_t i) {
                  const Tensor deviation = Sqrt(g.At(eta, i) / Pow(g.Near(t, i), g.At(gamma, i)));
                  return g[i] + g.RandomLike(i) * deviation;
                });
              });
}

Hook Lars(const LarsOptions& options) {
  return Hook(
      "Lars", {{"a trust", options.trust, {.low = 0}}, {"a decay", options.decay, {.low = 0}}},
      [options](Gradients& g) { ForEach(g, options.of, [&](size_t i) { return LarsOf(g, options, i); }); });
}

}  // namespace sinter::optim
