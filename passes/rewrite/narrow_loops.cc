#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/trip_batch.h"

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
  return cast && ir::IsWideningCast(ir::TypeOf(cast.getX()).getElementType(), ir::TypeOf(value).getElementType()) ? cast
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
    narrowResults();
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

  // Stacks that are only read in a narrower type are narrow, and so is a further carry, if the body reads the
  // carry in a narrower type for a library op.
  void narrowResults() {
    const size_t carries = scan_.getCarries().size();
    llvm::SmallVector<Value> yields(scan_.yield().getValues()), starts(scan_.getCarries());
    llvm::SmallVector<mlir::Type> types(scan_.getResultTypes());
    mlir::OpBuilder inside(scan_.yield());
    for (size_t i = carries; i < yields.size(); ++i) {
      const mlir::Type narrow = scan_.getResult(i).use_empty() ? mlir::Type() : NarrowReaders(scan_.getResult(i));
      if (!narrow) continue;
      const mlir::Location loc = yields[i].getLoc();
      yields[i] = inside.create<ir::CastOp>(loc, ir::TypeOf(yields[i]).clone(narrow), yields[i]);
      types[i] = ir::TypeOf(scan_.getResult(i)).clone(narrow);
    }
    addCarries(yields, types, starts);
    if (llvm::equal(yields, scan_.yield().getValues())) return;
    rebuild(yields, types, starts);
  }

  void addCarries(llvm::SmallVector<Value>& yields, llvm::SmallVector<mlir::Type>& types,
                  llvm::SmallVector<Value>& starts) {
    ir::PlacedBuilder outside(scan_);
    mlir::OpBuilder inside(scan_.yield());
    const size_t carries = scan_.getCarries().size();
    size_t added = 0;
    for (size_t i = 0; i < carries; ++i) {
      const mlir::BlockArgument carry = scan_.carryArguments()[i];
      ir::CastOp cast;
      for (Operation* user : carry.getUsers()) {
        auto candidate = llvm::dyn_cast<ir::CastOp>(user);
        if (candidate && Bits(candidate) < Bits(carry)) cast = candidate;
      }
      if (!cast) continue;
      const mlir::Type narrow = ir::TypeOf(cast.getResult()).getElementType();
      const Value start = scan_.getCarries()[i];
      const size_t place = carries + added++;
      starts.push_back(outside.create<ir::CastOp>(start.getLoc(), ir::TypeOf(start).clone(narrow), start));
      types.insert(types.begin() + place, starts.back().getType());
      const Value next = yields[i];
      yields.insert(yields.begin() + place,
                    inside.create<ir::CastOp>(next.getLoc(), ir::TypeOf(next).clone(narrow), next));
      const mlir::BlockArgument argument =
          scan_.block().insertArgument(static_cast<unsigned>(1 + place), cast.getType(), cast.getLoc());
      for (Operation* user : llvm::to_vector(carry.getUsers())) {
        auto same = llvm::dyn_cast<ir::CastOp>(user);
        if (!same || same.getType() != argument.getType()) continue;
        same.getResult().replaceAllUsesWith(argument);
        same.erase();
      }
    }
  }

  void rebuild(llvm::ArrayRef<Value> yields, llvm::ArrayRef<mlir::Type> types, llvm::ArrayRef<Value> starts) {
    const size_t carries = scan_.getCarries().size(), added = starts.size() - carries;
    ir::PlacedBuilder at(scan_);
    auto loop = at.create<ir::ScanOp>(scan_.getLoc(), types, scan_.getTripsAttr(), scan_.getReverseAttr(), starts,
                                      scan_.getSlices(), scan_.getInvariants());
    loop->setDiscardableAttrs(scan_->getDiscardableAttrDictionary());
    scan_.yield().getValuesMutable().assign(yields);
    loop.getBody().takeBody(scan_.getBody());
    at.setInsertionPointAfter(loop);
    for (size_t i = 0; i < scan_.getNumResults(); ++i) {
      Value result = scan_.getResult(i), now = loop.getResult(i < carries ? i : i + added);
      if (now.getType() != result.getType()) {
        for (Operation* user : llvm::to_vector(result.getUsers())) {
          user->getResult(0).replaceAllUsesWith(now);
          user->erase();
        }
      }
      result.replaceAllUsesWith(now);
    }
    scan_.erase();
    scan_ = loop;
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
