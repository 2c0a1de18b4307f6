#include "sinter/frontend/random/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/special.h"
#include "sinter/frontend/random/draws.h"

namespace sinter {
namespace {

// Calls make(draws, the type to draw in) as a call of this name that gives floats.
template <typename Make>
Tensor OfShape(std::string_view name, Builder& b, DType dtype, const Shape& shape, const std::string& wrong,
               const RandomOptions& options, Where where, Make make) {
  Call call(name, where, b.function());
  if (!call.ok()) return {};
  if (!IsFloat(dtype)) return call.Fail(absl::StrCat("gives floats, not ", std::string(DTypeName(dtype))));
  if (!wrong.empty()) return call.Fail(wrong);
  if (!call.CheckShape(dtype, shape)) return {};
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr(name));
  Draws draws(b, options, where);
  return Cast(make(draws, DrawnType(dtype)), dtype);
}

// Calls make(draws, the parameters in the type to draw in) as a call of this name.
template <typename Make>
Tensor OfParameters(std::string_view name, const std::vector<Tensor>& parameters,
                    const RandomOptions& options, Where where, Make make, int64_t least_rank = 0) {
  CompositeCall call(name, where, parameters);
  if (!call.ok()) return {};
  std::vector<Tensor> drawn;
  for (const Tensor& p : parameters) {
    if (!IsFloat(p.dtype()) || p.dtype() != parameters[0].dtype() || p.shape() != parameters[0].shape()) {
      return call.Fail(parameters.size() == 1 ? "takes floats; Cast(x, F32) first"
                                              : "takes floats of one type and shape");
    }
    drawn.push_back(Cast(p, DrawnType(p.dtype())));
  }
  if (drawn[0].rank() < least_rank) return call.Fail("takes a tensor of rank 1 or more, classes last");
  Draws draws(Builder(drawn[0].function()), options, where);
  return make(draws, drawn);
}

std::string WrongScale(double loc, double scale) {
  const std::string wrong = OutOfBounds("a loc", loc, {});
  return wrong.empty() ? OutOfBounds("a scale", scale, {.above = 0}) : wrong;
}

// Inversion, with the probabilities of all counts up to 63, for means below 10.
Tensor SmallPoisson(Draws& draws, const Tensor& mean) {
  constexpr int64_t kCounts = 64;
  const Tensor u = ExpandDims(draws.Uniform(F64, mean.shape()), -1);
  Shape counted = mean.shape();
  counted.push_back(kCounts);
  std::vector<double> log_factorials;
  for (int64_t k = 0; k < kCounts; ++k) log_factorials.push_back(std::lgamma(static_cast<double>(k + 1)));
  const Tensor m = ExpandDims(mean, -1);
  const Tensor k = draws.b().Iota(F64, {kCounts});
  const Tensor p =
      Exp(XLogY(k, m) - m - draws.b().Constant(*HostTensor::FromVector<double>({kCounts}, log_factorials)));
  return Sum(Cast(CumSum(p, -1) <= u, F64), {-1});
}

// Hoermann's PTRS, for means of at least 10. The names are those of the paper.
Tensor LargePoisson(Draws& draws, const Tensor& mean) {
  constexpr int64_t kTries = 16;
  Shape tries = mean.shape();
  tries.insert(tries.begin(), kTries);
  const Tensor b = 0.931 + 2.53 * Sqrt(mean), a = -0.059 + 0.02483 * b;
  const Tensor inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
  const Tensor u = draws.Uniform(F64, tries) - 0.5, v = Maximum(draws.Uniform(F64, tries), kLeastUniform);
  const Tensor us = Maximum(0.5 - Abs(u), 0x1p-53);
  const Tensor k = Floor((2.0 * a / us + b) * u + mean + 0.43);
  const Tensor is_possible = k >= 0.0 && !(us < 0.013 && v > us);
  const Tensor count = Maximum(k, 0.0);
  const Tensor is_below =
      Log(v * inverse_alpha / (a / Square(us) + b)) <= count * Log(mean) - mean - LogGamma(count + 1.0);
  const Tensor is_taken = (us >= 0.07 && v <= v_r) || (is_possible && is_below);
  const Tensor number = draws.b().Iota(I32, tries, 0);
  const Tensor first = Min(Select(is_taken, number, kTries), {0}, {.keep_dims = true});
  const Tensor taken = Sum(Select(Equal(number, first), count, 0.0), {0});
  return Select(Any(is_taken, {0}), taken, Round(mean));
}

}  // namespace

