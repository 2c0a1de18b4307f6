#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/frontend/ops/numbers.h"
#include "sinter/runtime/host/status.h"

// Functions of each element, but for activations.
namespace sinter::onnx {
namespace {

struct Operands {
  Tensor x, y;
};

// The two operands. Before version 7, y broadcasts only with the attribute `broadcast`, and its dimensions
// are those of x from `axis` on.
Operands TwoOf(Node& node) {
  Operands two{node.In(0), node.In(1)};
  if (node.version() >= 7 || node.Int("broadcast", 0) == 0 || !node.HasAttr("axis")) return two;
  const int64_t axis = node.Axis(node.Int("axis", 0), two.x.rank());
  const int64_t behind = two.x.rank() - axis - two.y.rank();
  if (behind < 0) {
    node.Keep(node.Bad("y has more dimensions than x has from `axis` on"));
    return two;
  }
  Shape shape = two.y.shape();
  shape.insert(shape.end(), static_cast<size_t>(behind), 1);
  two.y = Reshape(two.y, shape);
  return two;
}

using OfTwo = Tensor (*)(const Tensor&, const Tensor&);
template <OfTwo function>
absl::StatusOr<Values> Two(Node& node) {
  const Operands two = TwoOf(node);
  return Values(function(two.x, two.y));
}

using OfOne = Tensor (*)(const Tensor&);
template <OfOne function>
absl::StatusOr<Values> One(Node& node) {
  return Values(function(node.In(0)));
}

template <OfTwo function>
absl::StatusOr<Values> Several(Node& node) {
  const std::vector<Tensor> xs = node.AllIn();
  if (xs.empty()) return node.Bad("has no operand");
  Tensor result = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) result = function(result, xs[i]);
  return Values(result);
}

Tensor PlusOf(const Tensor& x, const Tensor& y) { return x + y; }
Tensor MinusOf(const Tensor& x, const Tensor& y) { return x - y; }
Tensor TimesOf(const Tensor& x, const Tensor& y) { return x * y; }
Tensor OverOf(const Tensor& x, const Tensor& y) { return x / y; }
Tensor EqualOf(const Tensor& x, const Tensor& y) { return Equal(x, y); }
Tensor LessOf(const Tensor& x, const Tensor& y) { return x < y; }
Tensor GreaterOf(const Tensor& x, const Tensor& y) { return x > y; }
Tensor AtMostOf(const Tensor& x, const Tensor& y) { return x <= y; }
Tensor AtLeastOf(const Tensor& x, const Tensor& y) { return x >= y; }
Tensor BothOf(const Tensor& x, const Tensor& y) { return x && y; }
Tensor EitherOf(const Tensor& x, const Tensor& y) { return x || y; }
Tensor OneOfTwo(const Tensor& x, const Tensor& y) { return LogicalXor(x, y); }
Tensor BitAndOf(const Tensor& x, const Tensor& y) { return x & y; }
Tensor BitOrOf(const Tensor& x, const Tensor& y) { return x | y; }
Tensor BitXorOf(const Tensor& x, const Tensor& y) { return x ^ y; }
Tensor SmallerOf(const Tensor& x, const Tensor& y) { return Minimum(x, y); }
Tensor LargerOf(const Tensor& x, const Tensor& y) { return Maximum(x, y); }

// Numbers of x's type; integers to a power are computed in f64.
Tensor PowerOf(const Tensor& x, const Tensor& y) {
  if (!x.ok() || !y.ok()) return {};
  if (IsFloat(x.dtype())) return Pow(x, y.dtype() == x.dtype() ? y : Cast(y, x.dtype()));
  return Cast(Pow(Cast(x, DType::kF64), Cast(y, DType::kF64)), x.dtype());
}

Tensor AbsOf(const Tensor& x) { return IsUnsigned(x.dtype()) ? x : Abs(x); }
Tensor NotOf(const Tensor& x) { return !x; }
Tensor BitNotOf(const Tensor& x) { return ~x; }
Tensor NegativeOf(const Tensor& x) { return -x; }
Tensor SignOf(const Tensor& x) {
  if (!IsUnsigned(x.dtype())) return Sign(x);
  return Minimum(x, 1);
}
Tensor SqrtOf(const Tensor& x) { return Sqrt(x); }
Tensor ExpOf(const Tensor& x) { return Exp(x); }
Tensor LogOf(const Tensor& x) { return Log(x); }
Tensor CeilOf(const Tensor& x) { return Ceil(x); }
Tensor FloorOf(const Tensor& x) { return Floor(x); }
Tensor RoundOf(const Tensor& x) { return Round(x); }
Tensor ReciprocalOf(const Tensor& x) { return Reciprocal(x); }
Tensor SinOf(const Tensor& x) { return Sin(x); }
Tensor CosOf(const Tensor& x) { return Cos(x); }
Tensor TanOf(const Tensor& x) { return Tan(x); }
Tensor AsinOf(const Tensor& x) { return Asin(x); }
Tensor AcosOf(const Tensor& x) { return Acos(x); }
Tensor AtanOf(const Tensor& x) { return Atan(x); }
Tensor SinhOf(const Tensor& x) { return Sinh(x); }
Tensor CoshOf(const Tensor& x) { return Cosh(x); }
Tensor TanhOf(const Tensor& x) { return Tanh(x); }
Tensor AsinhOf(const Tensor& x) { return Asinh(x); }
Tensor AcoshOf(const Tensor& x) { return Acosh(x); }
Tensor AtanhOf(const Tensor& x) { return Atanh(x); }
Tensor ErfOf(const Tensor& x) { return Erf(x); }
Tensor IsNanOf(const Tensor& x) { return IsNan(x); }

absl::StatusOr<Values> ModOf(Node& node) {
  const Tensor x = node.In(0), y = node.In(1);
  return Values(node.Int("fmod", 0) != 0 ? Rem(x, y) : Mod(x, y));
}

absl::StatusOr<Values> MeanOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(Values sum, Several<PlusOf>(node));
  return Values(sum[0].tensor() / static_cast<double>(node.num_inputs()));
}

