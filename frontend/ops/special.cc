#include "sinter/frontend/ops/special.h"

#include <cmath>
#include <initializer_list>
#include <numbers>

#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

using std::numbers::pi;

// Calls make(x in f64) as a call of this name.
template <typename Make>
Tensor InF64(std::string_view name, const Tensor& x, Where where, Make make) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail("takes floats (f64, f32, bf16, f16); Cast(x, F32) first");
  return Cast(make(Cast(x, F64)), x.dtype());
}

// The polynomial with these coefficients, the highest power first.
Tensor Polynomial(const Tensor& x, std::initializer_list<double> coefficients) {
  Tensor sum;
  for (const double c : coefficients) sum = sum.ok() ? sum * x + c : x * 0.0 + c;
  return sum;
}

// x as the gamma function's arguments: one above 0, and what the reflection of x <= 0 needs. What a branch
// does not use is a harmless number, so that gradients of the branch are finite.
struct Reflected {
  explicit Reflected(const Tensor& x) {
    is_reflected = x <= 0.0;
    positive = Select(is_reflected, 1.0 - x, x);
    turn = Select(is_reflected, x - Floor(x), 0.5) * pi;
    is_small = positive < kStirling;
    low = Select(is_small, positive, 1.0);
    high = Select(is_small, positive + kStirling, positive);
  }
  static constexpr double kStirling = 8;
  Tensor is_reflected, positive, turn, is_small, low, high;
};

Tensor LogGammaInF64(const Tensor& x) {
  const Reflected r(x);
  Tensor product = r.low;
  for (int k = 1; k < Reflected::kStirling; ++k) product = product * (r.low + static_cast<double>(k));
  const Tensor inverse = 1.0 / r.high;
  const Tensor series = Polynomial(
      Square(inverse), {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12});
  const Tensor log_gamma = (r.high - 0.5) * (Log(r.high) - 1.0) + inverse * series +
                           (0.91893853320467274178 - 0.5) - Select(r.is_small, Log(product), 0.0);
  return Select(r.is_reflected, Log(pi / Sin(r.turn)) - log_gamma, log_gamma);
}

Tensor DigammaInF64(const Tensor& x) {
  const Reflected r(x);
  Tensor sum = 1.0 / r.low;
  for (int k = 1; k < Reflected::kStirling; ++k) sum = sum + 1.0 / (r.low + static_cast<double>(k));
  const Tensor inverse = 1.0 / r.high;
  const Tensor square = Square(inverse);
  const Tensor series =
      Polynomial(square, {691.0 / 32760, -1.0 / 132, 1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12});
  const Tensor digamma = Log(r.high) - 0.5 * inverse + square * series - Select(r.is_small, sum, 0.0);
  return Select(r.is_reflected, digamma - pi * Cos(r.turn) / Sin(r.turn), digamma);
}

Tensor ErfInvInF64(const Tensor& x) {
  const Tensor size = Abs(x);
  const Tensor is_central = size <= 0.85;
  const Tensor q = Select(is_central, x, 0.0) * 0.5;
  const Tensor c = 0.180625 - Square(q);
  const Tensor central =
      q *
      Polynomial(c, {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                     4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                     1.3314166789178437745e+2, 3.3871328727963666080e+0}) /
      Polynomial(c, {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
                     2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
                     4.2313330701600911252e+1, 1.0});
  const Tensor is_inside = size < 1.0;
  const Tensor tail = Select(is_inside && !is_central, 0.5 - 0.5 * size, 0.05);
  const Tensor root = Sqrt(-Log(tail));
  const Tensor is_near = root <= 5.0;
  const Tensor a = Select(is_near, root, 1.6) - 1.6;
  const Tensor near =
      Polynomial(a, {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                     1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                     4.63033784615654529590e+0, 1.42343711074968357734e+0}) /
      Polynomial(a, {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                     1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
                     2.05319162663775882187e+0, 1.0});
  const Tensor b = Select(is_near, 5.0, root) - 5.0;
  const Tensor far =
      Polynomial(b, {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                     2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
                     5.46378491116411436990e+0, 6.65790464350110377720e+0}) /
      Polynomial(b, {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                     7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                     5.99832206555887937690e-1, 1.0});
  const Tensor quantile = Select(is_central, central, Sign(x) * Select(is_near, near, far));
  // Infinite at -1 and 1, and NaN beyond.
  return Select(is_inside, quantile * std::numbers::sqrt2 * 0.5,
                x / Sqrt(Select(is_inside, 1.0, 1.0 - size)));
}

Tensor ErfcInF64(const Tensor& x) {
  // Below 0.5 erf is small enough; above 27 the result is 0 in f64.
  const Tensor z = Clamp(x, 0.5, 40.0), square = z * z;
  constexpr double kStep = 0.5;
  Tensor sum = 0.5 / z;
  for (int n = 1; n <= 13; ++n) {
    const double at = n * n * kStep * kStep;
    sum = sum + std::exp(-at) * z / (square + at);
  }
  // The residue, which is lost in rounding behind z = pi / kStep.
  const Tensor residue = 2.0 / Expm1(Minimum(z, 6.0) * (2 * pi / kStep));
  const Tensor far = Exp(-square) * sum * (2 * kStep / pi) - Select(z < 6.0, residue, 0.0 * z);
  return Select(x < 0.5, 1.0 - Erf(x), far);
}

}  // namespace

Tensor LogGamma(const Tensor& x, Where where) { return InF64("LogGamma", x, where, LogGammaInF64); }
Tensor Digamma(const Tensor& x, Where where) { return InF64("Digamma", x, where, DigammaInF64); }
Tensor Erfc(const Tensor& x, Where where) { return InF64("Erfc", x, where, ErfcInF64); }
Tensor ErfInv(const Tensor& x, Where where) { return InF64("ErfInv", x, where, ErfInvInF64); }

Tensor LogBeta(const Tensor& x, const Tensor& y, Where where) {
  CompositeCall call("LogBeta", where, {x, y});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.dtype() != y.dtype()) return call.Fail("takes floats of one element type");
  const Tensor a = Cast(x, F64), b = Cast(y, F64);
  return Cast(LogGammaInF64(a) + LogGammaInF64(b) - LogGammaInF64(a + b), x.dtype());
}

}  // namespace sinter
