#include <vector>

#include "mlir/IR/Matchers.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/fold_math.h"

namespace sinter {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/passes.h.inc"

namespace {

using mlir::Attribute;
using mlir::DenseElementsAttr;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;

// Converts a constant from storage type to the compute type of an emitted body, and back. The conversion back
// rounds to nearest even, as a store does.
mlir::TypedAttr ToCompute(Attribute value) {
  Type element = llvm::cast<mlir::TypedAttr>(value).getType(), to = ir::ScalarBuilder::ComputeType(element);
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value)) {
    return mlir::FloatAttr::get(to, number.getValueAsDouble());
  }
  return mlir::IntegerAttr::get(to, llvm::cast<mlir::IntegerAttr>(value).getValue());
}
Attribute ToStorage(Attribute value, Type element) {
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value)) {
    llvm::APFloat rounded = number.getValue();
    bool loses_information;
    rounded.convert(llvm::cast<mlir::FloatType>(element).getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &loses_information);
    return mlir::FloatAttr::get(element, rounded);
  }
  return mlir::IntegerAttr::get(element, llvm::cast<mlir::IntegerAttr>(value).getValue());
}

// MLIR's folder narrows only exactly representable values; at run time the others round to nearest even.
Attribute FoldRounding(Operation* op, llvm::ArrayRef<Attribute> operands) {
  if (!llvm::isa<mlir::arith::TruncFOp>(op) || !operands[0]) return {};
  return ToStorage(operands[0], op->getResult(0).getType());
}

// Advances row-major coordinates in `shape`. Returns false after the last ones, and then wraps to the first.
bool Advance(llvm::MutableArrayRef<int64_t> coords, llvm::ArrayRef<int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++coords[d] < shape[d]) return true;
    coords[d] = 0;
  }
  return false;
}

// Makes an op emit one element's body into a scratch block, and folds that body to a constant.
class Evaluator : public ir::ElementBuilder {
 public:
  Evaluator(mlir::Location loc, const llvm::DenseMap<Value, DenseElementsAttr>& constants)
      : ir::ElementBuilder(scalars_),
        constants_(constants),
        builder_(loc.getContext()),
        scalars_(builder_, loc) {}

  // Returns the element of `result` at `coords`; without coords, the element that is equal at all positions.
  // Null if it cannot be evaluated or differs between positions.
  Attribute evaluate(mlir::OpResult result, std::optional<llvm::ArrayRef<int64_t>> coords) {
    failed_ = false;
    mlir::Block block;
    start(block);
    llvm::SmallVector<Value> at;
    for (int64_t d = 0; d < ir::TypeOf(result).getRank(); ++d) {
      at.push_back(coords ? index((*coords)[d])
                          : Value(block.addArgument(builder_.getIndexType(), scalars_.loc())));
    }
    auto op = llvm::cast<ir::FusibleInterface>(result.getOwner());
    Attribute value = fold(op.emitElement(*this, at, result.getResultNumber()).value);
    return failed_ ? Attribute() : value;
  }

  // Returns the element of a reduction's result at `coords`; null if it cannot be evaluated. Combines
  // neighbours as a tree, which minimises the rounding error of a sum.
  Attribute reduce(ir::ReductionInterface op, llvm::ArrayRef<int64_t> coords) {
    failed_ = false;
    llvm::ArrayRef<int64_t> dims = op.getReducedDims();
    auto shape = ir::TypeOf(op->getOperand(0)).getShape();
    llvm::SmallVector<int64_t> reduced(dims.size(), 0), sizes;
    for (int64_t d : dims) sizes.push_back(shape[d]);
    std::vector<Accumulator> row;
    do {
      llvm::SmallVector<int64_t> at(shape.size());
      const int64_t* kept = coords.begin();
      const int64_t* dropped = reduced.begin();
      for (auto [d, coord] : llvm::enumerate(at))
        coord = llvm::is_contained(dims, static_cast<int64_t>(d)) ? *dropped++ : *kept++;
      row.push_back(lift(op, at));
    } while (!failed_ && Advance(reduced, sizes));
    while (!failed_ && row.size() > 1) {
      std::vector<Accumulator> next;
      for (size_t i = 1; !failed_ && i < row.size(); i += 2) next.push_back(combine(op, row[i - 1], row[i]));
      if (row.size() % 2 != 0) next.push_back(row.back());
      row = std::move(next);
    }
    return failed_ ? Attribute() : finish(op, row[0]);
  }

