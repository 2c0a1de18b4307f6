// How shape ops iterate and what they are on a part: ShardableInterface and LocalFormInterface.
#include <limits>
#include <numeric>

#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

constexpr char kRows = 'v';     // The factor of rows that indices name.
constexpr char kIndices = 'a';  // The first factor of indices.

// The words of dimensions begin to end - 1, whose factors have names from `first` on.
std::string WordsOf(char first, int64_t begin, int64_t end) {
  std::string text;
  for (int64_t d = begin; d < end; ++d) text += std::string(1, static_cast<char>(first + d)) + " ";
  return text;
}

// The factors of a table along whose dimension `dim` indices name rows.
SmallVector<Factor> TableFactors(mlir::RankedTensorType type, int64_t dim, ArrayRef<int64_t> indices,
                                 FactorKind index_kind) {
  SmallVector<Factor> factors;
  // Nothing adds up partial results of bools.
  const FactorKind rows = type.getElementType().isInteger(1) ? FactorKind::kWhole : FactorKind::kOwned;
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    const bool is_rows = static_cast<int64_t>(d) == dim;
    factors.push_back(
        {size, is_rows ? rows : FactorKind::kParallel, is_rows ? kRows : DimName(static_cast<int64_t>(d))});
  }
  for (auto [d, size] : llvm::enumerate(indices)) {
    factors.push_back({size, index_kind, static_cast<char>(kIndices + d)});
  }
  return factors;
}

// The words of a table with `inner` in place of its dimension `dim`.
std::string TableText(int64_t rank, int64_t dim, const std::string& inner) {
  return WordsOf(DimName(0), 0, dim) + inner + " " + WordsOf(DimName(0), dim + 1, rank);
}

// Returns the part of the factor of rows; all of them if `dims` has none.
FactorPart RowsOf(const ValueFactors& dims, int64_t dim, ArrayRef<FactorPart> parts) {
  return dims[dim].empty() ? FactorPart{1} : parts[dims[dim].front()];
}

// Returns indices that count from the part's first row. A part of a large table may begin beyond the range of
// i32.
Value OwnIndices(mlir::OpBuilder& builder, mlir::Location loc, Value indices, int64_t rows,
                 const FactorPart& own) {
  if (own.offset.isNull()) return indices;
  GraphBuilder b(builder, loc);
  Expr named = b.wrap(indices);
  if (rows > std::numeric_limits<int32_t>::max()) named = b.cast(named, builder.getI64Type());
  return LessOffset(builder, loc, named.value, own);
}

// Reads rows of a part of the table: elements whose index names another part's row are zeros. `read` builds
// the op for indices that count from the part's first row; `dims` are those dimensions of its result along
// which indices run.
Value ReadOwnRows(mlir::OpBuilder& builder, mlir::Location loc, Value indices, int64_t rows,
                  const FactorPart& own, ArrayRef<int64_t> dims,
                  llvm::function_ref<Value(Value indices)> read) {
  GraphBuilder b(builder, loc);
  // The op clamps indices to the whole table. i32 holds no index beyond a larger one.
  Expr named = b.wrap(indices);
  if (rows <= std::numeric_limits<int32_t>::max() || named.element().isInteger(64)) {
    named = b.minimum(named, b.fill(named, static_cast<double>(rows - 1)));
  }
  named = b.maximum(named, b.zeros(named));
  Expr local = b.wrap(OwnIndices(builder, loc, named.value, rows, own));
  Expr is_own =
      b.logicalAnd(b.ge(local, b.zeros(local)), b.lt(local, b.fill(local, static_cast<double>(own.size))));
  Expr result = b.wrap(read(local.value));
  return b.select(b.broadcastAlong(is_own, result, dims), result, b.zeros(result)).value;
}

template <typename Op>
FactorRule ScatterFactors(Op op, FactorKind index_kind) {
  ArrayRef<int64_t> indices = op.getIndices().getType().getShape();
  const int64_t dim = op.getDim(), rank = op.getX().getType().getRank();
  const SmallVector<Factor> factors = TableFactors(op.getX().getType(), dim, indices, index_kind);
  const std::string named = WordsOf(kIndices, 0, indices.size());
  const std::string rows = TableText(rank, dim, {kRows});
  return SpellFactors(op, factors, {rows, named, TableText(rank, dim, named)}, {rows});
}

// A part ignores the indices of other parts' rows, which are out of its range.
template <typename Op>
SmallVector<Value> ScatterOwn(Op op, mlir::OpBuilder& builder, mlir::ValueRange operands,
                              const FactorRule& rule, ArrayRef<FactorPart> parts) {
  const FactorPart own = RowsOf(rule.operands[0], op.getDim(), parts);
  const int64_t rows = op.getX().getType().getDimSize(op.getDim());
  Value indices = OwnIndices(builder, op.getLoc(), operands[1], rows, own);
  return {CloneWithLocalTypes(builder, op, {operands[0], indices, operands[2]}, rule, parts)->getResult(0)};
}

}  // namespace

