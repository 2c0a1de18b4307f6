// Pointwise ops of the builder: type checks, broadcasting, and the op records.
#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringExtras.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

namespace {

using pointwise::Takes;

std::string_view Describe(Takes takes) {
  switch (takes) {
    case Takes::kFloats:
      return "floats (f64, f32, bf16, f16)";
    case Takes::kNumbers:
      return "numbers, not i1 and not 8-bit floats";
    case Takes::kIntegers:
      return "integers";
    case Takes::kBools:
      return "i1";
    case Takes::kComputed:
      return "numbers or i1, not 8-bit floats";
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
      return IsNumber(dtype);
    case Takes::kIntegers:
      return IsInteger(dtype);
    case Takes::kBools:
      return dtype == DType::kI1;
    case Takes::kComputed:
      return !IsStored(dtype);
    case Takes::kAnything:
      return true;
  }
  return false;
}

std::string WrongType(Takes takes) {
  const char* cure = takes == Takes::kBools      ? "; compare first, as in x > 0"
                     : takes == Takes::kIntegers ? "; Cast(x, I32) first"
                                                 : "; Cast(x, F32) first";
  return absl::StrCat("takes ", View(Describe(takes)), cure);
}

// Builds an op of one operand, of the operand's type.
template <typename Make>
Tensor OfOne(std::string_view name, Takes takes, const Tensor& x, Where where, Make make) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!Accepts(takes, x.dtype())) return call.Fail(WrongType(takes));
  return call.Done(make(call.b(), call.value(0)));
}

template <typename Op, typename... Attributes>
Tensor WithAttributes(std::string_view name, Takes takes, const Tensor& x, Where where,
                      Attributes... attributes) {
  return OfOne(name, takes, x, where, [&](ir::GraphBuilder& b, mlir::Value value) -> mlir::Value {
    return b.builder().create<Op>(b.loc(), value.getType(), value, attributes...).getResult();
  });
}

// Builds the op that is named after a function of the builder.
mlir::Value CreateNamed(ir::GraphBuilder& b, std::string_view function, mlir::ValueRange operands) {
  mlir::OperationState state(b.loc(),
                             "sinter." + llvm::convertToSnakeFromCamelCase(llvm::StringRef(function)));
  SINTER_CHECK(state.name.isRegistered()) << "no op is named " << state.name.getStringRef().str();
  state.addOperands(operands);
  state.addTypes(operands[0].getType());
  return b.builder().create(state)->getResult(0);
}

template <typename Op>
Tensor WithAlpha(std::string_view name, const Tensor& x, double alpha, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(WrongType(Takes::kFloats));
  if (std::string wrong = OutOfBounds("an alpha", alpha, {}); !wrong.empty()) return call.Fail(wrong);
  if (!CheckLiteral(call, alpha, x.dtype())) return {};
  return WithAttributes<Op>(name, Takes::kFloats, x, where, llvm::APFloat(alpha));
}

// Builds an op of two operands; `make` gets both in the broadcast shape.
template <typename Make>
Tensor OfTwo(std::string_view name, Takes takes, const Operand& x, const Operand& y, Make make) {
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

Tensor Logical(std::string_view name, std::string_view function, const Operand& x, const Operand& y) {
  return OfTwo(name, Takes::kBools, x, y, [&](ir::GraphBuilder& b, ir::Expr p, ir::Expr q) {
    return b.wrap(CreateNamed(b, function, {p.value, q.value}));
  });
}

// Bits of i1 are truth values.
Tensor Bitwise(std::string_view of_integers, std::string_view of_bools, const Operand& x, const Operand& y) {
  const Operand& tensor = x.is_tensor() ? x : y;
  const bool is_bool = tensor.is_tensor() && tensor.tensor().ok() && tensor.tensor().dtype() == DType::kI1;
  return is_bool ? pointwise::Binary(of_bools, x, y, Takes::kBools)
                 : pointwise::Binary(of_integers, x, y, Takes::kIntegers);
}

Tensor Compare(std::string_view name, ir::Comparison predicate, const Operand& x, const Operand& y) {
  return OfTwo(name, Takes::kComputed, x, y,
               [&](ir::GraphBuilder& b, ir::Expr p, ir::Expr q) { return b.compare(predicate, p, q); });
}

template <typename Op>
Tensor FloatTest(std::string_view name, const Tensor& x, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(WrongType(Takes::kFloats));
  auto type = call.type(DType::kI1, x.shape());
  return call.Done(call.b().builder().create<Op>(call.loc(), type, call.value(0)).getResult());
}

}  // namespace

