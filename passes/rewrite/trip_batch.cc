#include "sinter/passes/rewrite/trip_batch.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::Expr;
using mlir::Operation;
using mlir::Value;

namespace {

llvm::SmallVector<int64_t> Prepend(int64_t first, llvm::ArrayRef<int64_t> rest) {
  llvm::SmallVector<int64_t> list = {first};
  llvm::append_range(list, rest);
  return list;
}

// Dimensions that count behind a new first one.
llvm::SmallVector<int64_t> Behind(llvm::ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [](int64_t d) { return d + 1; });
}

bool HasBatchForm(Operation* op) {
  if (auto product = llvm::dyn_cast<ir::MatmulOp>(op)) {
    const bool is_plain = !product.getBias() && !product.getAddend() && !product.getScale() &&
                          product.getActivation() == ir::Activation::none;
    return is_plain && ir::ShapeOf(product.getA()).size() == 2;
  }
  return llvm::isa<ir::PointwiseInterface, ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp, ir::SliceOp,
                   ir::ConcatOp, ir::ConstantOp>(op) &&
         op->getNumResults() == 1;
}

}  // namespace

bool TripBatch::canBuild(Value value) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    return llvm::is_contained(scan_.sliceArguments(), argument) ||
           llvm::is_contained(scan_.invariantArguments(), argument);
  }
  if (auto known = can_build_.find(value); known != can_build_.end()) return known->second;
  Operation* op = value.getDefiningOp();
  // A product of two stacks would be a batch of products, which is no faster than products of their own.
  bool can = HasBatchForm(op) && llvm::all_of(op->getOperands(), [&](Value v) { return canBuild(v); });
  if (auto product = llvm::dyn_cast<ir::MatmulOp>(op); can && product) {
    can = !product.getTransposeA() && isInvariant(product.getB());
  }
  return can_build_[value] = can;
}

bool TripBatch::isInvariant(Value value) {
  if (llvm::isa<mlir::BlockArgument>(value)) return llvm::is_contained(scan_.invariantArguments(), value);
  return llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value v) { return isInvariant(v); });
}

TripBatch::Outer TripBatch::build(Value value) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    return {scan_->getOperand(argument.getArgNumber() - 1),
            llvm::is_contained(scan_.sliceArguments(), argument)};
  }
  if (auto known = built_.find(value); known != built_.end()) return known->second;
  Operation* op = value.getDefiningOp();
  llvm::SmallVector<Outer> operands;
  for (Value operand : op->getOperands()) operands.push_back(build(operand));
  return built_[value] = buildOp(op, operands);
}

Expr TripBatch::stacked(const Outer& outer) {
  if (outer.is_stack) return b_.wrap(outer.value);
  llvm::SmallVector<int64_t> dims;
  for (size_t d = 0; d < ir::ShapeOf(outer.value).size(); ++d) dims.push_back(static_cast<int64_t>(d) + 1);
  return b_.broadcast(b_.wrap(outer.value),
                      Prepend(static_cast<int64_t>(scan_.getTrips()), ir::ShapeOf(outer.value)), dims);
}

TripBatch::Outer TripBatch::buildOp(Operation* op, llvm::ArrayRef<Outer> operands) {
  mlir::RankedTensorType type = ir::TypeOf(op->getResult(0));
  if (llvm::none_of(operands, [](const Outer& outer) { return outer.is_stack; })) {
    mlir::IRMapping mapping;
    for (auto [inner, outer] : llvm::zip_equal(op->getOperands(), operands)) mapping.map(inner, outer.value);
    return {b_.builder().clone(*op, mapping)->getResult(0), false};
  }
  const int64_t trips = scan_.getTrips();
  const llvm::SmallVector<int64_t> shape = Prepend(trips, type.getShape());
  llvm::SmallVector<Expr> xs;
  const bool is_product = llvm::isa<ir::MatmulOp>(op);
  for (const Outer& outer : operands) xs.push_back(is_product ? b_.wrap(outer.value) : stacked(outer));
  const Value built =
      llvm::TypeSwitch<Operation*, Value>(op)
          .Case<ir::MatmulOp>([&](ir::MatmulOp product) {
            llvm::ArrayRef<int64_t> rows = xs[0].shape();
            const Value flat = b_.reshape(xs[0], {rows[0] * rows[1], rows[2]}).value;
            Value all = b_.builder().create<ir::MatmulOp>(
                b_.loc(), type.clone({rows[0] * rows[1], type.getShape()[1]}), flat, xs[1].value, Value(),
                false, product.getTransposeB(), ir::Activation::none, product.getMath());
            return b_.reshape(b_.wrap(all), shape).value;
          })
          .Case<ir::BroadcastOp>([&](ir::BroadcastOp broadcast) {
            return b_.broadcast(xs[0], shape, Prepend(0, Behind(broadcast.getDims()))).value;
          })
          .Case<ir::ReshapeOp>([&](ir::ReshapeOp) { return b_.reshape(xs[0], shape).value; })
          .Case<ir::TransposeOp>([&](ir::TransposeOp transpose) {
            return b_.transpose(xs[0], Prepend(0, Behind(transpose.getPermutation()))).value;
          })
          .Case<ir::SliceOp>([&](ir::SliceOp slice) {
            return b_
                .slice(xs[0], Prepend(0, slice.getStarts()), Prepend(trips, slice.getLimits()),
                       Prepend(1, slice.getStrides()))
                .value;
          })
          .Case<ir::ConcatOp>([&](ir::ConcatOp concat) {
            return b_.concat(xs, static_cast<int64_t>(concat.getDim()) + 1).value;
          })
          .Default([&](Operation* pointwise) {
            // The builder sees the stacks: it places an op by its operands.
            mlir::IRMapping mapping;
            for (auto [inner, x] : llvm::zip_equal(pointwise->getOperands(), xs)) mapping.map(inner, x.value);
            Operation* clone = b_.builder().clone(*pointwise, mapping);
            clone->getResult(0).setType(type.clone(shape));
            return clone->getResult(0);
          });
  return {built, true};
}

}  // namespace sinter