Tensor RandomInt(Builder& b, DType dtype, const Shape& shape, int64_t low, int64_t high,
                 const RandomOptions& options, Where where) {
  Call call("RandomInt", where, b.function());
  if (!call.ok()) return {};
  if (dtype != DType::kI32 && dtype != DType::kI64) return call.Fail("gives i32 or i64");
  if (low >= high) return call.Fail(absl::StrCat("needs low < high, got ", low, " and ", high));
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (count > uint64_t{1} << 53) return call.Fail(absl::StrCat("has ", count, " numbers, more than 2^53"));
  if (!call.CheckShape(dtype, shape)) return {};
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr("RandomInt"));
  Draws draws(b, options, where);
  const auto size = static_cast<double>(count);
  // The product may round to the size itself.
  const Tensor above = Minimum(Floor(draws.Uniform(F64, shape) * size), size - 1);
  return Cast(above, dtype) + low;
}

Tensor RandomChoice(Builder& b, int64_t n, int64_t k, const RandomOptions& options, Where where) {
  Call call("RandomChoice", where, b.function());
  if (!call.ok()) return {};
  if (k < 0 || k > n) {
    return call.Fail(absl::StrCat("takes ", k, " different numbers of ", n, "; expected 0 to ", n));
  }
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr("RandomChoice"));
  Draws draws(b, options, where);
  return SliceDim(draws.Permutation(I32, n), 0, 0, k);
}

Tensor RandomTruncatedNormal(Builder& b, DType dtype, const Shape& shape, double mean, double stddev,
                             const TruncatedNormalOptions& options, Where where) {
  std::string wrong = OutOfBounds("a mean", mean, {});
  if (wrong.empty()) wrong = OutOfBounds("a standard deviation", stddev, {.above = 0});
  const double low = std::erf(options.low / std::numbers::sqrt2);
  const double high = std::erf(options.high / std::numbers::sqrt2);
  if (wrong.empty() && !(low < high)) {
    wrong =
        absl::StrCat("needs low < high with numbers between them, got ", options.low, " and ", options.high);
  }
  return OfShape("RandomTruncatedNormal", b, dtype, shape, wrong, {options.key}, where,
                 [&](Draws& draws, DType) {
                   const Tensor p = draws.Uniform(F64, shape) * (high - low) + low;
                   const Tensor x = ErfInv(p) * std::numbers::sqrt2;
                   const auto bound = [](double limit) { return std::clamp(limit, -1e300, 1e300); };
                   return Clamp(x, bound(options.low), bound(options.high)) * stddev + mean;
                 });
}

Tensor RandomExponential(Builder& b, DType dtype, const Shape& shape, double rate,
                         const RandomOptions& options, Where where) {
  return OfShape("RandomExponential", b, dtype, shape, OutOfBounds("a rate", rate, {.above = 0}), options,
                 where,
                 [&](Draws& draws, DType in) { return -Log1p(-draws.Uniform(in, shape)) * (1 / rate); });
}

Tensor RandomLaplace(Builder& b, DType dtype, const Shape& shape, double loc, double scale,
                     const RandomOptions& options, Where where) {
  return OfShape("RandomLaplace", b, dtype, shape, WrongScale(loc, scale), options, where,
                 [&](Draws& draws, DType in) {
                   const Tensor p = draws.Uniform(in, shape) - 0.5;
                   const Tensor size = -Log(Maximum(1.0 - 2.0 * Abs(p), kLeastUniform));
                   return Select(p < 0.0, -size, size) * scale + loc;
                 });
}

Tensor RandomGumbel(Builder& b, DType dtype, const Shape& shape, double loc, double scale,
                    const RandomOptions& options, Where where) {
  return OfShape("RandomGumbel", b, dtype, shape, WrongScale(loc, scale), options, where,
                 [&](Draws& draws, DType in) { return draws.Gumbel(in, shape) * scale + loc; });
}

Tensor RandomCauchy(Builder& b, DType dtype, const Shape& shape, double loc, double scale,
                    const RandomOptions& options, Where where) {
  return OfShape("RandomCauchy", b, dtype, shape, WrongScale(loc, scale), options, where,
                 [&](Draws& draws, DType in) {
                   return Tan((draws.Positive(in, shape) - 0.5) * std::numbers::pi) * scale + loc;
                 });
}