  ir::Scalar element(Value tensor, mlir::ValueRange coords) override {
    DenseElementsAttr values = constants_.at(tensor);
    Attribute value;
    if (values.isSplat()) {
      value = values.getSplatValue<Attribute>();
    } else {
      int64_t position = 0;
      for (auto [coord, size] : llvm::zip_equal(coords, values.getType().getShape())) {
        auto constant = llvm::dyn_cast_or_null<mlir::IntegerAttr>(fold(coord));
        failed_ |= !constant;
        position = position * size + (constant ? constant.getInt() : 0);
      }
      // After a failure the element only needs the right type.
      value = values.getValues<Attribute>()[failed_ ? 0 : position];
    }
    return emit(ToCompute(value), ir::ScalarBuilder::IsUnsigned(values.getElementType()));
  }

 private:
  // Scalars of a reduction's accumulator, each with a flag for unsigned.
  using Accumulator = llvm::SmallVector<std::pair<Attribute, bool>, 2>;

  // Starts emitting into `block`, which must outlive the folding.
  void start(mlir::Block& block) {
    values_.clear();
    builder_.setInsertionPointToEnd(&block);
  }

  Accumulator lift(ir::ReductionInterface op, llvm::ArrayRef<int64_t> coords) {
    mlir::Block block;
    start(block);
    llvm::SmallVector<Value> at;
    for (int64_t coord : coords) at.push_back(index(coord));
    ir::Scalar x = element(op->getOperand(0), at);
    llvm::ArrayRef<int64_t> dims = op.getReducedDims();
    return fold(op.emitLift(scalars_, x, dims.size() == 1 ? at[dims[0]] : index(0)));
  }
  Accumulator combine(ir::ReductionInterface op, const Accumulator& a, const Accumulator& b) {
    mlir::Block block;
    start(block);
    return fold(op.emitCombine(scalars_, emit(a), emit(b)));
  }
  Attribute finish(ir::ReductionInterface op, const Accumulator& acc) {
    mlir::Block block;
    start(block);
    return fold(op.emitFinish(scalars_, emit(acc)).value);
  }

  ir::Scalar emit(Attribute value, bool is_unsigned) {
    auto constant =
        builder_.create<mlir::arith::ConstantOp>(scalars_.loc(), llvm::cast<mlir::TypedAttr>(value));
    return scalars_.wrap(constant, is_unsigned);
  }
  llvm::SmallVector<ir::Scalar> emit(const Accumulator& acc) {
    llvm::SmallVector<ir::Scalar> scalars;
    for (auto [value, is_unsigned] : acc) scalars.push_back(emit(value, is_unsigned));
    return scalars;
  }
  Accumulator fold(llvm::ArrayRef<ir::Scalar> scalars) {
    Accumulator acc;
    for (ir::Scalar scalar : scalars) {
      acc.emplace_back(fold(scalar.value), scalar.is_unsigned);
      failed_ |= !acc.back().first;
    }
    return acc;
  }

  // Folds all ops emitted so far, in order.
  Attribute fold(Value wanted) {
    for (Operation& op : *builder_.getInsertionBlock()) {
      if (op.getNumResults() == 0 || values_.contains(op.getResult(0))) continue;
      llvm::SmallVector<Attribute> operands;
      for (Value operand : op.getOperands()) operands.push_back(values_.lookup(operand));
      llvm::SmallVector<mlir::OpFoldResult> results;
      if (IsMathFunction(&op)) {
        results.push_back(FoldMathFunction(&op, operands));
      } else if (Attribute own = FoldRounding(&op, operands)) {
        results.push_back(own);
      } else if (mlir::failed(op.fold(operands, results)) || results.size() != op.getNumResults()) {
        results.assign(op.getNumResults(), mlir::OpFoldResult());
      }
      for (auto [result, folded] : llvm::zip_equal(op.getResults(), results)) {
        auto same = llvm::dyn_cast_if_present<Value>(folded);
        values_[result] = same ? values_.lookup(same) : llvm::dyn_cast_if_present<Attribute>(folded);
      }
    }
    return values_.lookup(wanted);
  }