namespace pointwise {

Tensor Unary(std::string_view function, const Tensor& x, Where where, Takes takes) {
  return OfOne(function, takes, x, where,
               [&](ir::GraphBuilder& b, mlir::Value value) { return CreateNamed(b, function, value); });
}

Tensor Binary(std::string_view function, const Operand& x, const Operand& y, Takes takes) {
  return OfTwo(function, takes, x, y, [&](ir::GraphBuilder& b, ir::Expr p, ir::Expr q) {
    return b.wrap(CreateNamed(b, function, {p.value, q.value}));
  });
}

}  // namespace pointwise

using pointwise::Binary;
using pointwise::Unary;

Tensor operator+(Operand x, Operand y) { return Binary("Add", x, y, Takes::kNumbers); }
Tensor operator-(Operand x, Operand y) { return Binary("Sub", x, y, Takes::kNumbers); }
Tensor operator*(Operand x, Operand y) { return Binary("Mul", x, y, Takes::kNumbers); }
Tensor operator/(Operand x, Operand y) { return Binary("Div", x, y, Takes::kNumbers); }
Tensor operator-(Operand x) { return Unary("Neg", x.tensor(), x.where(), Takes::kNumbers); }

Tensor Equal(Operand x, Operand y) { return Compare("Equal", ir::Comparison::eq, x, y); }
Tensor NotEqual(Operand x, Operand y) { return Compare("NotEqual", ir::Comparison::ne, x, y); }
Tensor operator<(Operand x, Operand y) { return Compare("Less", ir::Comparison::lt, x, y); }
Tensor operator<=(Operand x, Operand y) { return Compare("LessEqual", ir::Comparison::le, x, y); }
Tensor operator>(Operand x, Operand y) { return Compare("Greater", ir::Comparison::gt, x, y); }
Tensor operator>=(Operand x, Operand y) { return Compare("GreaterEqual", ir::Comparison::ge, x, y); }
Tensor operator&&(Operand x, Operand y) { return Logical("And", "LogicalAnd", x, y); }
Tensor operator||(Operand x, Operand y) { return Logical("Or", "LogicalOr", x, y); }
Tensor operator&(Operand x, Operand y) { return Bitwise("BitwiseAnd", "LogicalAnd", x, y); }
Tensor operator|(Operand x, Operand y) { return Bitwise("BitwiseOr", "LogicalOr", x, y); }
Tensor operator^(Operand x, Operand y) { return Bitwise("BitwiseXor", "LogicalXor", x, y); }
Tensor operator~(Operand x) {
  const Tensor& tensor = x.tensor();
  if (tensor.ok() && tensor.dtype() == DType::kI1) return !x;
  return Unary("BitwiseNot", tensor, x.where(), Takes::kIntegers);
}
Tensor ShiftLeft(Operand x, Operand y) { return Binary("ShiftLeft", x, y, Takes::kIntegers); }
Tensor ShiftRight(Operand x, Operand y) { return Binary("ShiftRight", x, y, Takes::kIntegers); }
Tensor LogicalXor(Operand x, Operand y) { return Logical("Xor", "LogicalXor", x, y); }
Tensor operator!(Operand x) {
  return OfOne("Not", Takes::kBools, x.tensor(), x.where(),
               [](ir::GraphBuilder& b, mlir::Value value) { return CreateNamed(b, "LogicalNot", value); });
}

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

Tensor LeakyRelu(const Tensor& x, double alpha, Where w) {
  return WithAlpha<ir::LeakyReluOp>("LeakyRelu", x, alpha, w);
}
Tensor Elu(const Tensor& x, double alpha, Where w) { return WithAlpha<ir::EluOp>("Elu", x, alpha, w); }
Tensor IsNan(const Tensor& x, Where w) { return FloatTest<ir::IsNanOp>("IsNan", x, w); }
Tensor IsFinite(const Tensor& x, Where w) { return FloatTest<ir::IsFiniteOp>("IsFinite", x, w); }
Tensor IsInf(const Tensor& x, Where w) { return FloatTest<ir::IsInfOp>("IsInf", x, w); }

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
    return WithAttributes<ir::ClampOp>("Clamp", Takes::kNumbers, x, where, llvm::APFloat(low.real()),
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
