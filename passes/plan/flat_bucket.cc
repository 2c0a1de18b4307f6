#include "sinter/passes/plan/flat_bucket.h"

#include "llvm/Support/MathExtras.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

int64_t SlotBytes(mlir::Type tensor) {
  return llvm::alignTo(plan_ir::TensorBytes(llvm::cast<mlir::RankedTensorType>(tensor)),
                       plan_ir::kBucketAlignment);
}

}  // namespace

bool MayWriteElsewhere(mlir::OpOperand& operand, Value buffer) {
  BufferOffset place = Resolve(buffer);
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

bool MayMove(Value buffer) { return static_cast<bool>(buffer.getDefiningOp<plan_ir::AllocOp>()); }

Value WriteAt(mlir::OpBuilder& builder, mlir::Location loc, Value buffer, Value memory, int64_t offset) {
  Value root = Resolve(buffer).root;
  Operation* alloc = root.getDefiningOp();
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(alloc);
  Value place = builder.create<plan_ir::ViewOp>(loc, root.getType(), memory, offset);
  root.replaceAllUsesWith(place);
  alloc->erase();
  return buffer == root ? place : buffer;
}

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

Value FlatBucket::add(mlir::OpOperand& operand, Value buffer, bool is_kept) {
  mlir::Location loc = operand.getOwner()->getLoc();
  if (MayWriteElsewhere(operand, buffer) || (is_kept && MayMove(buffer))) {
    return WriteAt(builder_, loc, buffer, memory_.getBuffer(), take(buffer.getType()));
  }
  Value slot = next(loc, buffer.getType());
  builder_.create<plan_ir::CopyOp>(loc, buffer, slot, device_);
  return slot;
}

Value FlatBucket::next(mlir::Location loc, mlir::Type type) {
  return builder_.create<plan_ir::ViewOp>(loc, type, memory_.getBuffer(), take(type));
}

int64_t FlatBucket::take(mlir::Type type) {
  int64_t offset = next_;
  next_ += SlotBytes(llvm::cast<plan_ir::BufferType>(type).getTensor());
  return offset;
}

}  // namespace sinter
