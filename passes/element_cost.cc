#include "sinter/passes/element_cost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter {

namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

// Provides operand elements as block arguments.
class GivenElements : public ir::ElementBuilder {
 public:
  GivenElements(ir::ScalarBuilder& s, mlir::Block& block) : ElementBuilder(s), block_(block) {}

  ir::Scalar element(mlir::Value tensor, mlir::ValueRange) override {
    mlir::Type element = ir::TypeOf(tensor).getElementType();
    mlir::Type type = ir::ScalarBuilder::ComputeType(element);
    return s().wrap(block_.addArgument(type, s().loc()), ir::ScalarBuilder::IsUnsigned(element));
  }

 private:
  mlir::Block& block_;
};

int64_t CostOf(mlir::Operation& op) {
  if (llvm::isa<arith::ConstantOp, arith::IndexCastOp, arith::IndexCastUIOp>(op)) return 0;
  if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex()) return 0;
  if (llvm::isa<arith::DivFOp, arith::RemFOp, math::SqrtOp, math::RsqrtOp, arith::DivSIOp, arith::DivUIOp,
                arith::RemSIOp, arith::RemUIOp>(op)) {
    return 4;
  }
  // These ops are one instruction each.
  if (llvm::isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
                math::FmaOp, math::CopySignOp>(op)) {
    return 1;
  }
  return llvm::isa<math::MathDialect>(op.getDialect()) ? 12 : 1;
}

int64_t Measure(mlir::Operation* op) {
  auto fusible = llvm::dyn_cast<ir::FusibleInterface>(op);
  if (!fusible) return 1;
  mlir::Block block;
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  ir::ScalarBuilder s(builder, op->getLoc());
  GivenElements elements(s, block);
  llvm::SmallVector<mlir::Value> coords;
  auto type = ir::TypeOf(op->getResult(0));
  for (int64_t d = 0; d < type.getRank(); ++d) {
    coords.push_back(block.addArgument(builder.getIndexType(), op->getLoc()));
  }
  fusible.emitElement(elements, coords, 0);
  int64_t cost = 0;
  for (mlir::Operation& scalar : block) cost += CostOf(scalar);
  return cost;
}

}  // namespace

int64_t ElementCost::of(mlir::Operation* op) {
  auto [it, is_new] = known_.try_emplace(op, 0);
  if (is_new) {
    int64_t cost = Measure(op);
    known_[op] = cost;
    return cost;
  }
  return it->second;
}

}  // namespace sinter
