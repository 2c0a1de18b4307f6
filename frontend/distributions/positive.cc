// Families of positive numbers, and those that are made of gamma numbers.
#include "sinter/frontend/distributions/continuous.h"

#include <numbers>

#include "sinter/frontend/distributions/family_call.h"
#include "sinter/frontend/ops/special.h"

namespace sinter::distributions {

StudentT::StudentT(const Operand& degrees, const Operand& loc, const Operand& scale, Where where)
    : Family("StudentT", {degrees, loc, scale}, where) {}

Tensor StudentT::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  const Tensor degrees = BroadcastTo(p(0), Drawn(sample_shape));
  return p(1) + p(2) * RandomStudentT(degrees, options, where);
}

Tensor StudentT::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Tensor half = (p(0) + 1.0) * 0.5, z = (x - p(1)) / p(2);
  return LogGamma(half) - LogGamma(p(0) * 0.5) - 0.5 * Log(std::numbers::pi * p(0)) - Log(p(2)) -
         half * Log1p(Square(z) / p(0));
}

Tensor StudentT::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  const Tensor half = (p(0) + 1.0) * 0.5, own = p(0) * 0.5;
  return Log(p(2)) + half * (Digamma(half) - Digamma(own)) + 0.5 * Log(p(0)) + LogBeta(own, own * 0.0 + 0.5);
}

Tensor StudentT::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return Select(p(0) > 1.0, p(1), Undefined(p(0)));
}

Tensor StudentT::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return Select(p(0) > 2.0, Square(p(2)) * p(0) / (p(0) - 2.0), Undefined(p(0)));
}

Exponential::Exponential(const Operand& rate, Where where) : Family("Exponential", {rate}, where) {}

Tensor Exponential::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return -Log(Uniforms(call, Drawn(sample_shape), options, where)) / p(0);
}

Tensor Exponential::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Inside in(x, x >= 0.0, 0.0);
  return Log(p(0)) - p(0) * in.x + in.log;
}

Tensor Exponential::Cdf(const Operand& value, Where where) const {
  FamilyCall call(*this, "Cdf", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return -Expm1(-p(0) * Maximum(x, 0.0));
}

Tensor Exponential::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return 1.0 - Log(p(0));
}

Tensor Exponential::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return 1.0 / p(0);
}

Tensor Exponential::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return 1.0 / Square(p(0));
}

Tensor KlDivergence(const Exponential& p, const Exponential& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return Log(p.p(0) / q.p(0)) + q.p(0) / p.p(0) - 1.0;
}

Gamma::Gamma(const Operand& concentration, const Operand& rate, Where where)
    : Family("Gamma", {concentration, rate}, where) {}

Tensor Gamma::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return RandomGamma(BroadcastTo(p(0), Drawn(sample_shape)), p(1), options, where);
}

Tensor Gamma::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Inside in(x, x > 0.0, 1.0);
  return XLogY(p(0), p(1)) + (p(0) - 1.0) * Log(in.x) - p(1) * in.x - LogGamma(p(0)) + in.log;
}

Tensor Gamma::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  return p(0) - Log(p(1)) + LogGamma(p(0)) + (1.0 - p(0)) * Digamma(p(0));
}

Tensor Gamma::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0) / p(1);
}

Tensor Gamma::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  return p(0) / Square(p(1));
}

Tensor KlDivergence(const Gamma& p, const Gamma& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  return q.p(0) * Log(p.p(1) / q.p(1)) + LogGamma(q.p(0)) - LogGamma(p.p(0)) +
         (p.p(0) - q.p(0)) * Digamma(p.p(0)) + (q.p(1) - p.p(1)) * p.p(0) / p.p(1);
}

Beta::Beta(const Operand& alpha, const Operand& beta, Where where) : Family("Beta", {alpha, beta}, where) {}

Tensor Beta::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  const Shape drawn = Drawn(sample_shape);
  return RandomBeta(BroadcastTo(p(0), drawn), BroadcastTo(p(1), drawn), options, where);
}

Tensor Beta::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Inside in(x, x > 0.0 && x < 1.0, 0.5);
  return (p(0) - 1.0) * Log(in.x) + (p(1) - 1.0) * Log1p(-in.x) - LogBeta(p(0), p(1)) + in.log;
}

Tensor Beta::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  const Tensor sum = p(0) + p(1);
  return LogBeta(p(0), p(1)) - (p(0) - 1.0) * Digamma(p(0)) - (p(1) - 1.0) * Digamma(p(1)) +
         (sum - 2.0) * Digamma(sum);
}

Tensor Beta::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0) / (p(0) + p(1));
}

Tensor Beta::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  const Tensor sum = p(0) + p(1);
  return p(0) * p(1) / (Square(sum) * (sum + 1.0));
}

Tensor KlDivergence(const Beta& p, const Beta& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  const Tensor a = p.p(0) - q.p(0), b = p.p(1) - q.p(1);
  return LogBeta(q.p(0), q.p(1)) - LogBeta(p.p(0), p.p(1)) + a * Digamma(p.p(0)) + b * Digamma(p.p(1)) -
         (a + b) * Digamma(p.p(0) + p.p(1));
}

Dirichlet::Dirichlet(const Operand& concentration, Where where)
    : Family("Dirichlet", {concentration}, where, 1) {}

Tensor Dirichlet::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return RandomDirichlet(BroadcastTo(p(0), Drawn(sample_shape)), options, where);
}

Tensor Dirichlet::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  const Inside in(x, x > 0.0, 0.5);
  return SumOfLast((p(0) - 1.0) * Log(in.x) - LogGamma(p(0)) + in.log) + LogGamma(SumOfLast(p(0)));
}

Tensor Dirichlet::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  const Tensor sum = SumOfLast(p(0));
  return SumOfLast(LogGamma(p(0)) - (p(0) - 1.0) * Digamma(p(0))) - LogGamma(sum) +
         (sum - static_cast<double>(p(0).dim(-1))) * Digamma(sum);
}

Tensor Dirichlet::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  if (!call.ok()) return {};
  return p(0) / Sum(p(0), {-1}, {.keep_dims = true});
}

Tensor Dirichlet::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  const Tensor sum = Sum(p(0), {-1}, {.keep_dims = true});
  const Tensor mean = p(0) / sum;
  return mean * (1.0 - mean) / (sum + 1.0);
}

Tensor KlDivergence(const Dirichlet& p, const Dirichlet& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  const Tensor sum = Sum(p.p(0), {-1}, {.keep_dims = true});
  return SumOfLast((p.p(0) - q.p(0)) * (Digamma(p.p(0)) - Digamma(sum)) - LogGamma(p.p(0)) +
                   LogGamma(q.p(0))) +
         LogGamma(SumOfLast(p.p(0))) - LogGamma(SumOfLast(q.p(0)));
}

}  // namespace sinter::distributions
