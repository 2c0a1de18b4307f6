// Arithmetic, transcendental and activation functions. Integers wrap around.
#include <cmath>
#include <limits>
#include <numbers>

#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using RealUnary = double (*)(double);
using RealBinary = double (*)(double, double);
// Arguments hold the element type's range. Results count modulo 2^bits: EvaluateOp wraps them.
using IntUnary = int64_t (*)(int64_t);
using IntBinary = int64_t (*)(int64_t, int64_t);

int64_t NoInts(int64_t) { return 0; }
int64_t NoInts2(int64_t, int64_t) { return 0; }

// `large` is for u64, whose elements are bits.
template <RealUnary real, IntUnary integer = NoInts, IntUnary large = integer>
std::vector<Value> Unary(const Call& call) {
  Value r = call.Result();
  const IntUnary of_ints = r.dtype == DType::kU64 ? large : integer;
  for (size_t i = 0; i < r.reals.size(); ++i) r.reals[i] = real(call.in[0].reals[i]);
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = of_ints(call.in[0].ints[i]);
  return {r};
}

template <RealBinary real, IntBinary integer = NoInts2, IntBinary large = integer>
std::vector<Value> Binary(const Call& call) {
  Value r = call.Result();
  const IntBinary of_ints = r.dtype == DType::kU64 ? large : integer;
  for (size_t i = 0; i < r.reals.size(); ++i) r.reals[i] = real(call.in[0].reals[i], call.in[1].reals[i]);
  for (size_t i = 0; i < r.ints.size(); ++i) r.ints[i] = of_ints(call.in[0].ints[i], call.in[1].ints[i]);
  return {r};
}

int64_t Signed(uint64_t x) { return static_cast<int64_t>(x); }
uint64_t Unsigned(int64_t x) { return static_cast<uint64_t>(x); }

