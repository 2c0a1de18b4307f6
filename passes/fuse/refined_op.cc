#include "sinter/passes/fuse/refined_op.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

using ir::ShapeOf;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;
using Dim = DimFactors::Dim;

namespace {

class RefinedOp {
 public:
  RefinedOp(mlir::OpBuilder& builder, Operation* op, ArrayRef<Value> operands, const LoopDims& dims)
      : builder_(builder), op_(op), operands_(operands), dims_(dims), factors_(dims.factors()) {}

  Value build() {
    return llvm::TypeSwitch<Operation*, Value>(op_)
        .Case<ir::ReductionInterface>([&](auto) { return buildReduction(); })
        .Case<ir::ConstantOp>([&](ir::ConstantOp own) {
          auto splat = llvm::cast<mlir::SplatElementsAttr>(own.getValue());
          return builder_.create<ir::ConstantOp>(own.getLoc(), splat.resizeSplat(type())).getResult();
        })
        .Case<ir::BroadcastOp>([&](auto own) { return buildBroadcast(own); })
        .Case<ir::TransposeOp>([&](auto own) { return buildTranspose(own); })
        .Case<ir::SliceOp>([&](auto own) { return buildSlice(own); })
        .Case<ir::ConcatOp>([&](auto own) { return buildConcat(own); })
        .Case<ir::PadOp>([&](auto own) { return buildPad(own); })
        .Case<ir::ReverseOp>([&](auto own) { return buildReverse(own); })
        .Case<ir::IotaOp, ir::GatherOp, ir::TakeAlongOp>([&](auto own) {
          auto refined = llvm::cast<decltype(own)>(clone(type()));
          refined.setDim(startOf(result(), own.getDim()));
          return refined.getResult();
        })
        .Default([&](Operation*) { return clone(type())->getResult(0); });
  }

 private:
  ArrayRef<Dim> result() const { return dims_.of(op_->getResult(0)); }
  ArrayRef<Dim> operand(unsigned i) const { return dims_.of(op_->getOpOperand(i)); }
  RankedTensorType type() const { return ir::TypeOf(op_->getResult(0)).clone(factors_.factors(result())); }

  Operation* clone(RankedTensorType type) { return clone(operands_, type); }
  Operation* clone(ArrayRef<Value> operands, RankedTensorType type) {
    Operation* clone = builder_.clone(*op_);
    clone->setOperands(operands);
    clone->getResult(0).setType(type);
    return clone;
  }

  // The number of factors of the dimensions before `dim`.
  int64_t startOf(ArrayRef<Dim> dims, int64_t dim) const {
    return factors_.factors(dims.take_front(dim)).size();
  }

  // The numbers of the factors of these dimensions, in their order.
  SmallVector<int64_t> numbersOf(ArrayRef<Dim> dims, ArrayRef<int64_t> chosen) const {
    SmallVector<int64_t> numbers;
    for (int64_t d : chosen) {
      const int64_t start = startOf(dims, d), count = factors_.factors(dims[d]).size();
      for (int64_t k = 0; k < count; ++k) numbers.push_back(start + k);
    }
    return numbers;
  }

  // Returns the factors of a dimension of size `size` that is a part of another, or has parts: a first one, 1
  // if the inner ones are all, and the inner ones.
  SmallVector<int64_t> outerAndInner(Dim whole, int64_t size) const {
    SmallVector<int64_t> all = factors_.factors(whole);
    all.front() = size / factors_.split(whole);
    return all;
  }

  Value buildReduction() {
    auto reduction = llvm::cast<ir::ReductionInterface>(op_);
    Operation* refined = clone(type());
    SmallVector<int64_t> reduced = numbersOf(operand(0), reduction.getReducedDims());
    if (llvm::isa<ir::ArgmaxOp, ir::ArgminOp>(op_)) {
      refined->setAttr("dim", builder_.getI64IntegerAttr(reduced.front()));
    } else {
      refined->setAttr("dims", builder_.getDenseI64ArrayAttr(reduced));
    }
    return refined->getResult(0);
  }

  Value buildBroadcast(ir::BroadcastOp op) {
    SmallVector<int64_t> to;
    for (auto [i, d] : llvm::enumerate(op.getDims())) {
      const size_t count = factors_.factors(operand(0)[i]).size();
      // An operand's dimension of size 1 becomes the first factor of the result's.
      for (size_t k = 0; k < count; ++k) to.push_back(startOf(result(), d) + static_cast<int64_t>(k));
    }
    return builder_.create<ir::BroadcastOp>(op.getLoc(), type(), operands_[0], to);
  }

