#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_FOLDTRANSPOSES
#include "passes/passes.h.inc"

namespace {

// The permutation of a transpose, without the exchange of the last two dimensions.
struct Permutation {
  llvm::SmallVector<int64_t> rest;

  // nullopt if the value is not the transpose of a matrix, or if the rest would move the last dimension too.
  static std::optional<Permutation> Of(ir::TransposeOp op) {
    if (!op || op.getPermutation().size() < 2) return std::nullopt;
    Permutation made{llvm::to_vector(op.getPermutation())};
    std::swap(made.rest.back(), made.rest[made.rest.size() - 2]);
    if (made.rest.back() != static_cast<int64_t>(made.rest.size()) - 1) return std::nullopt;
    return made;
  }
  bool IsIdentity() const { return llvm::is_sorted(rest); }
};

// Returns the matrices that `operand` has transposed, or null if the matmul should read `operand` itself.
mlir::Value BeforeTranspose(mlir::Value operand) {
  auto transpose = operand.getDefiningOp<ir::TransposeOp>();
  std::optional<Permutation> permutation = Permutation::Of(transpose);
  if (!permutation) return {};
  if (permutation->IsIdentity()) return transpose.getX();
  // For another reader both transposes would be computed.
  if (!operand.hasOneUse()) return {};
  ir::PlacedBuilder at(transpose);
  ir::GraphBuilder b(at, transpose.getLoc());
  return b.transpose(b.wrap(transpose.getX()), permutation->rest).value;
}

void EraseIfUnread(mlir::Operation* op) {
  if (op && op->use_empty()) op->erase();
}

void FoldOperands(ir::MatmulOp op) {
  for (bool is_b : {false, true}) {
    mlir::OpOperand& operand = is_b ? op.getBMutable() : op.getAMutable();
    mlir::Operation* transpose = operand.get().getDefiningOp();
    mlir::Value matrices = BeforeTranspose(operand.get());
    if (!matrices) continue;
    operand.set(matrices);
    is_b ? op.setTransposeB(!op.getTransposeB()) : op.setTransposeA(!op.getTransposeA());
    EraseIfUnread(transpose);
  }
}

// (A B)^T = B^T A^T.
void FoldResult(ir::TransposeOp op) {
  auto matmul = op.getX().getDefiningOp<ir::MatmulOp>();
  std::optional<Permutation> permutation = Permutation::Of(op);
  if (!matmul || !permutation || !permutation->IsIdentity() || !matmul->hasOneUse()) return;
  if (matmul->getNumOperands() > 2 || matmul.getActivation() != ir::Activation::none) return;
  ir::PlacedBuilder at(matmul);
  auto transposed = at.create<ir::MatmulOp>(matmul.getLoc(), op.getType(), matmul.getB(), matmul.getA(),
                                            mlir::Value(), !matmul.getTransposeB(), !matmul.getTransposeA(),
                                            ir::Activation::none, matmul.getMath());
  op.replaceAllUsesWith(transposed.getResult());
  op.erase();
  matmul.erase();
}

class FoldTransposesPass : public impl::FoldTransposesBase<FoldTransposesPass> {
 public:
  using FoldTransposesBase::FoldTransposesBase;

  void runOnOperation() override {
    // Results first: a transpose between two matmuls then costs neither anything.
    llvm::SmallVector<ir::TransposeOp> transposes;
    getOperation().walk([&](ir::TransposeOp op) { transposes.push_back(op); });
    for (ir::TransposeOp op : transposes) FoldResult(op);
    getOperation().walk([](ir::MatmulOp op) { FoldOperands(op); });
  }
};

}  // namespace
}  // namespace sinter
