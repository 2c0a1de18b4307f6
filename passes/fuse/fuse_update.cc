#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_FUSEUPDATE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Smaller updates share one kernel (fuse.cc), and their gradients stay in cache.
constexpr int64_t kLargeMatmul = 1 << 20;

// The matched x + rate * matmul or x - rate * matmul. Null rate means 1.
struct MomentumUpdate {
  Operation* op;
  Value variable, rate;
  ir::MatmulOp matmul;
  bool subtracts;
};

// Returns the matmul of `value` if it may take an addend and nothing else reads it; else null.
ir::MatmulOp MatmulOf(Value value) {
  auto matmul = value.getDefiningOp<ir::MatmulOp>();
  const bool is_plain = matmul && !matmul.getBias() && !matmul.getAddend() && !matmul.getScale() &&
                        matmul.getActivation() == ir::Activation::none;
  return is_plain && matmul->hasOneUse() ? matmul : ir::MatmulOp();
}

// True if all elements are one number.
bool IsOneNumber(Value value) {
  if (auto constant = value.getDefiningOp<ir::ConstantOp>()) {
    return llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
  }
  auto broadcast = value.getDefiningOp<ir::BroadcastOp>();
  return broadcast && broadcast.getX().getType().getRank() == 0;
}

bool FindStep(Value step, MomentumUpdate& update) {
  if ((update.matmul = MatmulOf(step))) return true;
  auto mul = step.getDefiningOp<ir::MulOp>();
  if (!mul || !mul->hasOneUse()) return false;
  for (auto [x, rate] : {std::pair(mul.getX(), mul.getY()), std::pair(mul.getY(), mul.getX())}) {
    update.matmul = MatmulOf(x), update.rate = rate;
    if (update.matmul && IsOneNumber(rate)) return true;
  }
  return false;
}

// Returns the update of `variable` that gives `value`, if one matmul can compute it; else nullopt.
std::optional<MomentumUpdate> FindUpdate(Value value, Value variable) {
  Operation* op = value.getDefiningOp();
  if (!op || !ir::TargetModel::Of(op).matmul_adds) return std::nullopt;
  MomentumUpdate update = {op, variable, {}, {}, llvm::isa<ir::SubOp>(op)};
  if (llvm::isa<ir::SubOp, ir::AddOp>(op) && op->getOperand(0) == variable &&
      FindStep(op->getOperand(1), update)) {
    return update;
  }
  if (llvm::isa<ir::AddOp>(op) && op->getOperand(1) == variable && FindStep(op->getOperand(0), update)) {
    return update;
  }
  return std::nullopt;
}

// Returns the signed rate as a rank-0 value; null if it is 1.
Value ScaleOf(const MomentumUpdate& update, mlir::OpBuilder& builder) {
  if (!update.rate && !update.subtracts) return {};
  mlir::Location loc = update.op->getLoc();
  auto type = mlir::RankedTensorType::get({}, builder.getF32Type());
  auto broadcast = update.rate ? update.rate.getDefiningOp<ir::BroadcastOp>() : ir::BroadcastOp();
  if (broadcast) {
    Value rate = broadcast.getX();
    return update.subtracts ? Value(builder.create<ir::NegOp>(loc, type, rate)) : rate;
  }
  llvm::APFloat rate(1.0f);
  if (update.rate) {
    auto constant = update.rate.getDefiningOp<ir::ConstantOp>();
    rate = llvm::cast<mlir::SplatElementsAttr>(constant.getValue()).getSplatValue<llvm::APFloat>();
  }
  if (update.subtracts) rate.changeSign();
  return builder.create<ir::ConstantOp>(loc, mlir::DenseElementsAttr::get(type, rate));
}

class FuseUpdatePass : public impl::FuseUpdateBase<FuseUpdatePass> {
 public:
  using FuseUpdateBase::FuseUpdateBase;

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    if (function.isExternal()) return;
    Operation* end = function.getBody().front().getTerminator();
    llvm::DenseMap<mlir::Attribute, Value> old_values;
    for (mlir::BlockArgument argument : function.getArguments()) {
      mlir::Attribute name = function.getArgAttr(argument.getArgNumber(), ir::kVariableAttr);
      if (name) old_values[name] = argument;
    }
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      Value variable = old_values.lookup(function.getResultAttr(i, ir::kVariableAttr));
      if (!variable) continue;
      auto type = ir::TypeOf(variable);
      if (!type.getElementType().isF32() || type.getNumElements() < kLargeMatmul) continue;
      if (std::optional<MomentumUpdate> update = FindUpdate(end->getOperand(i), variable)) apply(*update);
    }
  }

 private:
  void apply(MomentumUpdate update) {
    ir::PlacedBuilder builder(update.op);
    auto fused = llvm::cast<ir::MatmulOp>(builder.clone(*update.matmul.getOperation()));
    builder.setInsertionPoint(fused);
    fused.getAddendMutable().assign(update.variable);
    // A product of constants has no device, but the variable has one.
    ir::SetDevice(fused, ir::DeviceOf(update.op));
    if (Value scale = ScaleOf(update, builder)) fused.getScaleMutable().assign(scale);
    fused->setLoc(mlir::FusedLoc::get(&getContext(), {update.matmul.getLoc(), update.op->getLoc()}));
    Operation* step = update.rate ? *update.matmul->user_begin() : nullptr;
    update.op->getResult(0).replaceAllUsesWith(fused.getResult());
    update.op->erase();
    if (step) step->erase();
    update.matmul.getOperation()->erase();
  }
};

}  // namespace
}  // namespace sinter
