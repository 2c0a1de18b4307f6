#include "sinter/passes/layout/wide_values.h"

#include <limits>

#include "llvm/ADT/TypeSwitch.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::ShapeOf;
using ir::TypeOf;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

// Searches end here: longer chains of ops between two library ops are rare.
constexpr int kMostDepth = 256;

bool Has(Dims dims, size_t d) { return dims >> d & 1; }

bool IsWideSplat(Operation* op) {
  auto constant = llvm::dyn_cast<ir::ConstantOp>(op);
  return constant && llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
}

// Elements behind dimension d.
int64_t Inner(Value value, size_t d) { return ir::SizesAround(value, static_cast<int64_t>(d)).inner; }

std::optional<Dims> ThroughReshape(ir::ReshapeOp op, Dims dims) {
  Dims of_operand = 0;
  for (size_t d = 0; d < ShapeOf(op.getResult()).size(); ++d) {
    if (!Has(dims, d)) continue;
    const llvm::ArrayRef<int64_t> shape = ShapeOf(op.getX());
    size_t e = 0;
    while (e < shape.size() &&
           (shape[e] != ShapeOf(op.getResult())[d] || Inner(op.getX(), e) != Inner(op.getResult(), d))) {
      ++e;
    }
    if (e == shape.size()) return std::nullopt;
    of_operand |= Dims{1} << e;
  }
  return of_operand;
}

Dims ThroughBroadcast(ir::BroadcastOp op, Dims dims) {
  Dims of_operand = 0;
  for (auto [i, d] : llvm::enumerate(op.getDims())) {
    if (Has(dims, d) && ShapeOf(op.getX())[i] == ShapeOf(op.getResult())[d]) of_operand |= Dims{1} << i;
  }
  return of_operand;
}

// The operand's dimensions of a reduction's result.
Dims ThroughReduction(ir::ReductionInterface op, Dims dims) {
  Dims of_operand = 0;
  size_t kept = 0;
  for (size_t d = 0; d < ShapeOf(op->getOperand(0)).size(); ++d) {
    if (llvm::is_contained(op.getReducedDims(), static_cast<int64_t>(d))) continue;
    if (Has(dims, kept++)) of_operand |= Dims{1} << d;
  }
  return of_operand;
}

}  // namespace

int64_t WideSize(int64_t size) {
  const int64_t lines = ir::RoundUp(size, 64);
  return (lines - size) * 100 < size ? lines : ir::RoundUp(size, 8);
}

RankedTensorType WideType(RankedTensorType type, Dims dims) {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (Has(dims, d)) size = WideSize(size);
  }
  return type.clone(shape);
}

std::optional<SmallVector<Dims>> WideOperands(Operation* op, Dims dims) {
  using Answer = std::optional<SmallVector<Dims>>;
  if (op->getNumResults() != 1) return std::nullopt;
  return llvm::TypeSwitch<Operation*, Answer>(op)
      .Case([&](ir::ConstantOp) { return IsWideSplat(op) ? Answer(SmallVector<Dims>()) : std::nullopt; })
      .Case([&](ir::IotaOp iota) { return Answer(SmallVector<Dims>(iota->getNumOperands(), 0)); })
      .Case([&](ir::BroadcastOp broadcast) { return SmallVector<Dims>{ThroughBroadcast(broadcast, dims)}; })
      .Case([&](ir::ReshapeOp reshape) {
        const std::optional<Dims> of_operand = ThroughReshape(reshape, dims);
        return of_operand ? Answer(SmallVector<Dims>{*of_operand}) : std::nullopt;
      })
      .Case([&](ir::TransposeOp transpose) {
        Dims of_operand = 0;
        for (auto [d, e] : llvm::enumerate(transpose.getPermutation())) {
          if (Has(dims, d)) of_operand |= Dims{1} << e;
        }
        return Answer(SmallVector<Dims>{of_operand});
      })
      .Case([&](ir::ReductionInterface reduction) {
        return Answer(SmallVector<Dims>{ThroughReduction(reduction, dims)});
      })
      .Case([&](ir::PointwiseInterface) { return Answer(SmallVector<Dims>(op->getNumOperands(), dims)); })
      .Default([](Operation*) { return std::nullopt; });
}

