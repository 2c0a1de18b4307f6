// Families with a location and a scale.
#include "sinter/frontend/distributions/continuous.h"

#include <numbers>

#include "sinter/frontend/distributions/family_call.h"
#include "sinter/frontend/ops/special.h"

namespace sinter::distributions {

Normal::Normal(const Operand& loc, const Operand& scale, Where where)
    : Family("Normal", {loc, scale}, where) {}

Tensor Normal::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return p(0) + p(1) * Normals(call, Drawn(sample_shape), options, where);
}

Tensor Normal::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return Square((x - p(0)) / p(1)) * -0.5 - Log(p(1)) - kHalfLog2Pi;
}

Tensor Normal::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return Erf((x - p(0)) / p(1) * (1 / std::numbers::sqrt2)) * 0.5 + 0.5;
}

Tensor Normal::Quantile(const Operand& value, Where where) const {
  FamilyCall call(*this, "Quantile", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return p(0) + p(1) * ErfInv(x * 2.0 - 1.0) * std::numbers::sqrt2;
}

Tensor Normal::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return Log(p(1)) + (0.5 + kHalfLog2Pi);
}

Tensor Normal::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0);
}

Tensor Normal::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return Square(p(1));
}

Tensor KlDivergence(const Normal& p, const Normal& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return KlOfNormals(p.p(0), p.p(1), q.p(0), q.p(1));
}

LogNormal::LogNormal(const Operand& loc, const Operand& scale, Where where)
    : Family("LogNormal", {loc, scale}, where) {}

Tensor LogNormal::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return Exp(p(0) + p(1) * Normals(call, Drawn(sample_shape), options, where));
}

Tensor LogNormal::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Inside in(x, x > 0.0, 1.0);
  const Tensor log_x = Log(in.x);
  return Square((log_x - p(0)) / p(1)) * -0.5 - Log(p(1)) - kHalfLog2Pi - log_x + in.log;
}

Tensor LogNormal::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Inside in(x, x > 0.0, 1.0);
  return Select(x > 0.0, Erf((Log(in.x) - p(0)) / p(1) * (1 / std::numbers::sqrt2)) * 0.5 + 0.5, 0.0);
}

Tensor LogNormal::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return p(0) + Log(p(1)) + (0.5 + kHalfLog2Pi);
}

Tensor LogNormal::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return Exp(p(0) + Square(p(1)) * 0.5);
}

Tensor LogNormal::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return Expm1(Square(p(1))) * Exp(2.0 * p(0) + Square(p(1)));
}

Tensor KlDivergence(const LogNormal& p, const LogNormal& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return KlOfNormals(p.p(0), p.p(1), q.p(0), q.p(1));
}

Uniform::Uniform(const Operand& low, const Operand& high, Where where)
    : Family("Uniform", {low, high}, where) {}

Tensor Uniform::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return p(0) + (p(1) - p(0)) * Uniforms(call, Drawn(sample_shape), options, where);
}

Tensor Uniform::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return LogIf(x >= p(0) && x < p(1), dtype()) - Log(p(1) - p(0));
}

Tensor Uniform::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return Clamp((x - p(0)) / (p(1) - p(0)), 0, 1);
}

Tensor Uniform::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return Log(p(1) - p(0));
}

Tensor Uniform::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return (p(0) + p(1)) * 0.5;
}

Tensor Uniform::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return Square(p(1) - p(0)) * (1.0 / 12);
}

Tensor KlDivergence(const Uniform& p, const Uniform& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return Log((q.p(1) - q.p(0)) / (p.p(1) - p.p(0))) - LogIf(q.p(0) <= p.p(0) && p.p(1) <= q.p(1), p.dtype());
}

Laplace::Laplace(const Operand& loc, const Operand& scale, Where where)
    : Family("Laplace", {loc, scale}, where) {}

Tensor Laplace::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  const Tensor u = Uniforms(call, Drawn(sample_shape), options, where) - 0.5;
  const Tensor size = -Log(Maximum(1.0 - 2.0 * Abs(u), kLeastUniform));
  return p(0) + p(1) * Select(u < 0.0, -size, size);
}