  const llvm::DenseMap<Value, DenseElementsAttr>& constants_;
  mlir::OpBuilder builder_;
  ir::ScalarBuilder scalars_;
  llvm::DenseMap<Value, Attribute> values_;
  bool failed_ = false;
};

class FoldConstantsPass : public impl::FoldConstantsBase<FoldConstantsPass> {
 public:
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    constants_.clear();
    getOperation().walk([&](Operation* op) {
      DenseElementsAttr value;
      if (mlir::matchPattern(op, mlir::m_Constant(&value))) {
        constants_[op->getResult(0)] = value;
      } else if (op->getNumOperands() > 0 && llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op) &&
                 llvm::all_of(op->getOperands(), [&](Value v) { return constants_.contains(v); })) {
        fold(op);
      }
    });
    // In reverse, so that constants that only fed folded ops are erased too.
    for (mlir::Block& block : getOperation().getBody()) {
      for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (op.use_empty() && (constants_.contains(op.getNumResults() ? op.getResult(0) : Value())))
          op.erase();
      }
    }
  }

 private:
  void fold(Operation* op) {
    for (mlir::OpResult result : op->getResults()) {
      DenseElementsAttr value = evaluate(result);
      if (!value) continue;
      mlir::OpBuilder builder(op);
      auto constant = builder.create<ir::ConstantOp>(op->getLoc(), value);
      result.replaceAllUsesWith(constant);
      constants_[constant] = value;
      constants_[result] = value;
    }
  }

  DenseElementsAttr evaluate(mlir::OpResult result) {
    auto type = ir::TypeOf(result);
    if (type.getNumElements() == 0) return {};
    if (auto op = llvm::dyn_cast<ir::ReductionInterface>(result.getOwner())) return reduce(op, type);
    Evaluator evaluator(result.getLoc(), constants_);
    if (Attribute value = evaluator.evaluate(result, std::nullopt)) {
      return DenseElementsAttr::get(type, ToStorage(value, type.getElementType()));
    }
    if (type.getNumElements() > limit) return {};
    llvm::SmallVector<Attribute> values;
    llvm::SmallVector<int64_t> coords(type.getRank(), 0);
    do {
      Attribute value = evaluator.evaluate(result, llvm::ArrayRef<int64_t>(coords));
      if (!value) return {};
      values.push_back(ToStorage(value, type.getElementType()));
    } while (Advance(coords, type.getShape()));
    return DenseElementsAttr::get(type, values);
  }

  // The reduction of a splat is the same for all elements of the result.
  DenseElementsAttr reduce(ir::ReductionInterface op, RankedTensorType type) {
    DenseElementsAttr operand = constants_.at(op->getOperand(0));
    int64_t results = operand.isSplat() ? 1 : type.getNumElements();
    int64_t reduced = operand.getNumElements() / type.getNumElements();
    // A reduction of no elements gives the start value (infinite for max and min); it is left to the runtime.
    if (reduced == 0 || results * reduced > limit) return {};
    Evaluator evaluator(op->getLoc(), constants_);
    llvm::SmallVector<Attribute> values;
    llvm::SmallVector<int64_t> coords(type.getRank(), 0);
    for (int64_t i = 0; i < results; ++i) {
      Attribute value = evaluator.reduce(op, coords);
      if (!value) return {};
      values.push_back(ToStorage(value, type.getElementType()));
      Advance(coords, type.getShape());
    }
    return DenseElementsAttr::get(type, values);
  }

  llvm::DenseMap<Value, DenseElementsAttr> constants_;
};

}  // namespace
}  // namespace sinter
