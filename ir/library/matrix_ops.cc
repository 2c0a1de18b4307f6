// The verifiers of the family of matrices, and how its ops iterate; the gradients are in matrix_gradients.cc.
#include <algorithm>
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

#define GET_OP_CLASSES
#include "ir/matrix_ops.cc.inc"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;

void AddMatrixOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/matrix_ops.cc.inc"
      >();
}

// Verifiers
// -----------------------------------------------------------------------------------------------------------

namespace {

LogicalResult CheckMatrices(mlir::Operation* op, RankedTensorType a) {
  if (a.getRank() >= 2) return mlir::success();
  return op->emitOpError() << "takes matrices of type " << a << "; expected rank 2 or more";
}

LogicalResult CheckSquare(mlir::Operation* op, RankedTensorType a) {
  if (mlir::failed(CheckMatrices(op, a))) return mlir::failure();
  const int64_t rank = a.getRank();
  if (a.getDimSize(rank - 2) == a.getDimSize(rank - 1)) return mlir::success();
  return op->emitOpError() << "takes matrices of " << a.getDimSize(rank - 2) << "x" << a.getDimSize(rank - 1)
                           << "; expected as many rows as columns";
}

// Checks that `given` has the leading dimensions and the element type of the matrices `a`, and these sizes.
LogicalResult CheckPart(mlir::Operation* op, llvm::StringRef what, RankedTensorType given, RankedTensorType a,
                        ArrayRef<int64_t> sizes, mlir::Type element = {}) {
  SmallVector<int64_t> shape(a.getShape().drop_back(2));
  shape.append(sizes.begin(), sizes.end());
  const auto want = RankedTensorType::get(shape, element ? element : a.getElementType());
  if (given == want) return mlir::success();
  return op->emitOpError() << "has " << what << " of type " << given << "; expected " << want;
}

// Checks the right-hand sides B of A X = B, or of X A = B.
LogicalResult CheckRightHandSides(mlir::Operation* op, RankedTensorType a, RankedTensorType b, bool right) {
  if (mlir::failed(CheckSquare(op, a)) || mlir::failed(CheckMatrices(op, b))) return mlir::failure();
  const int64_t n = a.getShape().back(), rank = b.getRank();
  const int64_t other = b.getDimSize(right ? rank - 2 : rank - 1);
  return CheckPart(op, "right-hand sides", b, a,
                   right ? ArrayRef<int64_t>{other, n} : ArrayRef<int64_t>{n, other});
}

template <typename Op>
LogicalResult CheckQr(Op op, bool is_complete) {
  RankedTensorType a = op.getA().getType();
  if (mlir::failed(CheckMatrices(op, a))) return mlir::failure();
  const int64_t m = a.getDimSize(a.getRank() - 2), n = a.getShape().back();
  const int64_t k = is_complete ? m : std::min(m, n);
  if (mlir::failed(CheckPart(op, "Q", op.getQ().getType(), a, {m, k}))) return mlir::failure();
  return CheckPart(op, "R", op.getR().getType(), a, {k, n});
}

}  // namespace

LogicalResult CholeskyOp::verify() { return CheckSquare(*this, getA().getType()); }
// The kernel reads a matrix before it writes it.
bool CholeskyOp::mayUpdateInPlace(unsigned, unsigned) { return true; }

LogicalResult TriangularSolveOp::verify() {
  return CheckRightHandSides(*this, getA().getType(), getB().getType(), getRight());
}
bool TriangularSolveOp::mayUpdateInPlace(unsigned operand, unsigned) { return operand == 1; }

LogicalResult QrOp::verify() { return CheckQr(*this, false); }
LogicalResult QrCompleteOp::verify() { return CheckQr(*this, true); }

LogicalResult EighOp::verify() {
  RankedTensorType a = getA().getType();
  if (mlir::failed(CheckSquare(*this, a))) return mlir::failure();
  const int64_t n = a.getShape().back();
  if (mlir::failed(CheckPart(*this, "eigenvalues", getValues().getType(), a, {n}))) return mlir::failure();
  return CheckPart(*this, "eigenvectors", getVectors().getType(), a, {n, n});
}

