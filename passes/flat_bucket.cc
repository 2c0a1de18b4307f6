#include "sinter/passes/flat_bucket.h"

#include "llvm/Support/MathExtras.h"
#include "sinter/passes/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

int64_t SlotBytes(mlir::Type tensor) {
  return llvm::alignTo(plan_ir::TensorBytes(llvm::cast<mlir::RankedTensorType>(tensor)), kBucketAlignment);
}

// Whether the memory of `buffer` is written and not yet read, and the tensor is read by the collective alone, be it
// through reshapes.
bool MayMove(mlir::OpOperand& operand, Value buffer) {
  BufferPlace place = Resolve(buffer);
  if (!place.root.getDefiningOp<plan_ir::AllocOp>() || BytesOf(place.root) != BytesOf(buffer)) return false;
  for (Value value = operand.get(); value;) {
    if (!value.hasOneUse()) return false;
    auto reshape = value.getDefiningOp<ir::ReshapeOp>();
    value = reshape ? Value(reshape.getX()) : Value();
  }
  auto only_writes = [](Value memory) {
    return llvm::all_of(memory.getUses(), [](mlir::OpOperand& use) {
      return llvm::isa<plan_ir::ViewOp>(use.getOwner()) ||
             llvm::is_contained(WritesOf(use.getOwner()), use.get());
    });
  };
  for (Value memory = buffer; memory;) {
    bool reads = llvm::any_of(memory.getUsers(), [&](Operation* user) {
      return !llvm::isa<plan_ir::ViewOp>(user) && llvm::is_contained(ReadsOf(user), memory);
    });
    if (reads || !only_writes(memory)) return false;
    auto view = memory.getDefiningOp<plan_ir::ViewOp>();
    memory = view ? Value(view.getSource()) : Value();
  }
  return true;
}

}  // namespace

FlatBucket::FlatBucket(mlir::OpBuilder& builder, Operation* collective, ir::DeviceAttr device)
    : builder_(builder), device_(device) {
  int64_t bytes = 0;
  for (mlir::Type type : collective->getOperandTypes()) bytes += SlotBytes(type);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(builder.getInsertionBlock());
  auto type = mlir::RankedTensorType::get({bytes}, builder.getI8Type());
  memory_ = builder.create<plan_ir::AllocOp>(collective->getLoc(),
                                             plan_ir::BufferType::get(builder.getContext(), type),
                                             mlir::IntegerAttr(), device);
}

Value FlatBucket::add(mlir::OpOperand& operand, Value buffer) {
  int64_t offset = next_;
  next_ += SlotBytes(operand.get().getType());
  Value root = Resolve(buffer).root;
  bool moves = MayMove(operand, buffer);
  mlir::OpBuilder::InsertionGuard guard(builder_);
  if (moves) builder_.setInsertionPoint(root.getDefiningOp());
  mlir::Type type = moves ? root.getType() : buffer.getType();
  Value slot =
      builder_.create<plan_ir::ViewOp>(operand.getOwner()->getLoc(), type, memory_.getBuffer(), offset);
  if (!moves) {
    builder_.create<plan_ir::CopyOp>(operand.getOwner()->getLoc(), buffer, slot, device_);
    return slot;
  }
  Operation* alloc = root.getDefiningOp();
  root.replaceAllUsesWith(slot);
  alloc->erase();
  return buffer == root ? slot : buffer;
}

}  // namespace sinter
