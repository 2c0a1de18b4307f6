// The matmul ops of the linear family: verifiers, gradients and decompositions.
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/linear_checks.h"
#include "sinter/ir/library/matmul_sizes.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

bool IsLowPrecision(mlir::Type element) { return element.isBF16() || element.isF16(); }

// Returns the wider type that the result of a matmul may have. Null if it has that of its operands alone.
mlir::Type WideResult(mlir::Type element) {
  if (IsLowPrecision(element)) return mlir::Float32Type::get(element.getContext());
  return element.isSignlessInteger(8) ? mlir::IntegerType::get(element.getContext(), 32) : mlir::Type();
}

// Checks that matmul and matmul_grad share: the operands against each other and against the result.
template <typename Op>
LogicalResult CheckMatmul(Op op) {
  RankedTensorType a = op.getA().getType(), b = op.getB().getType(), result = op.getResult().getType();
  int64_t rank = a.getRank();
  if (rank < 2 || b.getRank() != rank) {
    return op.emitOpError() << "multiplies " << a << " and " << b << "; expected equal ranks of at least 2";
  }
  mlir::Type element = a.getElementType(), of_result = result.getElementType();
  if (b.getElementType() != element) {
    return op.emitOpError() << "has operand 1 of element type " << b.getElementType() << "; expected "
                            << element << " as the first operand has";
  }
  const mlir::Type wide = WideResult(element);
  if (of_result != element && of_result != wide) {
    mlir::InFlightDiagnostic error = op.emitOpError();
    error << "has a result of element type " << of_result << "; expected " << element
          << " as the first operand has";
    if (wide) error << ", or " << wide;
    return error;
  }
  if (mlir::failed(CheckActivation(op, op.getActivation(), op.getMath(), element))) return mlir::failure();
  ArrayRef<int64_t> batch = a.getShape().drop_back(2);
  if (batch != b.getShape().drop_back(2)) {
    return op.emitOpError() << "multiplies batches " << SizesText(batch) << " and "
                            << SizesText(b.getShape().drop_back(2)) << "; expected equal leading dimensions";
  }
  MatmulSizes s = MatmulSizes::Of(op);
  int64_t k_of_b = b.getDimSize(rank - (op.getTransposeB() ? 1 : 2));
  if (s.k != k_of_b) {
    return op.emitOpError() << "multiplies " << s.m << "x" << s.k << " by " << k_of_b << "x" << s.n
                            << " matrices; expected equal inner dimensions";
  }
  SmallVector<int64_t> want(batch);
  want.append({s.m, s.n});
  if (result.getShape() != ArrayRef<int64_t>(want)) {
    return op.emitOpError() << "has a result of shape " << SizesText(result.getShape()) << "; expected "
                            << SizesText(want);
  }
  return mlir::success();
}

// The bias has one element for each column of the result.
LogicalResult CheckBias(mlir::Operation* op, mlir::TypedValue<RankedTensorType> bias,
                        RankedTensorType result) {
  if (!bias) return mlir::success();
  ArrayRef<int64_t> want = result.getShape().take_back(1);
  if (bias.getType().getShape() != want) {
    return op->emitOpError() << "has a bias of shape " << SizesText(bias.getType().getShape())
                             << "; expected " << SizesText(want);
  }
  if (bias.getType().getElementType() == result.getElementType()) return mlir::success();
  return op->emitOpError() << "has a bias of element type " << bias.getType().getElementType()
                           << "; expected " << result.getElementType() << " as the result has";
}

LogicalResult CheckLikeResult(mlir::Operation* op, llvm::StringRef what, mlir::Type type, mlir::Type result) {
  if (type == result) return mlir::success();
  return op->emitOpError() << "has " << what << " of type " << type << "; expected " << result
                           << " as the result has";
}

Expr Multiply(MatmulOp like, Expr a, Expr b, bool transpose_a, bool transpose_b, mlir::Type result) {
  GraphBuilder& builder = *a.builder;
  return builder.wrap(builder.builder().create<MatmulOp>(builder.loc(), result, a.value, b.value, Value(),
                                                         transpose_a, transpose_b, Activation::none,
                                                         like.getMath()));
}

