#include "sinter/passes/rewrite/slice_gradients.h"

#include <set>

namespace sinter {

namespace {

using ir::Expr;

// Returns the only padded dimension; -1 if there is none, -2 if there are several.
int64_t DimOf(ir::PadOp op) {
  int64_t dim = -1;
  for (auto [d, low] : llvm::enumerate(op.getLow())) {
    if (low == 0 && op.getHigh()[d] == 0) continue;
    dim = dim == -1 ? static_cast<int64_t>(d) : -2;
  }
  return dim;
}

// Begin and end of a part along a dimension.
int64_t BeginOf(ir::PadOp op, int64_t dim) { return op.getLow()[dim]; }
int64_t EndOf(ir::PadOp op, int64_t dim) { return op.getType().getDimSize(dim) - op.getHigh()[dim]; }

Expr Joined(ir::GraphBuilder& b, llvm::ArrayRef<ir::PadOp> parts, int64_t dim) {
  ir::PadOp first = parts.front();
  mlir::RankedTensorType type = first.getType();
  llvm::SmallVector<Expr> pieces;
  int64_t end = 0;
  const auto fill_up_to = [&](int64_t begin) {
    if (begin == end) return;
    llvm::SmallVector<int64_t> shape(type.getShape());
    shape[dim] = begin - end;
    pieces.push_back(b.full(shape, type.getElementType(), 0));
  };
  for (ir::PadOp part : parts) {
    fill_up_to(BeginOf(part, dim));
    pieces.push_back(b.wrap(part.getX()));
    end = EndOf(part, dim);
  }
  fill_up_to(type.getDimSize(dim));
  return b.concat(pieces, dim);
}

}  // namespace

bool IsPlacedPart(ir::PadOp op) {
  const bool is_zero = op.getValue().isPosZero();
  const bool is_dense = llvm::all_of(op.getInterior(), [](int64_t between) { return between == 0; });
  return is_zero && is_dense && op.getX().getType().getNumElements() > 0 && DimOf(op) >= 0;
}

llvm::SmallVector<Expr> SumOfParts(ir::GraphBuilder& b, llvm::ArrayRef<ir::PadOp> parts) {
  // Rows of parts that do not overlap: each part is appended to the row with the largest end that is not
  // after its begin.
  struct Row {
    int64_t dim;
    llvm::SmallVector<ir::PadOp> parts;
  };
  llvm::SmallVector<Row> rows;
  llvm::SmallVector<ir::PadOp> order(parts);
  llvm::stable_sort(order, [](ir::PadOp x, ir::PadOp y) {
    const int64_t x_dim = DimOf(x), y_dim = DimOf(y);
    return x_dim != y_dim ? x_dim < y_dim : BeginOf(x, x_dim) < BeginOf(y, y_dim);
  });
  std::set<std::pair<int64_t, size_t>> ends;  // Ends of the rows along `dim`, with their numbers.
  int64_t dim = -1;
  for (ir::PadOp part : order) {
    if (DimOf(part) != dim) ends.clear();
    dim = DimOf(part);
    auto behind = ends.lower_bound({BeginOf(part, dim) + 1, 0});
    size_t row = rows.size();
    if (behind == ends.begin()) {
      rows.push_back({dim, {}});
    } else {
      row = std::prev(behind)->second;
      ends.erase(std::prev(behind));
    }
    rows[row].parts.push_back(part);
    ends.insert({EndOf(part, dim), row});
  }
  llvm::SmallVector<Expr> terms;
  for (Row& row : rows) {
    terms.push_back(row.parts.size() == 1 ? b.wrap(row.parts.front().getResult())
                                          : Joined(b, row.parts, row.dim));
    if (row.parts.size() == 1) continue;
    for (ir::PadOp part : row.parts) {
      if (part.use_empty()) part.erase();
    }
  }
  return terms;
}

}  // namespace sinter
