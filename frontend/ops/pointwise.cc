// Pointwise ops of the builder: type checks, broadcasting, and the op records.
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {

namespace {

enum class Takes { kFloats, kNumbers, kBools, kAnything };

std::string_view Describe(Takes takes) {
  switch (takes) {
    case Takes::kFloats:
      return "floats (f64, f32, bf16, f16)";
    case Takes::kNumbers:
      return "numbers, not i1";
    case Takes::kBools:
      return "i1";
    case Takes::kAnything:
      return "anything";
  }
  return "";
}

bool Accepts(Takes takes, DType dtype) {
  switch (takes) {
    case Takes::kFloats:
      return IsFloat(dtype);
    case Takes::kNumbers:
      return dtype != DType::kI1;
    case Takes::kBools:
      return dtype == DType::kI1;
    case Takes::kAnything:
      return true;
  }
  return false;
}

std::string WrongType(Takes takes) {
  return absl::StrCat("takes ", View(Describe(takes)),
                      takes == Takes::kBools ? "; compare first, as in x > 0" : "; Cast(x, F32) first");
}

// Builds an op of one operand; the result has the operand's type.
template <typename Op, typename... Attributes>
Tensor Unary(std::string_view name, Takes takes, const Tensor& x, Where where, Attributes... attributes) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!Accepts(takes, x.dtype())) return call.Fail(WrongType(takes));
  return call.Done(call.b()
                       .builder()
                       .create<Op>(call.loc(), call.value(0).getType(), call.value(0), attributes...)
                       .getResult());
}

template <typename Op>
Tensor WithAlpha(std::string_view name, const Tensor& x, double alpha, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(WrongType(Takes::kFloats));
  if (std::string wrong = OutOfBounds("an alpha", alpha, {}); !wrong.empty()) return call.Fail(wrong);
  if (!CheckLiteral(call, alpha, x.dtype())) return {};
  return Unary<Op>(name, Takes::kFloats, x, where, llvm::APFloat(alpha));
}

// Builds an op of two operands; `make` gets both in the broadcast shape.
template <typename Make>
Tensor Binary(std::string_view name, Takes takes, const Operand& x, const Operand& y, Make make) {
  Where where = y.is_tensor() && !x.is_tensor() ? y.where() : x.where();
  std::vector<Tensor> tensors;
  for (const Operand* o : {&x, &y}) {
    if (o->is_tensor()) tensors.push_back(o->tensor());
  }
  Call call(name, where, tensors);
  if (!call.ok()) return {};
  DType dtype = tensors[0].dtype();
  for (const Tensor& t : tensors) {
    if (t.dtype() != dtype) return call.Fail(MixedTypes(dtype, t.dtype()));
  }
  if (!Accepts(takes, dtype)) return call.Fail(WrongType(takes));
  std::optional<std::vector<ir::Expr>> same = BroadcastOperands(call, {x, y}, dtype);
  if (!same) return {};
  return call.Done(make(call.b(), (*same)[0], (*same)[1]));
}

template <typename Op>
ir::Expr Create(ir::GraphBuilder& b, ir::Expr x, ir::Expr y) {
  return b.wrap(b.builder().create<Op>(b.loc(), x.value.getType(), x.value, y.value));
}

Tensor Compare(std::string_view name, ir::Comparison predicate, const Operand& x, const Operand& y) {
  return Binary(name, Takes::kAnything, x, y,
                [&](ir::GraphBuilder& b, ir::Expr p, ir::Expr q) { return b.compare(predicate, p, q); });
}

Tensor FloatTest(std::string_view name, const Tensor& x, Where where, bool nan) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(WrongType(Takes::kFloats));
  auto type = call.type(DType::kI1, x.shape());
  mlir::OpBuilder& builder = call.b().builder();
  return call.Done(nan ? builder.create<ir::IsNanOp>(call.loc(), type, call.value(0)).getResult()
                       : builder.create<ir::IsFiniteOp>(call.loc(), type, call.value(0)).getResult());
}

}  // namespace

