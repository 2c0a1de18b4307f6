#include "sinter/passes/input_parts.h"

#include <algorithm>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

bool IsGivenToDevice(Operation* op) {
  auto copy = llvm::dyn_cast<ir::CopyOp>(op);
  return copy && copy.getCause() == ir::CopyCause::input;
}

// True if the value is an argument for an input that other devices get too.
bool IsSharedInput(Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  if (!argument) return false;
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), ir::kInputAttr) &&
         llvm::any_of(argument.getUsers(), IsGivenToDevice);
}

// Returns the value that the op is a view of; null if it is not a view.
Value ViewedBy(Operation* op) {
  if (auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op)) return reshape.getX();
  auto slice = llvm::dyn_cast<ir::SliceOp>(op);
  if (slice && ContiguousStart(slice)) return slice.getX();
  return IsGivenToDevice(op) ? op->getOperand(0) : Value();
}

}  // namespace

std::optional<int64_t> ContiguousStart(ir::SliceOp slice) {
  llvm::ArrayRef<int64_t> from = slice.getX().getType().getShape(), to = slice.getType().getShape();
  int64_t start = 0, stride = 1;
  bool partial = false;  // True inside a dimension that is taken only in part.
  for (int64_t d = static_cast<int64_t>(from.size()) - 1; d >= 0; --d) {
    if (partial && to[d] > 1) return std::nullopt;
    if (to[d] > 1 && slice.getStrides()[d] != 1) return std::nullopt;
    partial |= to[d] != from[d];
    start += slice.getStarts()[d] * stride;
    stride *= from[d];
  }
  return std::min(start, stride);  // An empty slice must not begin after the operand's end.
}

bool IsInputPart(Operation* op) {
  if (!llvm::isa<ir::SliceOp>(op)) return false;
  Value value = ViewedBy(op);
  while (value && value.getDefiningOp()) value = ViewedBy(value.getDefiningOp());
  return value && IsSharedInput(value);
}

}  // namespace sinter
