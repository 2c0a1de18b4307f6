// Attention of few queries: the op by which sinter-decompose leaves it to a kernel.
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/attention_shape.h"

namespace sinter::ir {

using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;

AttentionShape AttentionShape::OfFew(ValueRange inputs, int64_t heads, bool by_head) {
  auto q = TypeOf(inputs[0]);
  llvm::ArrayRef<int64_t> s = q.getShape(), k = TypeOf(inputs[1]).getShape();
  return {s[0], s[1], k[by_head ? 2 : 1], heads, k[by_head ? 1 : 2], s[3], false, q.getElementType()};
}

namespace {

// Checks the rows that the caches take.
LogicalResult CheckRows(FewQueriesAttentionOp op, const AttentionShape& s) {
  const size_t count = op.getRows().size();
  if (count == 0 && !op.getPosition() && op.getCaches().empty()) return mlir::success();
  if (count != 2 || !op.getPosition() || op.getCaches().size() != 2 || !op.getByHead() ||
      TypeOf(op.getPosition()).getShape() != llvm::ArrayRef<int64_t>({1})) {
    return op.emitOpError("takes two rows at one position, by head, and returns both caches");
  }
  const auto firsts = {op.getFirstKey(), op.getFirstValue()};
  for (auto [row, first, cache] : llvm::zip(op.getRows(), firsts, op.getCaches())) {
    auto type = TypeOf(row);
    const auto begin = static_cast<int64_t>(first);
    const bool fits = type.getRank() == 4 && begin >= 0 && begin + s.key_heads <= type.getDimSize(2);
    const auto whole =
        RankedTensorType::get({s.batch, 1, fits ? type.getDimSize(2) : s.key_heads, s.width}, s.element);
    if (!fits || type != whole || cache.getType() != op.getInputs()[1].getType()) {
      return op.emitOpError() << "has a row of type " << type << " with heads from " << begin
                              << " on and a cache of type " << cache.getType() << "; expected " << whole
                              << " and " << op.getInputs()[1].getType();
    }
  }
  return mlir::success();
}

// `heads` heads of x [B, T, HT, D] from `first` on.
Expr SomeHeads(GraphBuilder& b, Expr x, int64_t first, int64_t heads) {
  if (x.shape()[2] == heads) return x;
  SmallVector<int64_t> limits(x.shape());
  limits[2] = first + heads;
  return b.slice(x, {0, 0, first, 0}, limits, {1, 1, 1, 1});
}

}  // namespace

LogicalResult FewQueriesAttentionOp::verify() {
  if (getInputs().size() != 3 || TypeOf(getInputs()[0]).getRank() != 4 ||
      TypeOf(getInputs()[1]).getRank() != 4) {
    return emitOpError("has other inputs than q, k and v of four dimensions");
  }
  const auto heads = static_cast<int64_t>(getHeads()), first = static_cast<int64_t>(getFirstHead());
  const AttentionShape s = AttentionShape::OfFew(getInputs(), heads, getByHead());
  if (s.keys < 1 || s.width < 1 || s.key_heads < 1 || heads < 1 || heads % s.key_heads != 0 || first < 0 ||
      first + heads > TypeOf(getInputs()[0]).getDimSize(2)) {
    return emitOpError() << "has " << heads << " heads from " << first << " on, of q "
                         << getInputs()[0].getType() << " and k " << getInputs()[1].getType()
                         << "; expected heads that q has, a multiple of k's, and keys";
  }
  const auto window = static_cast<int64_t>(getWindow());
  if (window < 0 || !getScale().isFinite() || ((getCausal() || window > 0) && s.keys < s.queries)) {
    return emitOpError(
        "has a window below 0, a scale that is not finite, or a mask with more queries than keys");
  }
  const auto of_keys = RankedTensorType::get(
      getByHead() ? SmallVector<int64_t>{s.batch, s.key_heads, s.keys, s.width} : s.keysShape(), s.element);
  if (getInputs()[1].getType() != of_keys || getInputs()[2].getType() != of_keys) {
    return emitOpError() << "has k of type " << getInputs()[1].getType() << " and v of type "
                         << getInputs()[2].getType() << "; expected " << of_keys;
  }
  if (getBias() && mlir::failed(CheckScoreBias(*this, getBias(), s))) return mlir::failure();
  const auto result = RankedTensorType::get(s.queriesShape(), s.element);
  if (getResult().getType() != result) {
    return emitOpError() << "has a result of type " << getResult().getType() << "; expected " << result;
  }
  return CheckRows(*this, s);
}

bool FewQueriesAttentionOp::mayUpdateInPlace(unsigned operand, unsigned result) {
  return result > 0 && operand == result;
}

SmallVector<Value> FewQueriesAttentionOp::decompose(GraphBuilder& b) {
  const auto heads = static_cast<int64_t>(getHeads());
  const AttentionShape s = AttentionShape::OfFew(getInputs(), heads, getByHead());
  SmallVector<Value> inputs(getInputs()), results = {Value()};
  inputs[0] = SomeHeads(b, b.wrap(inputs[0]), static_cast<int64_t>(getFirstHead()), heads).value;
  const uint64_t firsts[] = {getFirstKey(), getFirstValue()};
  for (size_t i = 0; i < getRows().size(); ++i) {
    Expr row = SomeHeads(b, b.wrap(getRows()[i]), static_cast<int64_t>(firsts[i]), s.key_heads);
    row = b.transpose(row, {0, 2, 1, 3});
    Value& cache = inputs[i + 1];
    cache = b.builder().create<ScatterOp>(b.loc(), cache.getType(), cache, getPosition(), row.value,
                                          ScatterKind::set, 2);
    results.push_back(cache);
  }
  for (Value& x : llvm::MutableArrayRef(inputs).drop_front()) {
    if (getByHead()) x = b.transpose(b.wrap(x), {0, 2, 1, 3}).value;
  }
  auto whole =
      b.builder().create<AttentionOp>(b.loc(), getResult().getType(), mlir::Type(), inputs, getBias(),
                                      getScale(), getCausal(), getWindow(), MathMode::ieee);
  results[0] = whole.getResult();
  return results;
}

// Examples are independent. So are heads, but `heads` counts all of them.
FactorRule FewQueriesAttentionOp::getFactorRule() {
  const auto s = AttentionShape::OfFew(getInputs(), static_cast<int64_t>(getHeads()), getByHead());
  const std::string keys = "b . . .";
  SmallVector<std::string> operands(3, keys), results = {keys};
  if (getBias()) operands.push_back(TypeOf(getBias()).getDimSize(0) == 1 ? ". . . ." : keys);
  operands.append(getRows().size(), keys);
  if (getPosition()) operands.push_back(".");
  results.append(getCaches().size(), keys);
  return SpellFactors(*this, {{s.batch, FactorKind::kParallel, 'b'}}, operands, results);
}

}  // namespace sinter::ir