Tensor operator+(Operand x, Operand y) { return Binary("Add", Takes::kNumbers, x, y, Create<ir::AddOp>); }
Tensor operator-(Operand x, Operand y) { return Binary("Sub", Takes::kNumbers, x, y, Create<ir::SubOp>); }
Tensor operator*(Operand x, Operand y) { return Binary("Mul", Takes::kNumbers, x, y, Create<ir::MulOp>); }
Tensor operator/(Operand x, Operand y) { return Binary("Div", Takes::kNumbers, x, y, Create<ir::DivOp>); }
Tensor operator-(Operand x) { return Unary<ir::NegOp>("Neg", Takes::kNumbers, x.tensor(), x.where()); }
Tensor Pow(Operand x, Operand y) { return Binary("Pow", Takes::kFloats, x, y, Create<ir::PowOp>); }
Tensor Maximum(Operand x, Operand y) {
  return Binary("Maximum", Takes::kNumbers, x, y, Create<ir::MaximumOp>);
}
Tensor Minimum(Operand x, Operand y) {
  return Binary("Minimum", Takes::kNumbers, x, y, Create<ir::MinimumOp>);
}
Tensor Rem(Operand x, Operand y) { return Binary("Rem", Takes::kNumbers, x, y, Create<ir::RemOp>); }
Tensor Atan2(Operand y, Operand x) { return Binary("Atan2", Takes::kFloats, y, x, Create<ir::Atan2Op>); }

Tensor Equal(Operand x, Operand y) { return Compare("Equal", ir::Comparison::eq, x, y); }
Tensor NotEqual(Operand x, Operand y) { return Compare("NotEqual", ir::Comparison::ne, x, y); }
Tensor operator<(Operand x, Operand y) { return Compare("Less", ir::Comparison::lt, x, y); }
Tensor operator<=(Operand x, Operand y) { return Compare("LessEqual", ir::Comparison::le, x, y); }
Tensor operator>(Operand x, Operand y) { return Compare("Greater", ir::Comparison::gt, x, y); }
Tensor operator>=(Operand x, Operand y) { return Compare("GreaterEqual", ir::Comparison::ge, x, y); }
Tensor operator&&(Operand x, Operand y) {
  return Binary("And", Takes::kBools, x, y, Create<ir::LogicalAndOp>);
}
Tensor operator||(Operand x, Operand y) { return Binary("Or", Takes::kBools, x, y, Create<ir::LogicalOrOp>); }
Tensor LogicalXor(Operand x, Operand y) {
  return Binary("Xor", Takes::kBools, x, y, Create<ir::LogicalXorOp>);
}
Tensor operator!(Operand x) { return Unary<ir::LogicalNotOp>("Not", Takes::kBools, x.tensor(), x.where()); }

Tensor Select(Operand condition, Operand on_true, Operand on_false) {
  std::vector<Tensor> tensors;
  for (const Operand* o : {&condition, &on_true, &on_false}) {
    if (o->is_tensor()) tensors.push_back(o->tensor());
  }
  Call call("Select", condition.where(), tensors);
  if (!call.ok()) return {};
  if (!condition.is_tensor() || condition.tensor().dtype() != DType::kI1) {
    return call.Fail("takes an i1 condition; compare first, as in x > 0");
  }
  DType dtype = on_true.is_tensor() ? on_true.tensor().dtype()
                                    : (on_false.is_tensor() ? on_false.tensor().dtype() : DType::kF32);
  if (on_true.is_tensor() && on_false.is_tensor() && on_true.tensor().dtype() != on_false.tensor().dtype()) {
    return call.Fail(MixedTypes(dtype, on_false.tensor().dtype()));
  }
  std::optional<std::vector<ir::Expr>> same = BroadcastOperands(call, {condition, on_true, on_false}, dtype);
  if (!same) return {};
  return call.Done(call.b().select((*same)[0], (*same)[1], (*same)[2]));
}