// constant, iota, one_hot -----------------------------------------------------------------------------------

// Other values than splats are stored whole.
FactorRule ConstantOp::getFactorRule() {
  const bool is_splat = llvm::isa<mlir::SplatElementsAttr>(getValue());
  return SameFactors(*this, [&](int64_t) { return is_splat; });
}
SmallVector<Value> ConstantOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange, const FactorRule& rule,
                                          ArrayRef<FactorPart> parts) {
  mlir::RankedTensorType type = LocalType(getType(), rule.results[0], parts);
  if (type == getType()) return {builder.clone(*getOperation())->getResult(0)};
  auto splat = llvm::cast<mlir::SplatElementsAttr>(getValue()).resizeSplat(type);
  auto part = llvm::cast<ConstantOp>(builder.clone(*getOperation()));
  part.setValueAttr(splat);
  part.getResult().setType(type);
  return {part.getResult()};
}

FactorRule IotaOp::getFactorRule() {
  FactorRule rule = SameFactors(*this, [](int64_t) { return true; });
  rule.factors[getDim()].is_counted = true;
  return rule;
}
SmallVector<Value> IotaOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                      const FactorRule& rule, ArrayRef<FactorPart> parts) {
  const auto& counted = rule.results[0][getDim()];
  auto part = llvm::cast<IotaOp>(CloneWithLocalTypes(builder, *this, operands, rule, parts));
  if (counted.empty() || parts[counted.front()].offset.isNull()) return {part.getResult()};
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(part);
  Value origin = OffsetValue(builder, getLoc(), parts[counted.front()]);
  if (getOrigin()) origin = builder.create<AddOp>(getLoc(), origin.getType(), operands[0], origin);
  part.getOriginMutable().assign(origin);
  return {part.getResult()};
}

FactorRule OneHotOp::getFactorRule() {
  const int64_t rank = getIndices().getType().getRank();
  const SmallVector<Factor> factors = TableFactors(getType(), rank, {}, FactorKind::kParallel);
  const std::string indices = WordsOf(DimName(0), 0, rank);
  return SpellFactors(*this, factors, {indices}, {indices + kRows});
}
// An index out of range gives zeros.
SmallVector<Value> OneHotOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                        const FactorRule& rule, ArrayRef<FactorPart> parts) {
  const FactorPart own = RowsOf(rule.results[0], getType().getRank() - 1, parts);
  Value indices = OwnIndices(builder, getLoc(), operands[0], getType().getShape().back(), own);
  return {CloneWithLocalTypes(builder, *this, indices, rule, parts)->getResult(0)};
}

// reshape, slice, concat, pad -------------------------------------------------------------------------------

// The common refinement of both shapes. Where sizes have no common divisor, dimensions are whole up to the
// next common boundary: [2, 3] and [3, 2] have none inside.
FactorRule ReshapeOp::getFactorRule() {
  FactorRule rule = WholeFactors(*this);
  if (getType().getNumElements() == 0) return rule;
  ArrayRef<int64_t> from = getX().getType().getShape(), to = getType().getShape();
  auto add = [&](int64_t size, FactorKind kind) {
    const char name = kind == FactorKind::kWhole ? '.' : static_cast<char>('a' + rule.factors.size());
    rule.factors.push_back({size, kind, name});
    return static_cast<unsigned>(rule.factors.size() - 1);
  };
  // Sizes that are left of the current dimensions; 1 between dimensions, and behind the last.
  int64_t a = 1, b = 1;
  size_t i = 0, j = 0;
  auto next = [](ArrayRef<int64_t> sizes, size_t& at) {
    while (at < sizes.size() && sizes[at] == 1) ++at;
    return at < sizes.size() ? sizes[at++] : 1;
  };
  while (true) {
    if (a == 1) a = next(from, i);
    if (b == 1) b = next(to, j);
    if (a == 1 && b == 1) return rule;
    if (const int64_t common = std::gcd(a, b); common > 1) {
      const unsigned factor = add(common, FactorKind::kParallel);
      rule.operands[0][i - 1].push_back(factor);
      rule.results[0][j - 1].push_back(factor);
      a /= common, b /= common;
      continue;
    }
    // No boundary is common until the products are equal.
    rule.operands[0][i - 1].push_back(add(a, FactorKind::kWhole));
    rule.results[0][j - 1].push_back(add(b, FactorKind::kWhole));
    while (a != b) {
      const bool is_from = a < b;
      int64_t& product = is_from ? a : b;
      const int64_t size = is_from ? from[i++] : to[j++];
      product *= size;
      (is_from ? rule.operands[0][i - 1] : rule.results[0][j - 1]).push_back(add(size, FactorKind::kWhole));
    }
    a = b = 1;
  }
}

