#include "sinter/passes/reshape_chain.h"

#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/passes/input_parts.h"

namespace sinter {

using ir::ShapeOf;
using llvm::ArrayRef;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

RankedTensorType WithShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, ir::TypeOf(value).getElementType());
}

bool IsSplat(Operation* op) {
  auto constant = llvm::dyn_cast<ir::ConstantOp>(op);
  return constant && llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
}

struct ReshapedBroadcast {
  llvm::SmallVector<int64_t> operand_shape;  // The shape to which the operand must be reshaped.
  llvm::SmallVector<int64_t> dims;           // Dimensions of the new broadcast.
};

// Returns the broadcast that gives the same elements in `shape`; nullopt if `shape` merges dimensions of the
// operand with repeated ones.
std::optional<ReshapedBroadcast> ReshapeBroadcast(ir::BroadcastOp broadcast, llvm::ArrayRef<int64_t> shape) {
  llvm::ArrayRef<int64_t> from = broadcast.getType().getShape(),
                          operand = broadcast.getX().getType().getShape();
  if (!llvm::is_sorted(broadcast.getDims()) || broadcast.getType().getNumElements() == 0) return std::nullopt;
  // True for result dimensions that are dimensions of the operand; the others repeat it.
  llvm::SmallVector<bool> kept(from.size(), false);
  for (auto [i, d] : llvm::enumerate(broadcast.getDims())) kept[d] = operand[i] == from[d] && from[d] != 1;

  ReshapedBroadcast result;
  size_t i = 0, j = 0;
  // Runs of dimensions with the same elements on both sides must be kept or repeated as a whole.
  while (i < from.size() || j < shape.size()) {
    size_t begin = j;
    int64_t a = 1, b = 1;
    bool some_kept = false, some_repeated = false;
    auto take_from = [&] {
      a *= from[i];
      if (from[i] != 1) (kept[i] ? some_kept : some_repeated) = true;
      ++i;
    };
    if (i < from.size()) take_from();
    if (j < shape.size()) b *= shape[j++];
    while (a != b) {
      if (a < b) {
        take_from();
      } else {
        b *= shape[j++];
      }
    }
    if (some_kept && some_repeated) return std::nullopt;
    for (size_t d = begin; some_kept && d < j; ++d) {
      result.operand_shape.push_back(shape[d]);
      result.dims.push_back(d);
    }
  }
  return result;
}

// Longest chain that is followed.
constexpr int kDepth = 32;

bool CanReshapeChain(Value value, ArrayRef<int64_t> shape, int depth) {
  if (IsInMemory(value)) return true;
  Operation* def = value.getDefiningOp();
  if (IsSplat(def)) return true;
  if (depth == kDepth) return false;
  if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(def)) {
    auto reshaped = ReshapeBroadcast(broadcast, shape);
    if (!reshaped) return false;
    return ShapeOf(broadcast.getX()) == ArrayRef<int64_t>(reshaped->operand_shape) ||
           CanReshapeChain(broadcast.getX(), reshaped->operand_shape, depth + 1);
  }
  if (!value.hasOneUse()) return false;
  if (!ir::IsUnitReshape(def) && !llvm::isa<ir::PointwiseInterface>(def)) return false;
  return llvm::all_of(def->getOperands(),
                      [&](Value operand) { return CanReshapeChain(operand, shape, depth + 1); });
}

}  // namespace

bool IsInMemory(Value value) {
  Operation* def = value.getDefiningOp();
  if (!def || llvm::isa<ir::StepInterface>(def) || IsInputPart(def)) return true;
  if (llvm::isa<ir::ConstantOp>(def)) return !IsSplat(def);
  return llvm::isa<ir::ReshapeOp>(def) && !ir::IsUnitReshape(def);
}

bool CanReshape(Value value, ArrayRef<int64_t> shape) { return CanReshapeChain(value, shape, 0); }

Value CloneInShape(mlir::OpBuilder& builder, Operation* op, ArrayRef<int64_t> shape,
                   llvm::function_ref<Value(Value)> operand) {
  mlir::IRMapping mapping;
  for (Value old : op->getOperands()) {
    if (!mapping.contains(old)) mapping.map(old, operand(old));
  }
  Operation* clone = builder.clone(*op, mapping);
  clone->getResult(0).setType(WithShape(op->getResult(0), shape));
  return clone->getResult(0);
}

Value Reshape(mlir::OpBuilder& builder, Value value, ArrayRef<int64_t> shape) {
  if (ShapeOf(value) == shape) return value;
  Operation* def = value.getDefiningOp();
  mlir::Location loc = value.getLoc();
  if (def && IsSplat(def)) {
    auto splat = llvm::cast<mlir::SplatElementsAttr>(llvm::cast<ir::ConstantOp>(def).getValue());
    return builder.create<ir::ConstantOp>(loc, splat.resizeSplat(WithShape(value, shape)));
  }
  if (IsInMemory(value)) {
    auto inner = value.getDefiningOp<ir::ReshapeOp>();
    Value source = inner ? inner.getX() : value;
    if (ShapeOf(source) == shape) return source;
    return builder.create<ir::ReshapeOp>(loc, WithShape(value, shape), source);
  }
  if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(def)) {
    auto reshaped = ReshapeBroadcast(broadcast, shape);
    Value x = Reshape(builder, broadcast.getX(), reshaped->operand_shape);
    return builder.create<ir::BroadcastOp>(loc, WithShape(value, shape), x, reshaped->dims);
  }
  if (ir::IsUnitReshape(def)) return Reshape(builder, def->getOperand(0), shape);
  return CloneInShape(builder, def, shape, [&](Value operand) { return Reshape(builder, operand, shape); });
}

}  // namespace sinter