Tensor Abs(const Tensor& x, Where w) { return Unary<ir::AbsOp>("Abs", Takes::kNumbers, x, w); }
Tensor Sign(const Tensor& x, Where w) { return Unary<ir::SignOp>("Sign", Takes::kNumbers, x, w); }
Tensor Square(const Tensor& x, Where w) { return Unary<ir::SquareOp>("Square", Takes::kNumbers, x, w); }
Tensor Relu(const Tensor& x, Where w) { return Unary<ir::ReluOp>("Relu", Takes::kNumbers, x, w); }
Tensor Exp(const Tensor& x, Where w) { return Unary<ir::ExpOp>("Exp", Takes::kFloats, x, w); }
Tensor Expm1(const Tensor& x, Where w) { return Unary<ir::Expm1Op>("Expm1", Takes::kFloats, x, w); }
Tensor Log(const Tensor& x, Where w) { return Unary<ir::LogOp>("Log", Takes::kFloats, x, w); }
Tensor Log1p(const Tensor& x, Where w) { return Unary<ir::Log1pOp>("Log1p", Takes::kFloats, x, w); }
Tensor Sqrt(const Tensor& x, Where w) { return Unary<ir::SqrtOp>("Sqrt", Takes::kFloats, x, w); }
Tensor Rsqrt(const Tensor& x, Where w) { return Unary<ir::RsqrtOp>("Rsqrt", Takes::kFloats, x, w); }
Tensor Reciprocal(const Tensor& x, Where w) {
  return Unary<ir::ReciprocalOp>("Reciprocal", Takes::kFloats, x, w);
}
Tensor Sin(const Tensor& x, Where w) { return Unary<ir::SinOp>("Sin", Takes::kFloats, x, w); }
Tensor Cos(const Tensor& x, Where w) { return Unary<ir::CosOp>("Cos", Takes::kFloats, x, w); }
Tensor Tan(const Tensor& x, Where w) { return Unary<ir::TanOp>("Tan", Takes::kFloats, x, w); }
Tensor Tanh(const Tensor& x, Where w) { return Unary<ir::TanhOp>("Tanh", Takes::kFloats, x, w); }
Tensor Erf(const Tensor& x, Where w) { return Unary<ir::ErfOp>("Erf", Takes::kFloats, x, w); }
Tensor Sigmoid(const Tensor& x, Where w) { return Unary<ir::SigmoidOp>("Sigmoid", Takes::kFloats, x, w); }
Tensor Silu(const Tensor& x, Where w) { return Unary<ir::SiluOp>("Silu", Takes::kFloats, x, w); }
Tensor Softplus(const Tensor& x, Where w) { return Unary<ir::SoftplusOp>("Softplus", Takes::kFloats, x, w); }
Tensor Gelu(const Tensor& x, Where w) { return Unary<ir::GeluOp>("Gelu", Takes::kFloats, x, w); }
Tensor GeluTanh(const Tensor& x, Where w) { return Unary<ir::GeluTanhOp>("GeluTanh", Takes::kFloats, x, w); }
Tensor Floor(const Tensor& x, Where w) { return Unary<ir::FloorOp>("Floor", Takes::kFloats, x, w); }
Tensor Ceil(const Tensor& x, Where w) { return Unary<ir::CeilOp>("Ceil", Takes::kFloats, x, w); }
Tensor Round(const Tensor& x, Where w) { return Unary<ir::RoundOp>("Round", Takes::kFloats, x, w); }
Tensor StopGradient(const Tensor& x, Where w) {
  return Unary<ir::StopGradientOp>("StopGradient", Takes::kAnything, x, w);
}
Tensor LeakyRelu(const Tensor& x, double alpha, Where w) {
  return WithAlpha<ir::LeakyReluOp>("LeakyRelu", x, alpha, w);
}
Tensor Elu(const Tensor& x, double alpha, Where w) { return WithAlpha<ir::EluOp>("Elu", x, alpha, w); }
Tensor IsNan(const Tensor& x, Where w) { return FloatTest("IsNan", x, w, /*nan=*/true); }
Tensor IsFinite(const Tensor& x, Where w) { return FloatTest("IsFinite", x, w, /*nan=*/false); }

Tensor Clamp(const Tensor& x, Number low, Number high, Where where) {
  Call call("Clamp", where, {x});
  if (!call.ok()) return {};
  if (!Accepts(Takes::kNumbers, x.dtype())) return call.Fail(WrongType(Takes::kNumbers));
  const bool whole = low.is_integer() && high.is_integer();
  if (whole ? low.integer() > high.integer() : !(low.real() <= high.real())) {
    return call.Fail(absl::StrCat("needs low <= high, got ", low.ToString(), " and ", high.ToString()));
  }
  if (!CheckLiteral(call, low, x.dtype()) || !CheckLiteral(call, high, x.dtype())) return {};
  if (IsFloat(x.dtype())) {
    return Unary<ir::ClampOp>("Clamp", Takes::kNumbers, x, where, llvm::APFloat(low.real()),
                              llvm::APFloat(high.real()));
  }
  // The op's bounds are doubles, which cannot hold every 64-bit integer.
  ir::GraphBuilder& b = call.b();
  std::optional<ir::Expr> least = Literal(call, low, x.dtype(), x.shape());
  std::optional<ir::Expr> most = Literal(call, high, x.dtype(), x.shape());
  return call.Done(b.minimum(b.maximum(call.expr(0), *least), *most));
}

Tensor Cast(const Tensor& x, DType dtype, Where where) {
  Call call("Cast", where, {x});
  if (!call.ok()) return {};
  return call.Done(call.b().cast(call.expr(0), call.element(dtype)));
}

}  // namespace sinter