absl::StatusOr<Values> BitShiftOf(Node& node) {
  const Tensor x = node.In(0), y = node.In(1);
  const std::string direction = node.Text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return node.Bad("direction is neither LEFT nor RIGHT");
  return Values(direction == "LEFT" ? ShiftLeft(x, y) : ShiftRight(x, y));
}

absl::StatusOr<Values> IsInfOf(Node& node) {
  const Tensor x = node.In(0);
  const bool low = node.Int("detect_negative", 1) != 0, high = node.Int("detect_positive", 1) != 0;
  const Tensor any = IsInf(x);
  if (low && high) return Values(any);
  return Values(low ? any && x < 0 : high ? any && x > 0 : any && !any);
}

absl::StatusOr<Values> ClipByAttributes(Node& node) {
  Tensor x = node.In(0);
  if (node.HasAttr("min")) x = Maximum(x, node.Real("min", 0));
  if (node.HasAttr("max")) x = Minimum(x, node.Real("max", 0));
  return Values(x);
}

absl::StatusOr<Values> ClipByOperands(Node& node) {
  Tensor x = node.In(0);
  if (node.Has(1)) x = Maximum(x, node.In(1));
  if (node.Has(2)) x = Minimum(x, node.In(2));
  return Values(x);
}

absl::StatusOr<Values> WhereOf(Node& node) { return Values(Select(node.In(0), node.In(1), node.In(2))); }