  Value buildTranspose(ir::TransposeOp op) {
    return builder_.create<ir::TransposeOp>(op.getLoc(), type(), operands_[0],
                                            numbersOf(operand(0), op.getPermutation()));
  }

  Value buildSlice(ir::SliceOp op) {
    SmallVector<int64_t> starts, limits, strides, shape;
    for (size_t d = 0; d < operand(0).size(); ++d) {
      const Dim whole = operand(0)[d];
      const int64_t to = ShapeOf(op.getResult())[d], split = factors_.split(whole);
      SmallVector<int64_t> sizes = factors_.factors(whole);
      if (sizes.empty()) continue;
      starts.append(sizes.size(), 0);
      strides.append(sizes.size(), 1);
      if (ShapeOf(op.getX())[d] != to) {
        sizes = outerAndInner(whole, to);
        starts[shape.size()] = op.getStarts()[d] / split;
        strides[shape.size()] = op.getStrides()[d];
      }
      shape.append(sizes);
    }
    for (auto [start, size, stride] : llvm::zip_equal(starts, shape, strides))
      limits.push_back(start + (size - 1) * stride + 1);
    Value slice = builder_.create<ir::SliceOp>(op.getLoc(), op.getType().clone(shape), operands_[0], starts,
                                               limits, strides);
    return ViewOf(builder_, slice, type().getShape());
  }

  // Returns the shape of an operand whose dimension `dim` is a part of the result's.
  SmallVector<int64_t> shapeOfPart(unsigned i, size_t dim) const {
    SmallVector<int64_t> shape;
    for (size_t d = 0; d < result().size(); ++d) {
      const int64_t size = ShapeOf(op_->getOperand(i))[d];
      const bool is_whole = size == ShapeOf(op_->getResult(0))[d] && d != dim;
      shape.append(is_whole ? factors_.factors(result()[d]) : outerAndInner(result()[d], size));
    }
    return shape;
  }

  Value buildConcat(ir::ConcatOp op) {
    SmallVector<Value> parts;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      parts.push_back(ViewOf(builder_, operands_[i], shapeOfPart(i, op.getDim())));
    auto refined = llvm::cast<ir::ConcatOp>(clone(parts, type()));
    refined.setDim(startOf(result(), op.getDim()));
    return refined.getResult();
  }

  Value buildPad(ir::PadOp op) {
    SmallVector<int64_t> low, high, interior;
    for (size_t d = 0; d < result().size(); ++d) {
      const size_t count = factors_.factors(result()[d]).size(), first = low.size();
      for (auto* list : {&low, &high, &interior}) list->append(count, 0);
      if (count == 0 || (op.getLow()[d] == 0 && op.getHigh()[d] == 0 && op.getInterior()[d] == 0)) continue;
      low[first] = op.getLow()[d] / factors_.split(result()[d]);
      high[first] = op.getHigh()[d] / factors_.split(result()[d]);
      interior[first] = op.getInterior()[d];
    }
    constexpr size_t kNone = ~size_t{0};
    auto refined =
        llvm::cast<ir::PadOp>(clone({ViewOf(builder_, operands_[0], shapeOfPart(0, kNone))}, type()));
    refined.setLow(low);
    refined.setHigh(high);
    refined.setInterior(interior);
    return refined.getResult();
  }

  // The opposite order along all factors is the opposite order.
  Value buildReverse(ir::ReverseOp op) {
    auto refined = llvm::cast<ir::ReverseOp>(clone(type()));
    refined.setDims(numbersOf(result(), op.getDims()));
    return refined.getResult();
  }

  mlir::OpBuilder& builder_;
  Operation* op_;
  ArrayRef<Value> operands_;
  const LoopDims& dims_;
  const DimFactors& factors_;
};

}  // namespace

Value ViewOf(mlir::OpBuilder& builder, Value value, ArrayRef<int64_t> shape) {
  if (ShapeOf(value) == shape) return value;
  while (auto inner = value.getDefiningOp<ir::ReshapeOp>()) value = inner.getX();
  if (ShapeOf(value) == shape) return value;
  return builder.create<ir::ReshapeOp>(value.getLoc(), ir::TypeOf(value).clone(shape), value);
}

Value BuildRefined(mlir::OpBuilder& builder, Operation* op, ArrayRef<Value> operands, const LoopDims& dims) {
  return RefinedOp(builder, op, operands, dims).build();
}

}  // namespace sinter
