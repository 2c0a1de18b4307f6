// The gradients of the family of matrices, and the definition of solve.
//
// Cholesky: Murray, "Differentiation of the Cholesky decomposition" (arXiv 1602.07527). Eigenvalues, systems
// of equations: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
// differentiation" (2008). QR: Liao, Liu, Wang and Xiang, "Differentiable programming tensor networks" (arXiv
// 1903.09650), and for wide matrices Roberts and Roberts, "QR and LQ decomposition matrix backpropagation
// algorithms" (arXiv 2009.10071). SVD: Townsend, "Differentiating the singular value decomposition" (2016).
// LU: de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using triangular factorization"
// (Mathematics of Computation 80, 2011).
#include <numeric>

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

int64_t RankOf(Expr x) { return static_cast<int64_t>(x.shape().size()); }
int64_t RowsOf(Expr x) { return x.shape()[RankOf(x) - 2]; }
int64_t ColumnsOf(Expr x) { return x.shape().back(); }

Expr Transposed(Expr x) {
  SmallVector<int64_t> order(x.shape().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return x.builder->transpose(x, order);
}

// op(x) op(y), where op transposes if it is asked to.
Expr Product(Expr x, Expr y, bool transpose_x = false, bool transpose_y = false) {
  GraphBuilder& b = *x.builder;
  SmallVector<int64_t> shape(x.shape());
  shape[shape.size() - 2] = transpose_x ? ColumnsOf(x) : RowsOf(x);
  shape.back() = transpose_y ? RowsOf(y) : ColumnsOf(y);
  return b.wrap(b.builder().create<MatmulOp>(b.loc(), RankedTensorType::get(shape, x.element()), x.value,
                                             y.value, Value(), transpose_x, transpose_y, Activation::none,
                                             MathMode::ieee));
}

struct Triangle {
  bool upper = false, transpose = false, unit_diagonal = false, right = false;
};
Expr SolveTriangle(Expr a, Expr b, Triangle form) {
  GraphBuilder& builder = *a.builder;
  return builder.wrap(builder.builder().create<TriangularSolveOp>(
      builder.loc(), b.type(), a.value, b.value, form.upper, form.transpose, form.unit_diagonal, form.right));
}

// Numbers of rows and columns, of the shape of a matrix.
struct Places {
  Expr row, column;
};
Places PlacesIn(Expr x) {
  GraphBuilder& b = *x.builder;
  const int64_t shape[] = {RowsOf(x), ColumnsOf(x)};
  mlir::Type number = b.builder().getI32Type();
  return {b.iota(shape, number, 0), b.iota(shape, number, 1)};
}

// The elements of x where `kept`, a matrix, is true, and 0 elsewhere.
Expr Kept(Expr kept, Expr x) {
  return x.builder->select(x.builder->broadcastAlong(kept, x, {RankOf(x) - 2, RankOf(x) - 1}), x,
                           x.builder->zeros(x));
}
Expr Lower(Expr x) {
  const Places at = PlacesIn(x);
  return Kept(x.builder->ge(at.row, at.column), x);
}
Expr StrictlyLower(Expr x) {
  const Places at = PlacesIn(x);
  return Kept(x.builder->gt(at.row, at.column), x);
}
Expr Upper(Expr x) {
  const Places at = PlacesIn(x);
  return Kept(x.builder->le(at.row, at.column), x);
}
Expr StrictlyUpper(Expr x) {
  const Places at = PlacesIn(x);
  return Kept(x.builder->lt(at.row, at.column), x);
}

Expr Symmetric(Expr x) { return (x + Transposed(x)) * 0.5; }
Expr Skew(Expr x) { return x - Transposed(x); }

SmallVector<int64_t> DimsBut(Expr like, int64_t dim) {
  SmallVector<int64_t> dims(like.shape().size());
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin() + dim);
  return dims;
}
// A number for each row, or for each column, of the matrices `like`.
Expr PerRow(Expr numbers, Expr like) {
  return like.builder->broadcastAlong(numbers, like, DimsBut(like, RankOf(like) - 1));
}
Expr PerColumn(Expr numbers, Expr like) {
  return like.builder->broadcastAlong(numbers, like, DimsBut(like, RankOf(like) - 2));
}

// Columns [begin, end) of matrices.
Expr Columns(Expr x, int64_t begin, int64_t end) {
  SmallVector<int64_t> starts(x.shape().size(), 0), limits(x.shape()), strides(x.shape().size(), 1);
  starts.back() = begin, limits.back() = end;
  return x.builder->slice(x, starts, limits, strides);
}

