#include "llvm/ADT/TypeSwitch.h"
#include "sinter/ir/dialect/op_requests.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/rewrite/scan_edits.h"

namespace sinter {

#define GEN_PASS_DEF_CHECKINDICES
#include "passes/passes.h.inc"

namespace {

using ir::Expr;
using mlir::Value;
using mlir::func::FuncOp;

// The indices of an op, and their range.
struct Indexing {
  mlir::TypedValue<mlir::RankedTensorType> indices;  // Null if the op has no indices.
  int64_t size = 0;                                  // Valid indices are 0 to size - 1.
  std::optional<int64_t> ignored = std::nullopt;     // An index that the op ignores.
};

Indexing IndexingOf(mlir::Operation* op) {
  auto along_dim = [](auto o) -> Indexing {
    return {o.getIndices(), o.getX().getType().getDimSize(o.getDim())};
  };
  return llvm::TypeSwitch<mlir::Operation*, Indexing>(op)
      .Case<ir::GatherOp, ir::TakeAlongOp, ir::ScatterAddOp, ir::ScatterOp>(along_dim)
      .Case([](ir::OneHotOp o) -> Indexing { return {o.getIndices(), o.getType().getShape().back()}; })
      .Case([](ir::SoftmaxCrossEntropyOp o) -> Indexing {
        Indexing indexing = {o.getLabels(), o.getLogits().getType().getShape().back()};
        if (auto ignored = o.getIgnoreLabel()) indexing.ignored = static_cast<int64_t>(*ignored);
        return indexing;
      })
      .Default([](mlir::Operation*) { return Indexing(); });
}

// The op's location with a name: the user's call, else the op.
mlir::Location NamedLocation(mlir::Operation* op) {
  if (!llvm::isa<mlir::FileLineColLoc>(op->getLoc())) return op->getLoc();
  return mlir::NameLoc::get(mlir::StringAttr::get(op->getContext(), op->getName().stripDialect()),
                            op->getLoc());
}

// Returns the smallest or largest element of x as i64[1].
template <typename Op>
Expr Extreme(Expr x) {
  ir::GraphBuilder& b = *x.builder;
  if (!x.shape().empty()) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(x.shape().size())));
    auto type = mlir::RankedTensorType::get({}, x.element());
    x = b.wrap(b.builder().create<Op>(b.loc(), type, x.value, dims));
  }
  return b.reshape(b.cast(x, b.builder().getI64Type()), {1});
}

Value Summary(mlir::OpBuilder& builder, mlir::Location loc, const Indexing& indexing) {
  ir::GraphBuilder b(builder, loc);
  Expr x = b.wrap(indexing.indices);
  if (indexing.ignored) {
    Expr ignored = b.fill(x, static_cast<double>(*indexing.ignored));
    x = b.select(b.eq(x, ignored), b.zeros(x), x);
  }
  Expr size = b.full({1}, builder.getI64Type(), static_cast<double>(indexing.size));
  return b.concat({Extreme<ir::MinOp>(x), Extreme<ir::MaxOp>(x), size}, 0).value;
}

// Returns the summary of all trips of the loops around this one, outside of them: a carry that each trip
// widens.
Value OverAllTrips(Value summary, int64_t size) {
  while (auto scan = llvm::dyn_cast<ir::ScanOp>(summary.getParentBlock()->getParentOp())) {
    ir::PlacedBuilder outside(scan);
    ir::GraphBuilder b(outside, summary.getLoc());
    // As a trip whose indices are all 0 would leave it.
    auto part = [](Expr x, int64_t i) { return x.builder->slice(x, {i}, {i + 1}, {1}); };
    const mlir::Type number = outside.getI64Type();
    const Expr start = b.concat({b.full({2}, number, 0), b.full({1}, number, static_cast<double>(size))}, 0);
    ir::ScanOp loop = AddCarry(scan, start.value, [&](mlir::OpBuilder& at, Value carry) {
      ir::GraphBuilder inside(at, summary.getLoc());
      const Expr now = inside.wrap(summary), before = inside.wrap(carry);
      const Expr lowest = inside.minimum(part(before, 0), part(now, 0));
      const Expr highest = inside.maximum(part(before, 1), part(now, 1));
      return inside.concat({lowest, highest, part(now, 2)}, 0).value;
    });
    summary = loop.lasts().back();
  }
  return summary;
}

class CheckIndicesPass : public impl::CheckIndicesBase<CheckIndicesPass> {
 public:
  using CheckIndicesBase::CheckIndicesBase;

  void runOnOperation() override {
    for (FuncOp function : llvm::to_vector(getOperation().getOps<FuncOp>())) {
      if (!function.isPrivate() && !function.isExternal()) check(function);
    }
  }

 private:
  void check(FuncOp function) {
    llvm::SmallVector<mlir::Operation*> checked;
    function.walk([&](mlir::Operation* op) {
      auto indices = IndexingOf(op).indices;
      if (!indices || op->hasAttr(ir::kUncheckedAttr)) return;
      if (indices.getType().getNumElements() > 0) checked.push_back(op);
    });
    mlir::Operation* end = function.getBody().front().getTerminator();
    for (auto [i, op] : llvm::enumerate(checked)) {
      ir::PlacedBuilder builder(op);
      builder.setInsertionPoint(op->getBlock()->getTerminator());
      Value summary = OverAllTrips(Summary(builder, op->getLoc(), IndexingOf(op)), IndexingOf(op).size);
      mlir::FlatSymbolRefAttr variable = makeVariable(function, i, op, summary.getType());
      function.insertResult(function.getNumResults(), summary.getType(),
                            builder.getDictionaryAttr(builder.getNamedAttr(ir::kVariableAttr, variable)));
      end->insertOperands(end->getNumOperands(), summary);
    }
  }

  mlir::FlatSymbolRefAttr makeVariable(FuncOp function, size_t number, mlir::Operation* op, mlir::Type type) {
    mlir::OpBuilder builder(function);
    std::string name = prefix + function.getSymName().str() + "/" + std::to_string(number);
    auto variable = builder.create<ir::VariableOp>(
        NamedLocation(op), builder.getStringAttr(name), mlir::TypeAttr::get(type),
        ir::InitializerAttr::get(&getContext(), ir::Initializer::constant), builder.getF64FloatAttr(0),
        builder.getF64FloatAttr(0), builder.getI64IntegerAttr(0), mlir::UnitAttr());
    ir::SetDevice(variable, ir::DeviceOf(op));
    return mlir::FlatSymbolRefAttr::get(&getContext(), name);
  }
};

}  // namespace
}  // namespace sinter
