#include "sinter/ir/ops.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/reshape_chain.h"

namespace sinter {

#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

// Enough for any CPU's threads, few enough that the second stage is nothing.
constexpr int64_t kChunks = 64, kFewestChunks = 8, kMostChunks = 1024;

// The divisor of `elements` nearest below kChunks, else above it; 0 if none lies in the limits.
int64_t ChunksOf(int64_t elements) {
  for (int64_t chunks = kChunks; chunks >= kFewestChunks; --chunks) {
    if (elements % chunks == 0) return chunks;
  }
  for (int64_t chunks = kChunks + 1; chunks <= kMostChunks; ++chunks) {
    if (elements % chunks == 0) return chunks;
  }
  return 0;
}

// `op` on another operand, along its dimension `dim`.
Value Reduce(mlir::OpBuilder& builder, Operation* op, Value x, int64_t dim) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(x);
  state.addTypes(RankedTensorType::get(shape, type.getElementType()));
  state.addAttributes(op->getAttrs());
  state.attributes.set("dims", builder.getDenseI64ArrayAttr({dim}));
  return builder.create(state)->getResult(0);
}

void Split(Operation* op, int64_t chunks) {
  mlir::OpBuilder builder(op);
  Value x = op->getOperand(0);
  auto type = llvm::cast<RankedTensorType>(x.getType());
  mlir::Type element = type.getElementType();
  auto in_shape = [&](llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    return RankedTensorType::get(shape, element);
  };
  x = Reshape(builder, x, {chunks, type.getNumElements() / chunks});
  bool narrow = element.isBF16() || element.isF16();
  if (narrow) {
    auto shape = llvm::cast<RankedTensorType>(x.getType()).getShape();
    x = builder.create<ir::CastOp>(op->getLoc(), in_shape(shape, builder.getF32Type()), x);
  }
  Value result = Reduce(builder, op, Reduce(builder, op, x, 1), 0);
  if (narrow) result = builder.create<ir::CastOp>(op->getLoc(), op->getResult(0).getType(), result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

class SplitReductionsPass : public impl::SplitReductionsBase<SplitReductionsPass> {
 public:
  using SplitReductionsBase::SplitReductionsBase;
  void runOnOperation() override {
    llvm::SmallVector<Operation*> large;
    getOperation().walk([&](Operation* op) {
      if (!llvm::isa<ir::ReductionInterface>(op)) return;
      auto from = llvm::cast<RankedTensorType>(op->getOperand(0).getType());
      auto to = llvm::cast<RankedTensorType>(op->getResult(0).getType());
      if (to.getRank() == 0 && from.getNumElements() > limit) large.push_back(op);
    });
    for (Operation* op : large) {
      auto type = llvm::cast<RankedTensorType>(op->getOperand(0).getType());
      int64_t chunks = ChunksOf(type.getNumElements());
      // The results of the first stage are reduced as the elements are, which positions cannot be.
      bool same_again = op->hasAttrOfType<mlir::DenseI64ArrayAttr>("dims");
      std::string why;
      if (!same_again) {
        why = "the results of chunks cannot be reduced the same way again";
      } else if (chunks == 0) {
        why = "the number of elements has no divisor between 8 and 1024";
      } else if (!CanReshape(op->getOperand(0), {chunks, type.getNumElements() / chunks})) {
        why = "its operand is computed in another shape";
      }
      if (why.empty()) {
        Split(op, chunks);
      } else if (report) {
        mlir::emitRemark(op->getLoc()) << "not split: " << why;
      }
    }
  }
};

}  // namespace
}  // namespace sinter