// 1 / (x of the column - x of the row), and 0 on the diagonal.
Expr InverseDifferences(Expr x, Expr like) {
  GraphBuilder& b = *x.builder;
  const Places at = PlacesIn(like);
  Expr is_off = b.broadcastAlong(b.ne(at.row, at.column), like, {RankOf(like) - 2, RankOf(like) - 1});
  Expr difference = b.select(is_off, PerColumn(x, like) - PerRow(x, like), b.ones(like));
  return b.select(is_off, 1.0 / difference, b.zeros(like));
}

}  // namespace

// Cholesky and triangular systems
// -----------------------------------------------------------------------------------------------------------

SmallVector<Expr> CholeskyOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr l = b.wrap(getResult());
  Expr inner = Product(l, Lower(output_gradients[0]), true, false);
  // The lower triangle with half of the diagonal.
  inner = (Lower(inner) + StrictlyLower(inner)) * 0.5;
  Expr half = SolveTriangle(l, inner, {.transpose = true});
  return {Symmetric(SolveTriangle(l, half, {.right = true}))};
}

SmallVector<Expr> TriangularSolveOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr a = b.wrap(getA()), x = b.wrap(getResult());
  Expr of_b = SolveTriangle(a, output_gradients[0],
                            {.upper = getUpper(),
                             .transpose = !getTranspose(),
                             .unit_diagonal = getUnitDiagonal(),
                             .right = getRight()});
  Expr of_a;
  if (getRight()) {
    of_a = getTranspose() ? Product(of_b, x, true, false) : Product(x, of_b, true, false);
  } else {
    of_a = getTranspose() ? Product(x, of_b, false, true) : Product(of_b, x, false, true);
  }
  of_a = -of_a;
  if (getUnitDiagonal()) {
    of_a = getUpper() ? StrictlyUpper(of_a) : StrictlyLower(of_a);
  } else {
    of_a = getUpper() ? Upper(of_a) : Lower(of_a);
  }
  return {of_a, of_b};
}

// QR
// -----------------------------------------------------------------------------------------------------------

namespace {

// The gradient of matrices with at least as many rows as columns.
Expr TallQrGradient(Expr q, Expr r, Expr of_q, Expr of_r) {
  Expr m = Product(r, of_r, false, true) - Product(of_q, q, true, false);
  // The lower triangle, copied to the upper one.
  m = Lower(m) + Transposed(StrictlyLower(m));
  return SolveTriangle(r, of_q + Product(q, m), {.upper = true, .transpose = true, .right = true});
}

}  // namespace

SmallVector<Expr> QrOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr a = b.wrap(getA()), q = b.wrap(getQ()), r = b.wrap(getR());
  Expr of_q = output_gradients[0] ? output_gradients[0] : b.zeros(q);
  Expr of_r = output_gradients[1] ? Upper(output_gradients[1]) : b.zeros(r);
  const int64_t m = RowsOf(a), n = ColumnsOf(a);
  if (m >= n) return {TallQrGradient(q, r, of_q, of_r)};
  // The first m columns have the factors Q and the first part of R; the others are Q times the rest of R.
  Expr of_rest = Columns(of_r, m, n);
  of_q = of_q + Product(Columns(a, m, n), of_rest, false, true);
  Expr first = TallQrGradient(q, Columns(r, 0, m), of_q, Columns(of_r, 0, m));
  return {b.concat({first, Product(q, of_rest)}, RankOf(a) - 1)};
}

// Eigenvalues and singular values
// -----------------------------------------------------------------------------------------------------------

SmallVector<Expr> EighOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr w = b.wrap(getValues()), v = b.wrap(getVectors());
  Expr of_w = output_gradients[0], of_v = output_gradients[1], result;
  if (of_w) result = Product(v * PerColumn(of_w, v), v, false, true);
  if (of_v) {
    Expr inner = InverseDifferences(w, v) * Product(v, of_v, true, false);
    Expr rest = Product(Product(v, inner), v, false, true);
    result = result ? result + rest : rest;
  }
  return {Symmetric(result)};
}