// Numbers beyond the range of a float of 8 bits become its largest ones, unless `saturate` is 0.
Tensor Converted(Node& node, const Tensor& x, DType dtype) {
  if (!x.ok() || x.dtype() == dtype) return x;
  const double most = dtype == DType::kF8E4M3 ? 448 : dtype == DType::kF8E5M2 ? 57344 : 0;
  if (most > 0 && node.Int("saturate", 1) != 0) {
    const Tensor wide = Cast(x, DType::kF32);
    return Cast(Clamp(wide, -most, most), dtype);
  }
  if (dtype == DType::kI1 && !IsStored(x.dtype())) return NotEqual(x, 0);
  return Cast(x, dtype);
}

absl::StatusOr<Values> CastOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const DType dtype, TypeAttr(node, "to", node.dtype(0)));
  return Values(Converted(node, node.In(0), dtype));
}

absl::StatusOr<Values> CastLikeOf(Node& node) {
  if (!node.Operand(1).is_tensor()) return node.Unsupported("STRINGS", "the type is that of strings");
  return Values(Converted(node, node.In(0), node.dtype(1)));
}

constexpr OpRecord kPointwise[] = {
    {"Abs", 1, One<AbsOf>},
    {"Acos", 7, One<AcosOf>},
    {"Acosh", 9, One<AcoshOf>},
    {"Add", 1, Two<PlusOf>},
    {"And", 1, Two<BothOf>},
    {"Asin", 7, One<AsinOf>},
    {"Asinh", 9, One<AsinhOf>},
    {"Atan", 7, One<AtanOf>},
    {"Atanh", 9, One<AtanhOf>},
    {"BitShift", 11, BitShiftOf},
    {"BitwiseAnd", 18, Two<BitAndOf>},
    {"BitwiseNot", 18, One<BitNotOf>},
    {"BitwiseOr", 18, Two<BitOrOf>},
    {"BitwiseXor", 18, Two<BitXorOf>},
    {"Cast", 1, CastOf},
    {"CastLike", 15, CastLikeOf},
    {"Ceil", 1, One<CeilOf>},
    {"Clip", 1, ClipByAttributes},
    {"Clip", 11, ClipByOperands},
    {"Cos", 7, One<CosOf>},
    {"Cosh", 9, One<CoshOf>},
    {"Div", 1, Two<OverOf>},
    {"Equal", 1, Two<EqualOf>},
    {"Erf", 9, One<ErfOf>},
    {"Exp", 1, One<ExpOf>},
    {"Floor", 1, One<FloorOf>},
    {"Greater", 1, Two<GreaterOf>},
    {"GreaterOrEqual", 12, Two<AtLeastOf>},
    {"IsInf", 10, IsInfOf},
    {"IsNaN", 9, One<IsNanOf>},
    {"Less", 1, Two<LessOf>},
    {"LessOrEqual", 12, Two<AtMostOf>},
    {"Log", 1, One<LogOf>},
    {"Max", 1, Several<LargerOf>},
    {"Mean", 1, MeanOf},
    {"Min", 1, Several<SmallerOf>},
    {"Mod", 10, ModOf},
    {"Mul", 1, Two<TimesOf>},
    {"Neg", 1, One<NegativeOf>},
    {"Not", 1, One<NotOf>},
    {"Or", 1, Two<EitherOf>},
    {"Pow", 1, Two<PowerOf>},
    {"Reciprocal", 1, One<ReciprocalOf>},
    {"Round", 11, One<RoundOf>},
    {"Sign", 9, One<SignOf>},
    {"Sin", 7, One<SinOf>},
    {"Sinh", 9, One<SinhOf>},
    {"Sqrt", 1, One<SqrtOf>},
    {"Sub", 1, Two<MinusOf>},
    {"Sum", 1, Several<PlusOf>},
    {"Tan", 7, One<TanOf>},
    {"Tanh", 1, One<TanhOf>},
    {"Where", 9, WhereOf},
    {"Xor", 1, Two<OneOfTwo>},
};

}  // namespace

std::span<const OpRecord> PointwiseOps() { return kPointwise; }

}  // namespace sinter::onnx
