#include "sinter/passes/layout/image_order.h"

#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::TypeOf;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

// nhwc: dimension i of the new order is dimension kToNhwc[i] of the user's; dimension d of the user's is
// kPlace[d] of the new. nchw16n: the user's dimensions keep their positions; the position in a block is
// dimension kLane.
constexpr int64_t kToNhwc[] = {0, 2, 3, 1};
constexpr int64_t kPlace[] = {0, 3, 1, 2};
constexpr int64_t kLane = 4;

Value Transpose(mlir::OpBuilder& builder, Value value, ArrayRef<int64_t> permutation) {
  ir::GraphBuilder b(builder, value.getLoc());
  return b.transpose(b.wrap(value), permutation).value;
}
Value Reshape(mlir::OpBuilder& builder, Value value, ArrayRef<int64_t> shape) {
  ir::GraphBuilder b(builder, value.getLoc());
  return b.reshape(b.wrap(value), shape).value;
}

// Splits dimension `dim` into blocks and moves the position in the block to the end.
Value Block(mlir::OpBuilder& builder, Value value, int64_t dim) {
  SmallVector<int64_t> shape(TypeOf(value).getShape()), permutation;
  shape[dim] /= ImageOrder::kBlock;
  shape.insert(shape.begin() + dim + 1, ImageOrder::kBlock);
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    if (d != dim + 1) permutation.push_back(d);
  }
  permutation.push_back(dim + 1);
  return Transpose(builder, Reshape(builder, value, shape), permutation);
}

// Undoes Block of dimension 0.
Value Unblock(mlir::OpBuilder& builder, Value value) {
  ArrayRef<int64_t> blocked = TypeOf(value).getShape();
  const auto last = static_cast<int64_t>(blocked.size()) - 1;
  SmallVector<int64_t> permutation = {0, last}, shape = {blocked[0] * ImageOrder::kBlock};
  for (int64_t d = 1; d < last; ++d) permutation.push_back(d), shape.push_back(blocked[d]);
  return Reshape(builder, Transpose(builder, value, permutation), shape);
}

}  // namespace

SmallVector<int64_t> ImageOrder::positions(ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> result;
  for (int64_t d : dims) result.push_back(blocked() ? d : kPlace[d]);
  return result;
}

// One number for each dimension; the two halves of a blocked batch get `batch` and `lane`.
SmallVector<int64_t> ImageOrder::perDimension(ArrayRef<int64_t> values, int64_t batch, int64_t lane) const {
  if (blocked()) return {batch, values[1], values[2], values[3], lane};
  SmallVector<int64_t> result;
  for (int64_t d : kToNhwc) result.push_back(values[d]);
  return result;
}

RankedTensorType ImageOrder::typeOf(RankedTensorType user) const {
  ArrayRef<int64_t> shape = user.getShape();
  return RankedTensorType::get(perDimension(shape, shape[0] / kBlock, kBlock), user.getElementType());
}

Value ImageOrder::fromUser(mlir::OpBuilder& builder, Value value) const {
  return blocked() ? Block(builder, value, 0) : Transpose(builder, value, kToNhwc);
}
Value ImageOrder::toUser(mlir::OpBuilder& builder, Value value) const {
  return blocked() ? Unblock(builder, value) : Transpose(builder, value, kPlace);
}

bool ImageOrder::canExpress(Operation* op) const {
  if (!blocked()) return true;
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case([](ir::PadOp pad) {
        return pad.getLow()[0] == 0 && pad.getHigh()[0] == 0 && pad.getInterior()[0] == 0;
      })
      .Case([](ir::SliceOp slice) {
        return slice.getStarts()[0] == 0 && slice.getStrides()[0] == 1 &&
               slice.getLimits()[0] == slice.getX().getType().getDimSize(0);
      })
      .Case<ir::ConcatOp, ir::IotaOp>([](auto along) { return along.getDim() != 0; })
      .Case([](ir::ReverseOp reverse) { return !llvm::is_contained(reverse.getDims(), 0); })
      .Case([](ir::ReductionInterface reduction) {
        return !reduction->hasAttr("dim") || reduction.getReducedDims()[0] != 0;
      })
      .Default(true);
}

