#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/scan_edits.h"

namespace sinter {

#define GEN_PASS_DEF_NARROWLOOPS
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

int64_t Bits(Value value) { return ir::TypeOf(value).getElementTypeBitWidth(); }

// Returns the cast if the value is one from a narrower float type.
ir::CastOp WideningCast(Value value) {
  auto cast = value.getDefiningOp<ir::CastOp>();
  return cast && ir::IsWideningCast(ir::TypeOf(cast.getX()).getElementType(),
                                    ir::TypeOf(value).getElementType())
             ? cast
             : ir::CastOp();
}

// Returns the type of the narrowing casts that are all readers of the value; null if there is no such type.
mlir::Type NarrowReaders(Value value) {
  mlir::Type narrow;
  for (Operation* user : value.getUsers()) {
    auto cast = llvm::dyn_cast<ir::CastOp>(user);
    if (!cast || Bits(cast) >= Bits(value)) return {};
    const mlir::Type element = ir::TypeOf(cast.getResult()).getElementType();
    if (!llvm::isa<mlir::FloatType>(element) || (narrow && narrow != element)) return {};
    narrow = element;
  }
  return narrow;
}

class LoopNarrowing {
 public:
  explicit LoopNarrowing(ir::ScanOp scan) : scan_(scan) {}

  void run() {
    narrowSlices();
    narrowStacks();
    narrowCarries();
  }

 private:
  // The loop casts the slices itself.
  void narrowSlices() {
    for (auto [i, argument] : llvm::enumerate(scan_.sliceArguments())) {
      ir::CastOp cast = WideningCast(scan_.getSlices()[i]);
      if (!cast) continue;
      mlir::RankedTensorType wide = ir::TypeOf(argument);
      scan_.getSlicesMutable()[i].set(cast.getX());
      Value(argument).setType(wide.clone(ir::TypeOf(cast.getX()).getElementType()));
      mlir::OpBuilder at = mlir::OpBuilder::atBlockBegin(&scan_.block());
      auto inside = at.create<ir::CastOp>(cast.getLoc(), wide, argument);
      Value(argument).replaceAllUsesExcept(inside, inside);
    }
  }

  // Stacks that are only read in a narrower type are narrow.
  void narrowStacks() {
    const size_t carries = scan_.getCarries().size();
    mlir::OpBuilder inside(scan_.yield());
    for (size_t i = carries; i < scan_.getNumResults(); ++i) {
      Value stack = scan_.getResult(i);
      const mlir::Type narrow = stack.use_empty() ? mlir::Type() : NarrowReaders(stack);
      if (!narrow) continue;
      mlir::OpOperand& yielded = scan_.yield()->getOpOperand(i);
      const Value wide = yielded.get();
      yielded.set(inside.create<ir::CastOp>(wide.getLoc(), ir::TypeOf(wide).clone(narrow), wide));
      stack.setType(ir::TypeOf(stack).clone(narrow));
      for (Operation* user : llvm::to_vector(stack.getUsers())) {
        user->getResult(0).replaceAllUsesWith(stack);
        user->erase();
      }
    }
  }

  // A carry that the body reads in a narrower type has a narrow one beside it.
  void narrowCarries() {
    const size_t carries = scan_.getCarries().size();
    for (size_t i = 0; i < carries; ++i) {
      ir::CastOp cast;
      for (Operation* user : scan_.carryArguments()[i].getUsers()) {
        auto candidate = llvm::dyn_cast<ir::CastOp>(user);
        if (candidate && Bits(candidate) < Bits(candidate.getX())) cast = candidate;
      }
      if (!cast) continue;
      const mlir::Type narrow = ir::TypeOf(cast.getResult()).getElementType();
      const Value wide = scan_.getCarries()[i];
      ir::PlacedBuilder outside(scan_);
      const Value start = outside.create<ir::CastOp>(wide.getLoc(), ir::TypeOf(wide).clone(narrow), wide);
      scan_ = AddCarry(scan_, start, [&](mlir::OpBuilder& inside, Value) -> Value {
        const Value next = scan_.nextCarries()[i];
        return inside.create<ir::CastOp>(next.getLoc(), ir::TypeOf(next).clone(narrow), next);
      });
      const Value argument = scan_.carryArguments().back();
      for (Operation* user : llvm::to_vector(scan_.carryArguments()[i].getUsers())) {
        if (!llvm::isa<ir::CastOp>(user) || user->getResult(0).getType() != argument.getType()) continue;
        user->getResult(0).replaceAllUsesWith(argument);
        user->erase();
      }
    }
  }

  ir::ScanOp scan_;
};

class NarrowLoopsPass : public impl::NarrowLoopsBase<NarrowLoopsPass> {
 public:
  using NarrowLoopsBase::NarrowLoopsBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::ScanOp> scans;
    getOperation().walk<mlir::WalkOrder::PostOrder>([&](ir::ScanOp scan) { scans.push_back(scan); });
    for (ir::ScanOp scan : scans) LoopNarrowing(scan).run();
  }
};

}  // namespace
}  // namespace sinter
