#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/scan_edits.h"

namespace sinter {

#define GEN_PASS_DEF_OUTLINELOOPS
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;
using mlir::func::FuncOp;

class Outliner {
 public:
  Outliner(FuncOp function, int64_t number, ir::ScanOp scan)
      : function_(function), number_(number), scan_(scan), builder_(scan) {}

  mlir::LogicalResult run() {
    if (mlir::failed(checkDevices())) return mlir::failure();
    if (scan_.endsByData()) carryTrip();
    llvm::SmallVector<Value> carries(scan_.getCarries()), slices(scan_.getSlices());
    llvm::SmallVector<Value> invariants(scan_.getInvariants());
    countTrips(slices);
    liftConstants(invariants);
    FuncOp body = makeFunction(carries.size(), slices.size(), invariants.size());
    auto loop = builder_.create<ir::LoopOp>(
        scan_.getLoc(), scan_.getResultTypes(), mlir::FlatSymbolRefAttr::get(body.getSymNameAttr()),
        scan_.getTripsAttr(), scan_.getReverseAttr(), scan_.getGuardedAttr(), carries, slices, invariants);
    ir::SetDevice(loop, ir::DeviceOf(scan_.getOperation()));
    scan_.replaceAllUsesWith(loop);
    scan_.erase();
    return mlir::success();
  }

 private:
  mlir::LogicalResult checkDevices() {
    const ir::DeviceAttr device = ir::DeviceOf(scan_.getOperation());
    for (Operation& op : scan_.block().without_terminator()) {
      const ir::DeviceAttr inner = ir::DeviceOf(&op);
      if (llvm::isa<ir::CopyOp>(op) || (inner && device && inner != device)) {
        auto error = op.emitOpError()
                     << "in a loop is on another device than the loop" << (device ? ", " + device.text() : "")
                     << "; expected one device: place the loop whole, or copy before it";
        error.attachNote(scan_.getLoc()) << "the loop is here";
        return error;
      }
    }
    return mlir::success();
  }

  // The number of the trip becomes a carry that each trip increases: slices are for trips that are all made.
  void carryTrip() {
    if (scan_.trip().use_empty()) return;
    ir::PlacedBuilder at(scan_);
    ir::GraphBuilder b(at, scan_.getLoc());
    const ir::Expr zero = b.full({}, at.getIntegerType(64), 0);
    scan_ = AddCarry(scan_, zero.value, [&](mlir::OpBuilder& inside, Value carry) {
      ir::GraphBuilder inner(inside, scan_.getLoc());
      return (inner.wrap(carry) + 1.0).value;
    });
    scan_.trip().replaceAllUsesWith(scan_.carryArguments().back());
    builder_.setInsertionPoint(scan_);
  }

  // The number of the trip becomes a slice of 0, 1, 2, ...
  void countTrips(llvm::SmallVector<Value>& slices) {
    mlir::Block& block = scan_.block();
    if (!scan_.trip().use_empty()) {
      ir::PlacedBuilder at(scan_);
      ir::GraphBuilder b(at, scan_.getLoc());
      slices.push_back(b.iota({static_cast<int64_t>(scan_.getTrips())}, at.getIntegerType(64), 0).value);
      const unsigned behind = 1 + scan_.getCarries().size() + scan_.getSlices().size();
      auto slice = block.insertArgument(behind, scan_.trip().getType(), scan_.getLoc());
      scan_.trip().replaceAllUsesWith(slice);
    }
    block.eraseArgument(0);
  }

  // A fragment of the plan has no constants of its own. Splats become part of kernels.
  void liftConstants(llvm::SmallVector<Value>& invariants) {
    for (auto constant : llvm::make_early_inc_range(scan_.block().getOps<ir::ConstantOp>())) {
      if (llvm::isa<mlir::SplatElementsAttr>(constant.getValue())) continue;
      constant->moveBefore(scan_);
      invariants.push_back(constant);
      constant.getResult().replaceAllUsesWith(
          scan_.block().addArgument(constant.getType(), constant.getLoc()));
    }
  }

  FuncOp makeFunction(size_t carries, size_t slices, size_t invariants) {
    mlir::Block& block = scan_.block();
    mlir::OpBuilder at(function_);
    const std::string name = (function_.getSymName() + ".loop" + llvm::Twine(number_)).str();
    auto body =
        at.create<FuncOp>(scan_.getLoc(), name,
                          at.getFunctionType(block.getArgumentTypes(), scan_.yield().getValues().getTypes()));
    body.setPrivate();
    body->setAttr(ir::kFragmentAttr, at.getUnitAttr());
    body.getBody().takeBody(scan_.getBody());
    auto yield = llvm::cast<ir::YieldOp>(body.getBody().front().getTerminator());
    at.setInsertionPoint(yield);
    at.create<mlir::func::ReturnOp>(yield.getLoc(), yield.getValues());
    yield.erase();
    const ir::DeviceAttr device = ir::DeviceOf(scan_.getOperation());
    auto named = [&](llvm::StringRef kind, size_t i) {
      return mlir::FlatSymbolRefAttr::get(at.getContext(), (kind + llvm::Twine(i)).str());
    };
    for (size_t i = 0; i < carries + slices + invariants; ++i) {
      const bool is_carry = i < carries, is_slice = i < carries + slices;
      body.setArgAttr(i, ir::kParameterAttr,
                      is_carry   ? named(ir::kCarryPrefix, i)
                      : is_slice ? named(ir::kSlicePrefix, i - carries)
                                 : named(ir::kInvariantPrefix, i - carries - slices));
      if (device) body.setArgAttr(i, ir::kDeviceAttr, device);
    }
    for (unsigned i = 0; i < body.getNumResults(); ++i) {
      body.setResultAttr(i, ir::kParameterAttr,
                         i < carries ? named(ir::kCarryPrefix, i) : named(ir::kStackPrefix, i - carries));
    }
    if (!device) return body;
    for (Operation& op : body.getBody().front().without_terminator()) {
      // Results of the body are where the loop is, constants too.
      const bool is_given = llvm::is_contained(op.getUsers(), body.getBody().front().getTerminator());
      if (is_given || !ir::FollowsUsers(&op)) ir::SetDevice(&op, device);
    }
    return body;
  }

  FuncOp function_;
  int64_t number_;
  ir::ScanOp scan_;
  mlir::OpBuilder builder_;
};

class OutlineLoopsPass : public impl::OutlineLoopsBase<OutlineLoopsPass> {
 public:
  using OutlineLoopsBase::OutlineLoopsBase;

  void runOnOperation() override {
    for (FuncOp function : llvm::to_vector(getOperation().getOps<FuncOp>())) {
      // A loop within another is where that one is.
      function.walk<mlir::WalkOrder::PreOrder>([&](ir::ScanOp scan) {
        auto around = scan->getParentOfType<ir::ScanOp>();
        if (around && !ir::DeviceOf(scan.getOperation()))
          ir::SetDevice(scan, ir::DeviceOf(around.getOperation()));
      });
      // Loops within others come first, so that a function runs only functions before it.
      llvm::SmallVector<ir::ScanOp> scans;
      function.walk<mlir::WalkOrder::PostOrder>([&](ir::ScanOp scan) { scans.push_back(scan); });
      for (auto [number, scan] : llvm::enumerate(scans)) {
        if (mlir::failed(Outliner(function, number, scan).run())) return signalPassFailure();
      }
    }
  }
};

}  // namespace
}  // namespace sinter