SmallVector<Expr> SvdOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr a = b.wrap(getA()), u = b.wrap(getU()), s = b.wrap(getS()), vt = b.wrap(getVt());
  Expr of_u = output_gradients[0], of_s = output_gradients[1], of_vt = output_gradients[2], sum;
  const auto add = [&](Expr term) { sum = sum ? sum + term : term; };
  if (of_s) add(Product(u * PerColumn(of_s, u), vt));
  if (of_u) {
    Expr projected = Product(u, of_u, true, false);
    Expr inner = InverseDifferences(b.square(s), projected) * Skew(projected);
    add(Product(Product(u, inner * PerColumn(s, inner)), vt));
    // The part of the gradient that leaves the space of the columns of U.
    if (RowsOf(a) > ColumnsOf(u)) {
      Expr outside = of_u - Product(u, projected);
      add(Product(outside / PerColumn(s, outside), vt));
    }
  }
  if (of_vt) {
    Expr projected = Product(vt, of_vt, false, true);
    Expr inner = InverseDifferences(b.square(s), projected) * Skew(projected);
    add(Product(u, Product(inner * PerRow(s, inner), vt)));
    if (ColumnsOf(a) > RowsOf(vt)) {
      Expr outside = of_vt - Product(projected, vt, true, false);
      add(Product(u, outside / PerRow(s, outside)));
    }
  }
  return {sum};
}

// LU and systems
// -----------------------------------------------------------------------------------------------------------

namespace {

// The rows of x at `rows`, a number for each row of the result.
Expr RowsAt(Expr x, Expr rows) {
  GraphBuilder& b = *x.builder;
  return b.wrap(b.builder().create<TakeAlongOp>(b.loc(), x.type(), x.value,
                                                b.broadcast(rows, x.shape(), DimsBut(x, RankOf(x) - 1)).value,
                                                RankOf(x) - 2));
}

// The inverse of a permutation: number i is the place of i.
Expr InversePermutation(Expr permutation) {
  GraphBuilder& b = *permutation.builder;
  SmallVector<int64_t> shape(permutation.shape());
  shape.push_back(shape.back());
  const int64_t rank = static_cast<int64_t>(shape.size());
  Expr place = b.iota(shape, permutation.element(), rank - 2);
  Expr number = b.iota(shape, permutation.element(), rank - 1);
  Expr given = b.broadcast(permutation, shape, DimsBut(place, rank - 1));
  return b.sum(b.select(b.eq(given, number), place, b.zeros(place)), {rank - 2});
}

}  // namespace

SmallVector<Expr> LuOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  if (!output_gradients[0]) return {Expr()};
  Expr lu = b.wrap(getLu()), g = output_gradients[0];
  const Places at = PlacesIn(lu);
  Expr is_diagonal = b.broadcastAlong(b.eq(at.row, at.column), lu, {RankOf(lu) - 2, RankOf(lu) - 1});
  Expr l = b.select(is_diagonal, b.ones(lu), StrictlyLower(lu));
  Expr inner = StrictlyLower(Product(l, StrictlyLower(g), true, false)) +
               Upper(Product(Upper(g), Upper(lu), false, true));
  Expr left = SolveTriangle(lu, inner, {.transpose = true, .unit_diagonal = true});
  Expr rows = SolveTriangle(lu, left, {.upper = true, .transpose = true, .right = true});
  return {RowsAt(rows, InversePermutation(b.wrap(getPermutation())))};
}

SmallVector<Value> SolveOp::decompose(GraphBuilder& b) {
  Expr a = b.wrap(getA()), sides = b.wrap(getB());
  SmallVector<int64_t> rows(a.shape().drop_back(1));
  auto factors = b.builder().create<LuOp>(b.loc(), a.type(),
                                          RankedTensorType::get(rows, b.builder().getI32Type()), a.value);
  Expr lu = b.wrap(factors.getLu()), permutation = b.wrap(factors.getPermutation());
  // Rows p of A are L U. So A^T is U^T L^T after the rows are in the order p.
  if (getTranspose()) {
    Expr y = SolveTriangle(lu, sides, {.upper = true, .transpose = true});
    Expr z = SolveTriangle(lu, y, {.transpose = true, .unit_diagonal = true});
    return {RowsAt(z, InversePermutation(permutation)).value};
  }
  Expr y = SolveTriangle(lu, RowsAt(sides, permutation), {.unit_diagonal = true});
  return {SolveTriangle(lu, y, {.upper = true}).value};
}

SmallVector<Expr> SolveOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr a = b.wrap(getA()), x = b.wrap(getResult());
  Expr of_b = b.wrap(
      b.builder().create<SolveOp>(b.loc(), x.type(), a.value, output_gradients[0].value, !getTranspose()));
  return {-(getTranspose() ? Product(x, of_b, false, true) : Product(of_b, x, false, true)), of_b};
}

}  // namespace sinter::ir