double Add(double x, double y) { return x + y; }
int64_t AddInts(int64_t x, int64_t y) { return Signed(Unsigned(x) + Unsigned(y)); }
double Sub(double x, double y) { return x - y; }
int64_t SubInts(int64_t x, int64_t y) { return Signed(Unsigned(x) - Unsigned(y)); }
double Mul(double x, double y) { return x * y; }
int64_t MulInts(int64_t x, int64_t y) { return Signed(Unsigned(x) * Unsigned(y)); }
double Div(double x, double y) { return x / y; }
int64_t DivInts(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? SubInts(0, x) : x / y;
}
double Rem(double x, double y) { return std::fmod(x, y); }
int64_t RemInts(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
int64_t DivLarge(int64_t x, int64_t y) { return y == 0 ? 0 : Signed(Unsigned(x) / Unsigned(y)); }
int64_t RemLarge(int64_t x, int64_t y) { return y == 0 ? 0 : Signed(Unsigned(x) % Unsigned(y)); }
int64_t MaximumLarge(int64_t x, int64_t y) { return Unsigned(x) > Unsigned(y) ? x : y; }
int64_t MinimumLarge(int64_t x, int64_t y) { return Unsigned(x) < Unsigned(y) ? x : y; }
int64_t SameInt(int64_t x) { return x; }
int64_t SignLarge(int64_t x) { return x != 0; }
double Power(double x, double y) { return std::pow(x, y); }
double Atan2(double x, double y) { return std::atan2(x, y); }
double Maximum(double x, double y) { return std::isnan(x) || std::isnan(y) ? kNan : std::max(x, y); }
int64_t MaximumInts(int64_t x, int64_t y) { return std::max(x, y); }
double Minimum(double x, double y) { return std::isnan(x) || std::isnan(y) ? kNan : std::min(x, y); }
int64_t MinimumInts(int64_t x, int64_t y) { return std::min(x, y); }

double Neg(double x) { return -x; }
int64_t NegInts(int64_t x) { return SubInts(0, x); }
double Abs(double x) { return std::fabs(x); }
int64_t AbsInts(int64_t x) { return x < 0 ? SubInts(0, x) : x; }
double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : std::isnan(x) ? kNan : 0; }
int64_t SignInts(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double Floor(double x) { return std::floor(x); }
double Ceil(double x) { return std::ceil(x); }
double NearestEven(double x) { return std::nearbyint(x); }

double Exp(double x) { return std::exp(x); }
double Expm1(double x) { return std::expm1(x); }
double Log(double x) { return std::log(x); }
double Log1p(double x) { return std::log1p(x); }
double Sqrt(double x) { return std::sqrt(x); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }
double Square(double x) { return x * x; }
int64_t SquareInts(int64_t x) { return MulInts(x, x); }
double Reciprocal(double x) { return 1 / x; }
double Sin(double x) { return std::sin(x); }
double Cos(double x) { return std::cos(x); }
double Tan(double x) { return std::tan(x); }
double Tanh(double x) { return std::tanh(x); }
double Erf(double x) { return std::erf(x); }
double Exp2(double x) { return std::exp2(x); }
double Log2(double x) { return std::log2(x); }
double Log10(double x) { return std::log10(x); }
double Asin(double x) { return std::asin(x); }
double Acos(double x) { return std::acos(x); }
double Atan(double x) { return std::atan(x); }
double Sinh(double x) { return std::sinh(x); }
double Cosh(double x) { return std::cosh(x); }
double Asinh(double x) { return std::asinh(x); }
double Acosh(double x) { return std::acosh(x); }
double Atanh(double x) { return std::atanh(x); }
double Trunc(double x) { return std::trunc(x); }
double Hypot(double x, double y) { return std::isnan(x) || std::isnan(y) ? kNan : std::hypot(x, y); }
double LogAddExp(double x, double y) {
  const double larger = std::isnan(y) || y > x ? y : x, smaller = larger == y ? x : y;
  return std::isinf(larger) ? larger : larger + std::log(1 + std::exp(smaller - larger));
}
double XLogY(double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
double Mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && std::signbit(r) != std::signbit(y) ? r + y : r;
}
int64_t ModInts(int64_t x, int64_t y) {
  const int64_t r = RemInts(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Relu(double x) { return std::isnan(x) ? kNan : std::max(x, 0.0); }
int64_t ReluInts(int64_t x) { return std::max<int64_t>(x, 0); }
double Silu(double x) { return x * Sigmoid(x); }
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double LogSigmoid(double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }
double Gelu(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }
double GeluTanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

std::vector<Value> LeakyRelu(const Call& call) {
  Value r = call.in[0];
  for (double& x : r.reals) x = x > 0 ? x : call.Real("alpha") * x;
  return {r};
}

int64_t AndInts(int64_t x, int64_t y) { return x & y; }
int64_t OrInts(int64_t x, int64_t y) { return x | y; }
int64_t XorInts(int64_t x, int64_t y) { return x ^ y; }
int64_t NotInts(int64_t x) { return ~x; }
double NoReal(double) { return kNan; }
double NoReal2(double, double) { return kNan; }

std::vector<Value> ShiftLeft(const Call& call) {
  Value r = call.Result();
  const auto bits = static_cast<uint64_t>(8 * SizeOf(r.dtype));
  for (size_t i = 0; i < r.ints.size(); ++i) {
    const uint64_t by = Unsigned(call.in[1].ints[i]);
    r.ints[i] = by < bits ? Signed(Unsigned(call.in[0].ints[i]) << by) : 0;
  }
  return {r};
}
std::vector<Value> ShiftRight(const Call& call) {
  Value r = call.Result();
  const auto bits = static_cast<uint64_t>(8 * SizeOf(r.dtype));
  for (size_t i = 0; i < r.ints.size(); ++i) {
    const int64_t x = call.in[0].ints[i];
    const uint64_t by = Unsigned(call.in[1].ints[i]);
    if (r.dtype == DType::kU64) {
      r.ints[i] = by < bits ? Signed(Unsigned(x) >> by) : 0;
    } else {
      r.ints[i] = x >> std::min<uint64_t>(by, 63);  // Narrower integers have copies of their sign above.
    }
  }
  return {r};
}

std::vector<Value> Elu(const Call& call) {
  Value r = call.in[0];
  for (double& x : r.reals) x = x > 0 ? x : call.Real("alpha") * (std::exp(x) - 1);
  return {r};
}

}  // namespace

void AddPointwiseOps(OpTable& table) {
  table["sinter.add"] = Binary<Add, AddInts>;
  table["sinter.sub"] = Binary<Sub, SubInts>;
  table["sinter.mul"] = Binary<Mul, MulInts>;
  table["sinter.div"] = Binary<Div, DivInts, DivLarge>;
  table["sinter.rem"] = Binary<Rem, RemInts, RemLarge>;
  table["sinter.pow"] = Binary<Power>;
  table["sinter.atan2"] = Binary<Atan2>;
  table["sinter.maximum"] = Binary<Maximum, MaximumInts, MaximumLarge>;
  table["sinter.minimum"] = Binary<Minimum, MinimumInts, MinimumLarge>;
  table["sinter.bitwise_and"] = Binary<NoReal2, AndInts>;
  table["sinter.bitwise_or"] = Binary<NoReal2, OrInts>;
  table["sinter.bitwise_xor"] = Binary<NoReal2, XorInts>;
  table["sinter.bitwise_not"] = Unary<NoReal, NotInts>;
  table["sinter.shift_left"] = ShiftLeft;
  table["sinter.shift_right"] = ShiftRight;
  table["sinter.neg"] = Unary<Neg, NegInts>;
  table["sinter.abs"] = Unary<Abs, AbsInts, SameInt>;
  table["sinter.sign"] = Unary<Sign, SignInts, SignLarge>;
  table["sinter.floor"] = Unary<Floor>;
  table["sinter.ceil"] = Unary<Ceil>;
  table["sinter.round"] = Unary<NearestEven>;
  table["sinter.exp"] = Unary<Exp>;
  table["sinter.expm1"] = Unary<Expm1>;
  table["sinter.log"] = Unary<Log>;
  table["sinter.log1p"] = Unary<Log1p>;
  table["sinter.sqrt"] = Unary<Sqrt>;
  table["sinter.rsqrt"] = Unary<Rsqrt>;
  table["sinter.square"] = Unary<Square, SquareInts>;
  table["sinter.reciprocal"] = Unary<Reciprocal>;
  table["sinter.sin"] = Unary<Sin>;
  table["sinter.cos"] = Unary<Cos>;
  table["sinter.tan"] = Unary<Tan>;
  table["sinter.tanh"] = Unary<Tanh>;
  table["sinter.erf"] = Unary<Erf>;
  table["sinter.exp2"] = Unary<Exp2>;
  table["sinter.log2"] = Unary<Log2>;
  table["sinter.log10"] = Unary<Log10>;
  table["sinter.asin"] = Unary<Asin>;
  table["sinter.acos"] = Unary<Acos>;
  table["sinter.atan"] = Unary<Atan>;
  table["sinter.sinh"] = Unary<Sinh>;
  table["sinter.cosh"] = Unary<Cosh>;
  table["sinter.asinh"] = Unary<Asinh>;
  table["sinter.acosh"] = Unary<Acosh>;
  table["sinter.atanh"] = Unary<Atanh>;
  table["sinter.trunc"] = Unary<Trunc>;
  table["sinter.mod"] = Binary<Mod, ModInts, RemLarge>;
  table["sinter.hypot"] = Binary<Hypot>;
  table["sinter.log_add_exp"] = Binary<LogAddExp>;
  table["sinter.x_log_y"] = Binary<XLogY>;
  table["sinter.sigmoid"] = Unary<Sigmoid>;
  table["sinter.relu"] = Unary<Relu, ReluInts, SameInt>;
  table["sinter.silu"] = Unary<Silu>;
  table["sinter.softplus"] = Unary<Softplus>;
  table["sinter.log_sigmoid"] = Unary<LogSigmoid>;
  table["sinter.gelu"] = Unary<Gelu>;
  table["sinter.gelu_tanh"] = Unary<GeluTanh>;
  table["sinter.leaky_relu"] = LeakyRelu;
  table["sinter.elu"] = Elu;
}

}  // namespace sinter::reference
