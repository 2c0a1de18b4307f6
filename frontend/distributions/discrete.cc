#include "sinter/frontend/distributions/discrete.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/distributions/family_call.h"
#include "sinter/frontend/ops/special.h"

namespace sinter::distributions {

Bernoulli::Bernoulli(const Operand& logits, Where where) : Family("Bernoulli", {logits}, where) {}

Bernoulli Bernoulli::OfProbabilities(const Tensor& probabilities, Where where) {
  Tensor logits;
  {
    CompositeCall call("Bernoulli::OfProbabilities", where, {probabilities});
    if (call.ok()) logits = Log(probabilities) - Log1p(-probabilities);
  }
  return Bernoulli(logits, where);
}

Tensor Bernoulli::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  Draws draws(call.b(), options, where);
  const DType in = DrawnType(dtype());
  return Cast(draws.Uniform(in, Drawn(sample_shape)) < Sigmoid(Cast(p(0), in)), dtype());
}

Tensor Bernoulli::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Tensor& x = call.value();
  return x * LogSigmoid(p(0)) + (1.0 - x) * LogSigmoid(-p(0)) +
         LogIf(Equal(x, 0.0) || Equal(x, 1.0), dtype());
}

Tensor Bernoulli::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  return call.ok() ? Softplus(p(0)) - p(0) * Sigmoid(p(0)) : Tensor();
}

Tensor Bernoulli::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  return call.ok() ? Sigmoid(p(0)) : Tensor();
}

Tensor Bernoulli::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  return call.ok() ? Sigmoid(p(0)) * Sigmoid(-p(0)) : Tensor();
}

Tensor KlDivergence(const Bernoulli& p, const Bernoulli& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  const Tensor &a = p.p(0), &b = q.p(0);
  return Sigmoid(a) * (LogSigmoid(a) - LogSigmoid(b)) + Sigmoid(-a) * (LogSigmoid(-a) - LogSigmoid(-b));
}

namespace {

// The entropies of softmax(logits), and the divergences of two of them.
Tensor EntropyOf(const Tensor& logits) {
  const Tensor probabilities = Softmax(logits);
  return -SumOfLast(probabilities * LogSoftmax(logits));
}
Tensor KlOf(const Tensor& a, const Tensor& b) {
  return SumOfLast(Softmax(a) * (LogSoftmax(a) - LogSoftmax(b)));
}

}  // namespace

Categorical::Categorical(const Tensor& logits, Where where) : Family("Categorical", {logits}, where, 1) {}

Tensor Categorical::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  return call.ok() ? RandomCategorical(BroadcastTo(p(0), Drawn(sample_shape)), options, where) : Tensor();
}

Tensor Categorical::LogProb(const Tensor& classes, Where where) const {
  if (!ok()) return {};  // The graph keeps the error.
  CompositeCall call("Categorical::LogProb", where, {p(0), classes});
  if (!call.ok()) return {};
  if (classes.dtype() != DType::kI32 && classes.dtype() != DType::kI64) {
    return call.Fail("takes i32 or i64 classes; Cast(classes, I32) first");
  }
  const Shape batch = batch_shape();
  Shape logits = classes.shape();
  if (logits.size() < batch.size() || !std::equal(batch.rbegin(), batch.rend(), logits.rbegin())) {
    return call.Fail(absl::StrCat("takes classes whose shape ends with that of ", TypeString(I32, batch)));
  }
  logits.push_back(p(0).dim(-1));
  const Tensor log_p = BroadcastTo(LogSoftmax(p(0)), logits);
  return Squeeze(TakeAlong(log_p, ExpandDims(classes, -1), -1), -1);
}

Tensor Categorical::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  return call.ok() ? EntropyOf(p(0)) : Tensor();
}

Tensor Categorical::Probabilities(Where where) const {
  FamilyCall call(*this, "Probabilities", where);
  return call.ok() ? Softmax(p(0)) : Tensor();
}

Tensor Categorical::Mode(Where where) const {
  FamilyCall call(*this, "Mode", where);
  return call.ok() ? ArgMax(p(0), -1) : Tensor();
}

Tensor KlDivergence(const Categorical& p, const Categorical& q, Where where) {
  PairCall call(p, q, where);
  return call.ok() ? KlOf(p.p(0), q.p(0)) : Tensor();
}

OneHotCategorical::OneHotCategorical(const Tensor& logits, Where where)
    : Family("OneHotCategorical", {logits}, where, 1) {}

Tensor OneHotCategorical::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  const Tensor classes = RandomCategorical(BroadcastTo(p(0), Drawn(sample_shape)), options, where);
  return OneHot(classes, p(0).dim(-1), dtype());
}

Tensor OneHotCategorical::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  return call.ok() ? SumOfLast(call.value() * LogSoftmax(p(0))) : Tensor();
}

Tensor OneHotCategorical::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  return call.ok() ? EntropyOf(p(0)) : Tensor();
}

Tensor OneHotCategorical::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  return call.ok() ? Softmax(p(0)) : Tensor();
}

Tensor OneHotCategorical::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  if (!call.ok()) return {};
  const Tensor mean = Softmax(p(0));
  return mean * (1.0 - mean);
}

Tensor KlDivergence(const OneHotCategorical& p, const OneHotCategorical& q, Where where) {
  PairCall call(p, q, where);
  return call.ok() ? KlOf(p.p(0), q.p(0)) : Tensor();
}