LogicalResult SvdOp::verify() {
  RankedTensorType a = getA().getType();
  if (mlir::failed(CheckMatrices(*this, a))) return mlir::failure();
  const int64_t m = a.getDimSize(a.getRank() - 2), n = a.getShape().back(), k = std::min(m, n);
  if (mlir::failed(CheckPart(*this, "U", getU().getType(), a, {m, k})) ||
      mlir::failed(CheckPart(*this, "singular values", getS().getType(), a, {k}))) {
    return mlir::failure();
  }
  return CheckPart(*this, "V^T", getVt().getType(), a, {k, n});
}

LogicalResult LuOp::verify() {
  RankedTensorType a = getA().getType();
  if (mlir::failed(CheckSquare(*this, a))) return mlir::failure();
  const int64_t n = a.getShape().back();
  if (n > std::numeric_limits<int32_t>::max()) {
    return emitOpError() << "takes matrices of " << n << " rows; expected fewer than 2^31";
  }
  if (mlir::failed(CheckPart(*this, "L and U", getLu().getType(), a, {n, n}))) return mlir::failure();
  return CheckPart(*this, "a permutation", getPermutation().getType(), a, {n},
                   mlir::IntegerType::get(getContext(), 32));
}

LogicalResult SolveOp::verify() {
  return CheckRightHandSides(*this, getA().getType(), getB().getType(), false);
}

// How they iterate
// -----------------------------------------------------------------------------------------------------------

namespace {

// The matrices of a batch are independent. A word for each leading dimension.
struct MatrixWords {
  SmallVector<Factor> factors;
  std::string batch;

  explicit MatrixWords(RankedTensorType a) {
    for (auto [d, size] : llvm::enumerate(a.getShape().drop_back(2))) {
      const char name = static_cast<char>('a' + d);
      factors.push_back({size, FactorKind::kParallel, name});
      batch += std::string(1, name) + " ";
    }
  }
  std::string matrix() const { return batch + ". ."; }
  std::string vector() const { return batch + "."; }
};

}  // namespace

FactorRule CholeskyOp::getFactorRule() {
  const MatrixWords words(getA().getType());
  return SpellFactors(*this, words.factors, {words.matrix()}, {words.matrix()});
}

// Each column of B, or row when `right`, is a system of its own.
FactorRule TriangularSolveOp::getFactorRule() {
  MatrixWords words(getA().getType());
  RankedTensorType b = getB().getType();
  words.factors.push_back(
      {b.getDimSize(getRight() ? b.getRank() - 2 : b.getRank() - 1), FactorKind::kParallel, 'k'});
  const std::string sides = words.batch + (getRight() ? "k ." : ". k");
  FactorRule rule = SpellFactors(*this, words.factors, {words.matrix(), sides}, {sides});
  rule.linear_in = {{1}};
  return rule;
}

FactorRule QrOp::getFactorRule() {
  const MatrixWords words(getA().getType());
  return SpellFactors(*this, words.factors, {words.matrix()}, {words.matrix(), words.matrix()});
}
FactorRule QrCompleteOp::getFactorRule() {
  const MatrixWords words(getA().getType());
  return SpellFactors(*this, words.factors, {words.matrix()}, {words.matrix(), words.matrix()});
}
FactorRule EighOp::getFactorRule() {
  const MatrixWords words(getA().getType());
  return SpellFactors(*this, words.factors, {words.matrix()}, {words.vector(), words.matrix()});
}
FactorRule SvdOp::getFactorRule() {
  const MatrixWords words(getA().getType());
  return SpellFactors(*this, words.factors, {words.matrix()},
                      {words.matrix(), words.vector(), words.matrix()});
}
FactorRule LuOp::getFactorRule() {
  const MatrixWords words(getA().getType());
  return SpellFactors(*this, words.factors, {words.matrix()}, {words.matrix(), words.vector()});
}

}  // namespace sinter::ir