// The pointwise op that computes the activation of `x`.
mlir::Operation* Activate(GraphBuilder& b, Activation activation, Expr x) {
  mlir::OpBuilder& builder = b.builder();
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      return builder.create<ReluOp>(b.loc(), x.type(), x.value);
    case Activation::gelu:
      return builder.create<GeluOp>(b.loc(), x.type(), x.value);
    case Activation::gelu_tanh:
      return builder.create<GeluTanhOp>(b.loc(), x.type(), x.value);
    case Activation::sigmoid:
      return builder.create<SigmoidOp>(b.loc(), x.type(), x.value);
    case Activation::tanh:
      return builder.create<TanhOp>(b.loc(), x.type(), x.value);
    case Activation::silu:
      return builder.create<SiluOp>(b.loc(), x.type(), x.value);
  }
  return nullptr;
}

// Casts low precision to f32, which avoids rounding between two ops.
Expr Wide(GraphBuilder& b, Expr x) {
  return IsLowPrecision(x.element()) ? b.cast(x, b.builder().getF32Type()) : x;
}

}  // namespace

// matmul
// -----------------------------------------------------------------------------------------------------------

LogicalResult MatmulOp::verify() {
  RankedTensorType result = getResult().getType();
  if (mlir::failed(CheckMatmul(*this)) || mlir::failed(CheckBias(*this, getBias(), result))) {
    return mlir::failure();
  }
  if ((getAddend() || getScale()) && !llvm::isa<mlir::FloatType>(result.getElementType())) {
    return emitOpError() << "has " << (getAddend() ? "an addend" : "a scale") << " for a matmul of "
                         << result.getElementType() << "; expected a floating-point element type";
  }
  if (getAddend() && mlir::failed(CheckLikeResult(*this, "an addend", getAddend().getType(), result))) {
    return mlir::failure();
  }
  if (!getScale()) return mlir::success();
  mlir::Builder builder(getContext());
  auto want = RankedTensorType::get(
      {}, result.getElementType().isF64() ? builder.getF64Type() : builder.getF32Type());
  if (getScale().getType() == want) return mlir::success();
  return emitOpError() << "has a scale of type " << getScale().getType() << "; expected " << want;
}

bool MatmulOp::mayUpdateInPlace(unsigned operand, unsigned) {
  return getAddend() && operand == getODSOperandIndexAndLength(3).first;
}

SmallVector<Expr> MatmulOp::buildGradient(GraphBuilder& builder, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0], a = builder.wrap(getA()), b = builder.wrap(getB());
  bool ta = getTransposeA(), tb = getTransposeB();
  // The gradient of the matmul before scaling.
  Expr inner = g;
  if (getScale()) inner = Wide(builder, g) * builder.splat(builder.wrap(getScale()), g);
  inner = builder.cast(inner, a.element());
  // With C = A' B': dA' = G B'^T and dB' = A'^T G. The gradient of a transposed operand is the transposed
  // matmul.
  Expr da =
      ta ? Multiply(*this, b, inner, tb, true, a.type()) : Multiply(*this, inner, b, false, !tb, a.type());
  Expr db =
      tb ? Multiply(*this, inner, a, true, ta, b.type()) : Multiply(*this, a, inner, !ta, false, b.type());
  SmallVector<Expr> gradients = {da, db};
  int64_t rank = g.type().getRank();
  if (getBias()) gradients.push_back(builder.sum(g, llvm::to_vector(llvm::seq<int64_t>(0, rank - 1))));
  if (getAddend()) gradients.push_back(g);
  if (getScale()) {
    Expr matmul = Wide(builder, Multiply(*this, a, b, ta, tb, getResult().getType()));
    gradients.push_back(builder.sum(Wide(builder, g) * matmul, llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  }
  return gradients;
}

// matmul_grad
// -----------------------------------------------------------------------------------------------------------

LogicalResult MatmulGradOp::verify() {
  if (mlir::failed(CheckMatmul(*this)) ||
      mlir::failed(
          CheckLikeResult(*this, "a preactivation", getPreactivation().getType(), getResult().getType()))) {
    return mlir::failure();
  }
  if (getActivation() != Activation::none) return mlir::success();
  return emitOpError("has the gradient of no activation; expected an activation, or the op matmul");
}

SmallVector<Value> MatmulGradOp::decompose(GraphBuilder& b) {
  Expr matmul =
      b.wrap(b.builder().create<MatmulOp>(b.loc(), getResult().getType(), getA(), getB(), Value(),
                                          getTransposeA(), getTransposeB(), Activation::none, getMath()));
  Expr x = Wide(b, b.wrap(getPreactivation()));
  mlir::Operation* activation = Activate(b, getActivation(), x);
  Expr g = llvm::cast<DifferentiableInterface>(activation).buildGradient(b, {Wide(b, matmul)})[0];
  Expr result = b.cast(g, matmul.element());
  if (activation->use_empty()) activation->erase();
  return {result.value};
}

}  // namespace sinter::ir