void ReplaceBehind(Value value, Value with) {
  Operation* const from = with.getDefiningOp();
  value.replaceUsesWithIf(with, [&](mlir::OpOperand& use) {
    Operation* const reader = from->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return reader && from->isBeforeInBlock(reader);
  });
}

const WideValues::Wide* WideValues::find(Value value, Dims dims) const {
  auto found = wide_.find(value);
  if (found == wide_.end()) return nullptr;
  const auto* wide = llvm::find_if(found->second, [&](const Wide& w) { return w.dims == dims; });
  return wide == found->second.end() ? nullptr : wide;
}

const WideValues::Wide* WideValues::computed(Value value) const {
  auto found = wide_.find(value);
  if (found == wide_.end()) return nullptr;
  const auto* wide = llvm::find_if(found->second, [](const Wide& w) { return w.is_computed; });
  return wide == found->second.end() ? nullptr : wide;
}

void WideValues::add(Value value, const Wide& wide, Fill fill) {
  wide_[value].push_back(wide);
  fills_.try_emplace(wide.value, fill);
}

Value WideValues::any(Value value, Dims dims) {
  if (dims == 0) return value;
  if (const Wide* known = find(value, dims)) return known->value;
  return build(value, dims);
}

Value WideValues::build(Value value, Dims dims) {
  Operation* op = value.getDefiningOp();
  const auto of_operands = op ? WideOperands(op, dims) : std::nullopt;
  const bool is_computed = of_operands && reaches(value, dims, 0);
  if (!of_operands || (!is_computed && !isMade(value, 0) && !llvm::isa<ir::BroadcastOp>(op))) {
    const Value padded = pad(value, dims);
    add(value, {dims, padded, false}, Fill::kZero);
    return padded;
  }
  Value wide = widen(op, dims, *of_operands);
  wide = forMaximum(value, wide, dims);
  add(value, {dims, wide, is_computed}, Fill::kUnknown);  // Ignored where widen() knows more.
  return wide;
}

Value WideValues::pad(Value value, Dims dims) {
  ir::PlacedBuilder at(value);
  ir::GraphBuilder b(at, value.getLoc());
  const RankedTensorType type = TypeOf(value), wide = WideType(type, dims);
  const SmallVector<int64_t> none(type.getRank(), 0);
  SmallVector<int64_t> high;
  for (auto [size, more] : llvm::zip_equal(type.getShape(), wide.getShape())) high.push_back(more - size);
  return b.pad(b.wrap(value), none, high, none, 0).value;
}

// Builds the op with a wide result.
Value WideValues::widen(Operation* op, Dims dims, llvm::ArrayRef<Dims> of_operands) {
  SmallVector<Value> operands;
  for (auto [operand, of_operand] : llvm::zip_equal(op->getOperands(), of_operands)) {
    operands.push_back(any(operand, of_operand));
  }
  ir::PlacedBuilder at(op);
  at.setInsertionPointAfter(op);
  Operation* wide = at.clone(*op);
  wide->setOperands(operands);
  wide->getResult(0).setType(WideType(TypeOf(op->getResult(0)), dims));
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(wide)) {
    auto splat = llvm::cast<mlir::SplatElementsAttr>(constant.getValue());
    constant.setValueAttr(splat.resizeSplat(TypeOf(wide->getResult(0))));
  }
  fills_[wide->getResult(0)] = fillOf(op, dims, operands);
  return wide->getResult(0);
}