Geometric::Geometric(const Operand& probability, Where where) : Family("Geometric", {probability}, where) {}

Tensor Geometric::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  return StopGradient(Floor(Log(Uniforms(call, Drawn(sample_shape), options, where)) / Log1p(-p(0))));
}

Tensor Geometric::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Inside in(call.value(), call.value() >= 0.0, 0.0);
  return in.x * Log1p(-p(0)) + Log(p(0)) + in.log;
}

Tensor Geometric::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  return call.ok() ? -Log(p(0)) - (1.0 - p(0)) / p(0) * Log1p(-p(0)) : Tensor();
}

Tensor Geometric::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  return call.ok() ? (1.0 - p(0)) / p(0) : Tensor();
}

Tensor Geometric::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  return call.ok() ? (1.0 - p(0)) / Square(p(0)) : Tensor();
}

Tensor KlDivergence(const Geometric& p, const Geometric& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  const Tensor mean = (1.0 - p.p(0)) / p.p(0);
  return Log(p.p(0) / q.p(0)) + mean * (Log1p(-p.p(0)) - Log1p(-q.p(0)));
}

Binomial::Binomial(int64_t count, const Operand& probability, Where where)
    : Family("Binomial", {probability}, where), count_(count) {
  constexpr int64_t kMostTries = 4096;
  if (!ok() || (count >= 0 && count <= kMostTries)) return;
  FamilyCall call(*this, "Binomial", where);
  if (call.ok()) call.Fail(absl::StrCat("makes ", count, " tries; expected 0 to ", kMostTries));
  parameters_.clear();
}

Tensor Binomial::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  if (!call.ok()) return {};
  Shape tries = Drawn(sample_shape);
  tries.push_back(count_);
  Draws draws(call.b(), options, where);
  const DType in = DrawnType(dtype());
  const Tensor is_success = draws.Uniform(in, tries) < ExpandDims(Cast(p(0), in), -1);
  return Cast(SumOfLast(Cast(is_success, in)), dtype());
}

namespace {

// The logarithms of the probabilities of counts.
Tensor LogProbOfCounts(const Tensor& x, const Tensor& probability, double count) {
  return std::lgamma(count + 1) - LogGamma(x + 1.0) - LogGamma(count + 1 - x) + XLogY(x, probability) +
         XLogY(count - x, 1.0 - probability);
}

}  // namespace

Tensor Binomial::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const auto count = static_cast<double>(count_);
  const Inside in(call.value(), call.value() >= 0.0 && call.value() <= count, 0.0);
  return LogProbOfCounts(in.x, p(0), count) + in.log;
}

Tensor Binomial::Entropy(Where where) const {
  FamilyCall call(*this, "Entropy", where);
  if (!call.ok()) return {};
  const Tensor counts = Cast(call.b().Iota(I32, {count_ + 1}), dtype());
  const Tensor log_p = LogProbOfCounts(counts, ExpandDims(p(0), -1), static_cast<double>(count_));
  return -SumOfLast(Exp(log_p) * log_p);
}

Tensor Binomial::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  return call.ok() ? p(0) * static_cast<double>(count_) : Tensor();
}

Tensor Binomial::Variance(Where where) const {
  FamilyCall call(*this, "Variance", where);
  return call.ok() ? p(0) * (1.0 - p(0)) * static_cast<double>(count_) : Tensor();
}

Tensor KlDivergence(const Binomial& p, const Binomial& q, Where where) {
  PairCall call(p, q, where);
  if (!call.ok()) return {};
  if (p.count_ != q.count_) {
    return call.Fail(absl::StrCat("takes binomials of one count, got ", p.count_, " and ", q.count_));
  }
  const Tensor &a = p.p(0), &b = q.p(0);
  return static_cast<double>(p.count_) *
         (XLogY(a, a) - XLogY(a, b) + XLogY(1.0 - a, 1.0 - a) - XLogY(1.0 - a, 1.0 - b));
}

Poisson::Poisson(const Operand& rate, Where where) : Family("Poisson", {rate}, where) {}

Tensor Poisson::Sample(const Shape& sample_shape, const RandomOptions& options, Where where) const {
  FamilyCall call(*this, "Sample", where);
  return call.ok() ? RandomPoisson(BroadcastTo(p(0), Drawn(sample_shape)), options, where) : Tensor();
}

Tensor Poisson::LogProb(const Operand& value, Where where) const {
  FamilyCall call(*this, "LogProb", where, {value});
  if (!call.ok()) return {};
  const Inside in(call.value(), call.value() >= 0.0, 0.0);
  return XLogY(in.x, p(0)) - p(0) - LogGamma(in.x + 1.0) + in.log;
}

Tensor Poisson::Mean(Where where) const {
  FamilyCall call(*this, "Mean", where);
  return call.ok() ? p(0) : Tensor();
}

Tensor Poisson::Variance(Where where) const { return Mean(where); }

Tensor KlDivergence(const Poisson& p, const Poisson& q, Where where) {
  PairCall call(p, q, where);
  return call.ok() ? p.p(0) * Log(p.p(0) / q.p(0)) - p.p(0) + q.p(0) : Tensor();
}

}  // namespace sinter::distributions