// A cut dimension is one of which the slice takes all.
SmallVector<Value> SliceOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                       const FactorRule& rule, ArrayRef<FactorPart> parts) {
  auto part = llvm::cast<SliceOp>(CloneWithLocalTypes(builder, *this, operands, rule, parts));
  SmallVector<int64_t> limits(getLimits());
  for (auto [d, size] : llvm::enumerate(part.getType().getShape())) {
    if (size != getType().getDimSize(d)) limits[d] = size;
  }
  part.setLimits(limits);
  return {part.getResult()};
}

FactorRule ConcatOp::getFactorRule() {
  return SameFactors(*this, [&](int64_t d) { return d != static_cast<int64_t>(getDim()); });
}

FactorRule PadOp::getFactorRule() {
  return SameFactors(
      *this, [&](int64_t d) { return getLow()[d] == 0 && getHigh()[d] == 0 && getInterior()[d] == 0; });
}

// gather, take_along, scatter_add, scatter ------------------------------------------------------------------

FactorRule GatherOp::getFactorRule() {
  ArrayRef<int64_t> indices = getIndices().getType().getShape();
  const int64_t dim = getDim(), rank = getX().getType().getRank();
  const SmallVector<Factor> factors = TableFactors(getX().getType(), dim, indices, FactorKind::kParallel);
  const std::string named = WordsOf(kIndices, 0, indices.size());
  return SpellFactors(*this, factors, {TableText(rank, dim, {kRows}), named}, {TableText(rank, dim, named)});
}
SmallVector<Value> GatherOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                        const FactorRule& rule, ArrayRef<FactorPart> parts) {
  const FactorPart own = RowsOf(rule.operands[0], getDim(), parts);
  auto read = [&](Value indices) -> Value {
    return CloneWithLocalTypes(builder, *this, {operands[0], indices}, rule, parts)->getResult(0);
  };
  if (own.offset.isNull()) return {read(operands[1])};
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < getIndices().getType().getRank(); ++d) {
    dims.push_back(static_cast<int64_t>(getDim()) + d);
  }
  const int64_t rows = getX().getType().getDimSize(getDim());
  return {ReadOwnRows(builder, getLoc(), operands[1], rows, own, dims, read)};
}

FactorRule TakeAlongOp::getFactorRule() {
  const int64_t dim = getDim(), rank = getX().getType().getRank();
  const SmallVector<Factor> factors =
      TableFactors(getX().getType(), dim, {getType().getDimSize(dim)}, FactorKind::kParallel);
  const std::string named = TableText(rank, dim, {kIndices});
  return SpellFactors(*this, factors, {TableText(rank, dim, {kRows}), named}, {named});
}
SmallVector<Value> TakeAlongOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                           const FactorRule& rule, ArrayRef<FactorPart> parts) {
  const FactorPart own = RowsOf(rule.operands[0], getDim(), parts);
  auto read = [&](Value indices) -> Value {
    return CloneWithLocalTypes(builder, *this, {operands[0], indices}, rule, parts)->getResult(0);
  };
  if (own.offset.isNull()) return {read(operands[1])};
  const int64_t rows = getX().getType().getDimSize(getDim());
  const auto dims = llvm::to_vector(llvm::seq<int64_t>(0, getType().getRank()));
  return {ReadOwnRows(builder, getLoc(), operands[1], rows, own, dims, read)};
}

// Parts of the indices and their updates add up to the result; only one part adds the operand.
FactorRule ScatterAddOp::getFactorRule() {
  FactorRule rule = ScatterFactors(*this, FactorKind::kSum);
  rule.counts_once = {0};
  rule.linear_in = {{0, 2}};
  return rule;
}
SmallVector<Value> ScatterAddOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                            const FactorRule& rule, ArrayRef<FactorPart> parts) {
  return ScatterOwn(*this, builder, operands, rule, parts);
}

// Later updates of an element replace earlier ones, so that parts of the indices do not combine.
FactorRule ScatterOp::getFactorRule() {
  FactorRule rule = ScatterFactors(*this, FactorKind::kWhole);
  if (getKind() == ScatterKind::set) rule.linear_in = {{0, 2}};
  return rule;
}
SmallVector<Value> ScatterOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                         const FactorRule& rule, ArrayRef<FactorPart> parts) {
  return ScatterOwn(*this, builder, operands, rule, parts);
}

}  // namespace sinter::ir
