#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_FUSEEPILOGUE
#include "passes/passes.h.inc"

namespace {

using ir::Activation;
using mlir::Operation;
using mlir::Value;

Activation ActivationOf(Operation* op) {
  return llvm::TypeSwitch<Operation*, Activation>(op)
      .Case([](ir::ReluOp) { return Activation::relu; })
      .Case([](ir::GeluOp) { return Activation::gelu; })
      .Case([](ir::GeluTanhOp) { return Activation::gelu_tanh; })
      .Case([](ir::SigmoidOp) { return Activation::sigmoid; })
      .Case([](ir::TanhOp) { return Activation::tanh; })
      .Case([](ir::SiluOp) { return Activation::silu; })
      .Default(Activation::none);
}

// Returns why the library cannot apply the activation, or a bias alone (none); empty if it can. Otherwise the
// epilogue is a separate kernel.
template <typename Op>
std::string AgainstEpilogue(Op op, Activation activation) {
  return ir::TargetModel::Of(op.getOperation()).libraries->againstEpilogue(op, activation);
}

// Returns the vector that `value` repeats along all dimensions except `dim`; null if there is none.
Value BiasVector(Value value, int64_t dim, int64_t size) {
  auto broadcast = value.getDefiningOp<ir::BroadcastOp>();
  if (!broadcast || broadcast.getDims() != llvm::ArrayRef<int64_t>({dim})) return {};
  Value x = broadcast.getX();
  return broadcast.getX().getType().getShape() == llvm::ArrayRef<int64_t>({size}) ? x : Value();
}

class FuseEpiloguePass : public impl::FuseEpilogueBase<FuseEpiloguePass> {
 public:
  using FuseEpilogueBase::FuseEpilogueBase;

  void runOnOperation() override {
    llvm::SmallVector<Operation*> heads;
    getOperation().walk([&](Operation* op) {
      if (llvm::isa<ir::MatmulOp, ir::Conv2dOp>(op)) heads.push_back(op);
    });
    for (Operation* op : heads) {
      // Fused ops are erased.
      if (auto matmul = llvm::dyn_cast<ir::MatmulOp>(op)) {
        fuse(matmul);
      } else {
        fuse(llvm::cast<ir::Conv2dOp>(op));
      }
    }
  }

 private:
  template <typename Op>
  void fuse(Op op) {
    if (!llvm::isa<mlir::FloatType>(op.getType().getElementType())) return;
    op = fuseBias(op);
    fuseActivation(op);
  }

  // Returns the op with the bias, replacing the addition; the unchanged op if nothing can be fused.
  template <typename Op>
  Op fuseBias(Op op) {
    if (op.getBias() || op.getActivation() != Activation::none) return op;
    ir::AddOp add;
    Value bias;
    int64_t dim = op.getBiasDim(), size = op.getType().getDimSize(dim);
    for (Operation* user : op->getUsers()) {
      auto candidate = llvm::dyn_cast<ir::AddOp>(user);
      if (!candidate) continue;
      Value other = candidate.getX() == op.getResult() ? candidate.getY() : candidate.getX();
      add = candidate;
      if ((bias = BiasVector(other, dim, size))) break;
    }
    if (!add) return op;
    if (!bias) {
      refuse(op, add,
             "what is added is not a vector repeated along every dimension but " + std::to_string(dim));
      return op;
    }
    if (!op->hasOneUse()) {
      refuse(op, add, "the result without bias has other uses");
      return op;
    }
    if (std::string reason = AgainstEpilogue(op, Activation::none); !reason.empty()) {
      refuse(op, add, reason);
      return op;
    }
    mlir::OpBuilder builder(add);
    auto fused = llvm::cast<Op>(builder.clone(*op));
    fused.getBiasMutable().assign(bias);
    replace(op, add, fused);
    return fused;
  }

  template <typename Op>
  void fuseActivation(Op op) {
    if (op.getActivation() != Activation::none) return;
    for (Operation* user : op->getUsers()) {
      if (Operation* behind = activationBehindReshape(user)) user = behind;
      Activation activation = ActivationOf(user);
      if (activation == Activation::none) continue;
      if (!op->hasOneUse()) {
        refuse(op, user, "the value before it has other uses, such as its gradient");
        return;
      }
      if (std::string reason = AgainstEpilogue(op, activation); !reason.empty()) {
        refuse(op, user, reason);
        return;
      }
      mlir::OpBuilder builder(user);
      auto fused = llvm::cast<Op>(builder.clone(*op));
      fused.setActivation(activation);
      replace(op, user, fused);
      return;
    }
  }

  // The activation that is the only reader of a reshape; null for other ops.
  static Operation* activationBehindReshape(Operation* op) {
    if (!llvm::isa<ir::ReshapeOp>(op) || !op->hasOneUse()) return nullptr;
    Operation* const reader = *op->getUsers().begin();
    return ActivationOf(reader) == Activation::none ? nullptr : reader;
  }

  // Replaces `last` by `fused`, whose location names the user's lines of both ops. A reshape before `last`
  // comes behind it.
  void replace(Operation* op, Operation* last, Operation* fused) {
    // An op of constants has no device, but what is added to it may have one.
    ir::SetDevice(fused, ir::DeviceOf(last));
    fused->setLoc(mlir::FusedLoc::get(&getContext(), {op->getLoc(), last->getLoc()}));
    Value result = fused->getResult(0);
    auto reshape = last->getOperand(0).getDefiningOp<ir::ReshapeOp>();
    if (reshape && reshape.getX() == op->getResult(0)) {
      Operation* const moved = mlir::OpBuilder(last).clone(*reshape);
      moved->setOperand(0, result);
      result = moved->getResult(0);
    } else {
      reshape = nullptr;
    }
    last->getResult(0).replaceAllUsesWith(result);
    last->erase();
    if (reshape) reshape->erase();
    op->erase();
  }

  void refuse(Operation* op, Operation* epilogue, const std::string& reason) {
    if (!report) return;
    op->emitRemark() << "epilogue not fused: '" << epilogue->getName() << "' after '" << op->getName()
                     << "': " << reason;
  }
};

}  // namespace
}  // namespace sinter