// True if ops on wide values should compute `value`: if it depends on a wide value through ops that
// WideOperands knows, or on a reduction of rows of its own shape, which is then part of the same kernel.
bool WideValues::reaches(Value value, Dims dims, int depth) {
  if (dims == 0) return false;
  if (const Wide* known = find(value, dims)) return known->is_computed;
  Operation* op = value.getDefiningOp();
  if (!op || depth > kMostDepth) return false;
  if (auto known = reaches_.find({value, dims}); known != reaches_.end()) return known->second;
  bool result = false;
  if (const auto of_operands = WideOperands(op, dims)) {
    for (auto [operand, of_operand] : llvm::zip_equal(op->getOperands(), *of_operands)) {
      result = result || reaches(operand, of_operand, depth + 1);
    }
    auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op);
    result = result || (broadcast && reducesRowsLike(broadcast.getX(), value, dims));
  }
  return reaches_[{value, dims}] = result;
}

// True if a value of rows comes from a reduction of a value of the shape of `value` along `dims`.
bool WideValues::reducesRowsLike(Value row_value, Value value, Dims dims) const {
  constexpr size_t kMost = 32;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(row_value);
  for (size_t i = 0; i < std::min(seen.size(), kMost); ++i) {
    Operation* op = seen[i].getDefiningOp();
    if (!op) continue;
    if (auto reduction = llvm::dyn_cast<ir::ReductionInterface>(op)) {
      const bool is_like = ShapeOf(op->getOperand(0)) == ShapeOf(value);
      Dims reduced = 0;
      for (int64_t d : reduction.getReducedDims()) reduced |= Dims{1} << d;
      if (is_like && (dims & ~reduced) == 0) return true;
    } else if (llvm::isa<ir::PointwiseInterface, ir::BroadcastOp, ir::ReshapeOp>(op)) {
      seen.insert(op->operand_begin(), op->operand_end());
    }
  }
  return false;
}

// True if each element follows from its coordinates and from what broadcasts repeat.
bool WideValues::isMade(Value value, int depth) {
  Operation* op = value.getDefiningOp();
  if (!op || depth > kMostDepth) return false;
  if (llvm::isa<ir::IotaOp, ir::BroadcastOp>(op) || IsWideSplat(op)) return true;
  if (!llvm::isa<ir::PointwiseInterface>(op)) return false;
  if (auto known = made_.find(value); known != made_.end()) return known->second;
  const bool result =
      llvm::all_of(op->getOperands(), [&](Value operand) { return isMade(operand, depth + 1); });
  return made_[value] = result;
}

// True if the value is the same in the padding as beside it.
bool WideValues::isSpread(Value value, Dims dims) const {
  Operation* op = value.getDefiningOp();
  if (!op) return false;
  if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op)) return ThroughBroadcast(broadcast, dims) == 0;
  return IsWideSplat(op) || (llvm::isa<ir::CastOp>(op) && isSpread(op->getOperand(0), dims));
}