Tensor RandomCategorical(const Tensor& logits, const RandomOptions& options, Where where) {
  return OfParameters(
      "RandomCategorical", {logits}, options, where,
      [&](Draws& draws, const std::vector<Tensor>& p) {
        return ArgMax(p[0] + draws.Gumbel(p[0].dtype(), p[0].shape()), -1);
      },
      1);
}

Tensor GumbelSoftmax(const Tensor& logits, double temperature, const GumbelSoftmaxOptions& options,
                     Where where) {
  CompositeCall call("GumbelSoftmax", where, {logits});
  if (!call.ok()) return {};
  const std::string wrong = OutOfBounds("a temperature", temperature, {.above = 0});
  if (!wrong.empty()) return call.Fail(wrong);
  return OfParameters(
      "GumbelSoftmax", {logits}, {options.key}, where,
      [&](Draws& draws, const std::vector<Tensor>& p) {
        const Tensor score = p[0] + draws.Gumbel(p[0].dtype(), p[0].shape());
        const Tensor soft = Cast(Softmax(score * (1 / temperature)), logits.dtype());
        if (!options.hard) return soft;
        const Tensor chosen = OneHot(ArgMax(score, -1), logits.dim(-1), logits.dtype());
        return chosen + (soft - StopGradient(soft));
      },
      1);
}

Tensor RandomSubset(const Tensor& logits, int64_t k, const RandomOptions& options, Where where) {
  return OfParameters(
      "RandomSubset", {logits}, options, where,
      [&](Draws& draws, const std::vector<Tensor>& p) {
        return TopK(p[0] + draws.Gumbel(p[0].dtype(), p[0].shape()), k, where).positions;
      },
      1);
}

Tensor RandomLogGamma(const Tensor& concentration, const RandomOptions& options, Where where) {
  return OfParameters("RandomLogGamma", {concentration}, options, where,
                      [&](Draws& draws, const std::vector<Tensor>& p) {
                        return Cast(draws.LogGamma(p[0]), concentration.dtype());
                      });
}

Tensor RandomGamma(const Tensor& concentration, const Operand& rate, const RandomOptions& options,
                   Where where) {
  return OfParameters("RandomGamma", {concentration}, options, where,
                      [&](Draws& draws, const std::vector<Tensor>& p) {
                        return Cast(Exp(draws.LogGamma(p[0])), concentration.dtype()) / rate;
                      });
}

Tensor RandomBeta(const Tensor& alpha, const Tensor& beta, const RandomOptions& options, Where where) {
  return OfParameters("RandomBeta", {alpha, beta}, options, where,
                      [&](Draws& draws, const std::vector<Tensor>& p) {
                        const Tensor x = draws.LogGamma(p[0]);
                        return Cast(Sigmoid(x - draws.LogGamma(p[1])), alpha.dtype());
                      });
}

Tensor RandomDirichlet(const Tensor& concentration, const RandomOptions& options, Where where) {
  return OfParameters(
      "RandomDirichlet", {concentration}, options, where,
      [&](Draws& draws, const std::vector<Tensor>& p) {
        return Cast(Softmax(draws.LogGamma(p[0])), concentration.dtype());
      },
      1);
}

Tensor RandomStudentT(const Tensor& degrees, const RandomOptions& options, Where where) {
  return OfParameters(
      "RandomStudentT", {degrees}, options, where, [&](Draws& draws, const std::vector<Tensor>& p) {
        const Tensor half = p[0] * 0.5;
        const Tensor log_scale = (Log(half) - draws.LogGamma(half)) * 0.5;
        return Cast(draws.Normal(half.dtype(), half.shape()) * Exp(log_scale), degrees.dtype());
      });
}

Tensor RandomPoisson(const Tensor& mean, const RandomOptions& options, Where where) {
  return OfParameters("RandomPoisson", {mean}, options, where,
                      [&](Draws& draws, const std::vector<Tensor>& p) {
                        const Tensor m = Cast(StopGradient(p[0]), F64);
                        const Tensor small = SmallPoisson(draws, Clamp(m, 0, 10));
                        const Tensor large = LargePoisson(draws, Maximum(m, 10.0));
                        const Tensor count = Select(m < 10.0, small, large);
                        return Cast(Select(m >= 0.0, count, Log(Minimum(m, -1.0))), mean.dtype());
                      });
}

}  // namespace sinter