void ImageOrder::adapt(Operation* op) const {
  llvm::TypeSwitch<Operation*>(op)
      .Case([&](ir::PadOp pad) {
        pad.setLow(perDimension(pad.getLow(), 0, 0));
        pad.setHigh(perDimension(pad.getHigh(), 0, 0));
        pad.setInterior(perDimension(pad.getInterior(), 0, 0));
      })
      .Case([&](ir::SliceOp slice) {
        slice.setStarts(perDimension(slice.getStarts(), 0, 0));
        slice.setLimits(perDimension(slice.getLimits(), slice.getLimits()[0] / kBlock, kBlock));
        slice.setStrides(perDimension(slice.getStrides(), 1, 1));
      })
      .Case<ir::ConcatOp, ir::IotaOp>([&](auto along) { along.setDim(positions(along.getDim())[0]); })
      .Case([&](ir::ReverseOp reverse) { reverse.setDims(positions(reverse.getDims())); })
      .Case([&](ir::BroadcastOp broadcast) { adaptBroadcast(broadcast); })
      .Case([](ir::ConstantOp constant) {
        auto values = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
        constant.setValueAttr(values.resizeSplat(constant.getType()));
      })
      .Case([&](ir::ReductionInterface reduction) { adaptReduction(reduction); });
}

void ImageOrder::adaptReduction(ir::ReductionInterface reduction) const {
  mlir::Builder builder(reduction.getContext());
  SmallVector<int64_t> dims = positions(reduction.getReducedDims());
  if (blocked() && llvm::is_contained(dims, 0)) dims.push_back(kLane);
  llvm::sort(dims);
  if (reduction->hasAttr("dim")) {
    reduction->setAttr("dim", builder.getI64IntegerAttr(dims[0]));
  } else {
    reduction->setAttr("dims", builder.getDenseI64ArrayAttr(dims));
  }
}

void ImageOrder::adaptBroadcast(ir::BroadcastOp broadcast) const {
  SmallVector<int64_t> dims = positions(broadcast.getDims());
  const auto batch = llvm::find(dims, 0) - dims.begin();
  if (blocked() && batch < static_cast<int64_t>(dims.size()) &&
      broadcast.getX().getType().getDimSize(batch) != 1) {
    ir::PlacedBuilder builder(broadcast);
    broadcast.getXMutable().assign(Block(builder, broadcast.getX(), batch));
    dims.push_back(kLane);
  }
  broadcast.setDims(dims);
}

Value ImageOrder::reducedToUser(mlir::OpBuilder& builder, Operation* user, Value result) const {
  ArrayRef<int64_t> reduced = llvm::cast<ir::ReductionInterface>(user).getReducedDims();
  RankedTensorType image = TypeOf(user->getOperand(0)), type = TypeOf(result);
  if (blocked()) {
    if (llvm::is_contained(reduced, 0)) return result;  // The remaining dimensions are in the user's order.
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= kBlock;
    shape.push_back(kBlock);
    result.setType(RankedTensorType::get(shape, type.getElementType()));
    return Unblock(builder, result);
  }
  SmallVector<int64_t> kept_user, kept_new, permutation, shape;
  for (int64_t d = 0; d < 4; ++d) {
    if (!llvm::is_contained(reduced, d)) kept_user.push_back(d);
    if (!llvm::is_contained(reduced, kToNhwc[d])) kept_new.push_back(kToNhwc[d]);
  }
  if (kept_user == kept_new) return result;  // The usual case.
  for (int64_t d : kept_user) permutation.push_back(llvm::find(kept_new, d) - kept_new.begin());
  for (int64_t d : kept_new) shape.push_back(image.getDimSize(d));
  result.setType(RankedTensorType::get(shape, type.getElementType()));
  return Transpose(builder, result, permutation);
}

}  // namespace sinter