// Returns what the padding has after an op. Zero times a factor of the row counts as zero: if the factor is
// infinite or NaN, so is the row.
WideValues::Fill WideValues::fillOf(Operation* op, Dims dims, llvm::ArrayRef<Value> wides) const {
  SmallVector<Fill> fills;
  for (Value operand : wides) fills.push_back(fills_.lookup(operand));
  auto zero = [&](size_t i) { return fills[i] == Fill::kZero; };
  auto spread = [&](size_t i) { return isSpread(op->getOperand(i), dims); };
  auto zero_if = [](bool is_zero) { return is_zero ? Fill::kZero : Fill::kUnknown; };
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op)) {
    auto splat = llvm::cast<mlir::SplatElementsAttr>(constant.getValue());
    auto number = llvm::dyn_cast<mlir::FloatAttr>(splat.getSplatValue<mlir::Attribute>());
    return zero_if(number && number.getValue().isZero());
  }
  return llvm::TypeSwitch<Operation*, Fill>(op)
      .Case([&](ir::CastOp) { return fills[0]; })
      .Case<ir::ReshapeOp, ir::TransposeOp>([&](auto) { return fills[0]; })
      .Case([&](ir::BroadcastOp b) { return ThroughBroadcast(b, dims) ? fills[0] : Fill::kUnknown; })
      .Case<ir::NegOp, ir::AbsOp, ir::ReluOp, ir::GeluOp, ir::GeluTanhOp, ir::SiluOp, ir::TanhOp, ir::SqrtOp,
            ir::SquareOp, ir::ErfOp, ir::SinOp, ir::Expm1Op, ir::Log1pOp>(
          [&](auto) { return zero_if(zero(0)); })
      .Case([&](ir::ExpOp) { return zero_if(fills[0] == Fill::kLowest); })
      .Case([&](ir::MulOp) { return zero_if((zero(0) && (zero(1) || spread(1))) || (zero(1) && spread(0))); })
      .Case([&](ir::DivOp) { return zero_if(zero(0) && spread(1)); })
      .Case<ir::AddOp, ir::SubOp>([&](auto) {
        if (fills[0] == Fill::kLowest && (spread(1) || zero(1))) return Fill::kLowest;
        return zero_if(zero(0) && zero(1));
      })
      .Case<ir::MaximumOp, ir::MinimumOp>([&](auto) { return zero_if(zero(0) && zero(1)); })
      .Case([&](ir::SelectOp) { return zero_if(zero(1) && zero(2)); })
      .Default([](Operation*) { return Fill::kUnknown; });
}

// Returns `wide` with `outside` in the padding along `dims`.
Value WideValues::masked(Value value, Value wide, Dims dims, double outside) {
  ir::PlacedBuilder at(wide);
  ir::GraphBuilder b(at, value.getLoc());
  const ir::Expr x = b.wrap(wide);
  ir::Expr inside;
  for (size_t d = 0; d < ShapeOf(value).size(); ++d) {
    if (!Has(dims, d)) continue;
    const ir::Expr at_d = b.iota(x.shape(), at.getI32Type(), static_cast<int64_t>(d));
    const ir::Expr here = b.lt(at_d, b.fill(at_d, static_cast<double>(ShapeOf(value)[d])));
    inside = inside ? b.logicalAnd(inside, here) : here;
  }
  return b.select(inside, x, b.fill(x, outside)).value;
}

Value WideValues::zeroed(Value value, Dims dims, Dims zeros) {
  Value wide = any(value, dims);
  if (zeros == 0 || hasZeros(wide)) return wide;
  if (Value made = zeroed_.lookup({{value, dims}, zeros})) return made;
  const Value made = masked(value, wide, zeros, 0);
  zeroed_[{{value, dims}, zeros}] = made;
  if (zeros != dims) return made;
  fills_[made] = Fill::kZero;
  // Other readers need no other padding, so that one value is stored, unless the padding is for a maximum.
  if (fills_.lookup(wide) == Fill::kLowest) return made;
  ReplaceBehind(wide, made);
  for (Wide& known : wide_[value]) {
    if (known.value == wide) known.value = made;
  }
  return made;
}

// The maximum of a row, and the exponentials behind it, need no masks of their own if the padding is the
// lowest number.
Value WideValues::forMaximum(Value value, Value wide, Dims dims) {
  if (!llvm::isa<mlir::FloatType>(TypeOf(value).getElementType())) return wide;
  if (fills_.lookup(wide) == Fill::kLowest) return wide;
  const bool has_maximum = llvm::any_of(value.getUsers(), [&](Operation* user) {
    auto max = llvm::dyn_cast<ir::MaxOp>(user);
    Dims reduced = 0;
    if (max) {
      for (int64_t d : max.getDims()) reduced |= Dims{1} << d;
    }
    return max && (dims & ~reduced) == 0;
  });
  if (!has_maximum) return wide;
  const Value lowest = masked(value, wide, dims, -std::numeric_limits<double>::infinity());
  fills_[lowest] = Fill::kLowest;
  return lowest;
}

}  // namespace sinter