Tensor Laplace::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return -Abs((x - p(0)) / p(1)) - Log(2.0 * p(1));
}

Tensor Laplace::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Tensor z = (x - p(0)) / p(1);
  return 0.5 - 0.5 * Sign(z) * Expm1(-Abs(z));
}

Tensor Laplace::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return Log(2.0 * p(1)) + 1.0;
}

Tensor Laplace::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0);
}

Tensor Laplace::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return 2.0 * Square(p(1));
}

Tensor KlDivergence(const Laplace& p, const Laplace& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  const Tensor distance = Abs(p.p(0) - q.p(0));
  return Log(q.p(1) / p.p(1)) + distance / q.p(1) + p.p(1) / q.p(1) * Exp(-distance / p.p(1)) - 1.0;
}

Cauchy::Cauchy(const Operand& loc, const Operand& scale, Where where)
    : Family("Cauchy", {loc, scale}, where) {}

Tensor Cauchy::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return p(0) + p(1) * Tan((Uniforms(call, Drawn(sample_shape), options, where) - 0.5) * std::numbers::pi);
}

Tensor Cauchy::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return -Log(std::numbers::pi * p(1)) - Log1p(Square((x - p(0)) / p(1)));
}

Tensor Cauchy::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return Atan((x - p(0)) / p(1)) * std::numbers::inv_pi + 0.5;
}

Tensor Cauchy::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return Log((4 * std::numbers::pi) * p(1));
}

Tensor KlDivergence(const Cauchy& p, const Cauchy& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return Log((Square(p.p(1) + q.p(1)) + Square(p.p(0) - q.p(0))) / (4.0 * p.p(1) * q.p(1)));
}

Gumbel::Gumbel(const Operand& loc, const Operand& scale, Where where)
    : Family("Gumbel", {loc, scale}, where) {}

Tensor Gumbel::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return p(0) - p(1) * Log(-Log(Uniforms(call, Drawn(sample_shape), options, where)));
}

Tensor Gumbel::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Tensor z = (x - p(0)) / p(1);
  return -z - Exp(-z) - Log(p(1));
}

Tensor Gumbel::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return Exp(-Exp(-(x - p(0)) / p(1)));
}

Tensor Gumbel::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return Log(p(1)) + (std::numbers::egamma + 1);
}

Tensor Gumbel::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0) + std::numbers::egamma * p(1);
}

Tensor Gumbel::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return Square(p(1)) * (std::numbers::pi * std::numbers::pi / 6);
}

Tensor KlDivergence(const Gumbel& p, const Gumbel& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  const Tensor ratio = p.p(1) / q.p(1), distance = (p.p(0) - q.p(0)) / q.p(1);
  return distance - Log(ratio) + ratio * std::numbers::egamma + Exp(LogGamma(ratio + 1.0) - distance) -
         (1 + std::numbers::egamma);
}

MultivariateNormal::MultivariateNormal(const Operand& loc, const Operand& scale, Where where)
    : Family("MultivariateNormal", {loc, scale}, where, 1) {}

Tensor MultivariateNormal::Sample(const Shape& sample_shape, const RandomOptions& options,
                                  Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return p(0) + p(1) * Normals(call, Drawn(sample_shape), options, where);
}

Tensor MultivariateNormal::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return SumOfLast(Square((x - p(0)) / p(1)) * -0.5 - Log(p(1)) - kHalfLog2Pi);
}

Tensor MultivariateNormal::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return SumOfLast(Log(p(1)) + (0.5 + kHalfLog2Pi));
}

Tensor MultivariateNormal::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0);
}

Tensor MultivariateNormal::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return Square(p(1));
}

Tensor KlDivergence(const MultivariateNormal& p, const MultivariateNormal& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return SumOfLast(KlOfNormals(p.p(0), p.p(1), q.p(0), q.p(1)));
}

}  // namespace sinter::distributions
