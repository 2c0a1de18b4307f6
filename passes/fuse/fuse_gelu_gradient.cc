#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_FUSEGELUGRADIENT
#include "passes/passes.h.inc"

namespace {

using ir::Activation;
using mlir::Operation;
using mlir::Value;

// True if the same ops compute both values. `known` maps the inputs of `want` to those of `have`, and gets
// the matched values. The operands of additions and multiplications may be swapped.
bool IsSame(Value have, Value want, mlir::IRMapping& known) {
  if (Value is = known.lookupOrNull(want)) return is == have;
  Operation *x = have.getDefiningOp(), *y = want.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || have.getType() != want.getType()) return false;
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(x)) {
    return constant.getValue() == llvm::cast<ir::ConstantOp>(y).getValue();
  }
  if (!llvm::isa<ir::PointwiseInterface>(x)) return false;
  auto same = [&](unsigned i, unsigned j) { return IsSame(x->getOperand(i), y->getOperand(j), known); };
  bool is_same = true;
  for (unsigned i = 0; i < x->getNumOperands(); ++i) is_same = is_same && same(i, i);
  if (!is_same && llvm::isa<ir::AddOp, ir::MulOp>(x)) is_same = same(0, 1) && same(1, 0);
  if (is_same) known.map(want, have);
  return is_same;
}

// True if `product` is g gelu_tanh'(x), as ir::GeluTanhOp's gradient builds it.
bool IsGeluGradient(ir::MulOp product, Value g, Value x) {
  mlir::Block scratch;
  mlir::OpBuilder at(product.getContext());
  at.setInsertionPointToEnd(&scratch);
  ir::GraphBuilder b(at, product.getLoc());
  ir::Expr want_g = b.wrap(scratch.addArgument(g.getType(), g.getLoc()));
  ir::Expr want_x = b.wrap(scratch.addArgument(x.getType(), x.getLoc()));
  mlir::IRMapping known;
  known.map(want_g.value, g);
  known.map(want_x.value, x);
  const bool is_same = IsSame(product.getResult(), b.geluTanhGradient(want_g, want_x).value, known);
  // From last to first: readers are erased before the ops that they read.
  while (!scratch.empty()) scratch.back().erase();
  return is_same;
}

// Returns values that are squared in the pointwise ops of `slope`; the input of gelu_tanh is one of them.
llvm::SmallVector<Value> Squared(Value slope) {
  constexpr size_t kMost = 64;  // The slope is computed by about 20 ops.
  llvm::SetVector<Value> seen;
  llvm::SmallVector<Value> squared;
  seen.insert(slope);
  for (size_t i = 0; i < std::min(seen.size(), kMost); ++i) {
    Operation* op = seen[i].getDefiningOp();
    if (!op || !llvm::isa<ir::PointwiseInterface>(op)) continue;
    if (auto mul = llvm::dyn_cast<ir::MulOp>(op); mul && mul.getX() == mul.getY())
      squared.push_back(mul.getX());
    seen.insert(op->operand_begin(), op->operand_end());
  }
  return squared;
}

// True if a library computes the matmul and the gradient behind it in one call.
bool HasGradientCall(ir::MatmulOp matmul) {
  return matmul.getType().getRank() == 2 &&
         ir::TargetModel::Of(matmul.getOperation())
             .libraries
             ->againstMatmulGradient(ir::MatmulSizes::Of(matmul), matmul.getA().getType().getElementType(),
                                     matmul.getType().getElementType(), Activation::gelu_tanh)
             .empty();
}

// For a matmul of bf16 or f16 whose only reader multiplies it by the derivative of gelu_tanh: builds the
// fused op in place of both, if cuBLASLt supports it.
void FuseGeluGradient(ir::MatmulOp matmul) {
  const bool is_plain = !matmul.getBias() && !matmul.getAddend() && !matmul.getScale() &&
                        matmul.getActivation() == Activation::none;
  if (!is_plain || !matmul->hasOneUse() || !HasGradientCall(matmul)) return;
  auto product = llvm::dyn_cast<ir::MulOp>(*matmul->getUsers().begin());
  if (!product) return;
  Value slope = product.getX() == matmul.getResult() ? product.getY() : product.getX();
  llvm::SmallVector<Value> squared = Squared(slope);
  auto* x = llvm::find_if(squared, [&](Value x) {
    return x.getType() == product.getType() && IsGeluGradient(product, matmul.getResult(), x);
  });
  if (x == squared.end()) return;
  ir::PlacedBuilder at(product);
  auto fused = at.create<ir::MatmulGradOp>(matmul.getLoc(), product.getType(), matmul.getA(), matmul.getB(),
                                           *x, matmul.getTransposeA(), matmul.getTransposeB(),
                                           Activation::gelu_tanh, matmul.getMath());
  fused->setLoc(mlir::FusedLoc::get(fused->getContext(), {matmul.getLoc(), product.getLoc()}));
  product.getResult().replaceAllUsesWith(fused.getResult());
  product.erase();
  matmul.erase();
}

class FuseGeluGradientPass : public impl::FuseGeluGradientBase<FuseGeluGradientPass> {
 public:
  using FuseGeluGradientBase::FuseGeluGradientBase;

  void runOnOperation() override {
    llvm::SmallVector<ir::MatmulOp> matmuls;
    getOperation().walk([&](ir::MatmulOp op) { matmuls.push_back(op); });
    for (ir::MatmulOp op : matmuls) FuseGeluGradient(op);
  }
};

}  // namespace
}  // namespace sinter
