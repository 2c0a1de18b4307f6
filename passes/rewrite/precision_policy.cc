#include "sinter/ir/dialect/precision_attr.h"

#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_PRECISIONPOLICY
#include "passes/passes.h.inc"

namespace {

using ir::NumElements;
using mlir::Operation;
using mlir::OpOperand;
using mlir::RankedTensorType;
using mlir::Value;

bool IsF32(Value value) {
  auto type = llvm::dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

bool IsContraction(Operation* op) { return llvm::isa<ir::ContractionInterface>(op); }

// The math mode of a contraction. Modes other than ieee are the program's own choice of precision.
ir::MathMode MathOf(Operation* contraction) {
  return llvm::cast<ir::ContractionInterface>(contraction).getMath();
}

bool IsLowPrecisionContraction(Operation* op) {
  return IsContraction(op) && IsF32(op->getResult(0)) && MathOf(op) == ir::MathMode::ieee;
}

// True for ops that move elements to coordinates which depend only on shapes. Not gather: its gradient sums
// arbitrarily many terms in its operand's type.
bool IsIndexMap(Operation* op) {
  return llvm::isa<ir::FusibleInterface>(op) && !llvm::isa<ir::PointwiseInterface>(op) &&
         op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), IsF32);
}

// True for library ops that copy, move or average a few elements; no interface gives this property.
bool IsMove(Operation* op) {
  return llvm::isa<ir::MoveInterface, ir::MaxPool2dOp, ir::AvgPool2dOp, ir::SplitOp>(op);
}

// True for composites whose result has the type of their first operand: norms, softmax, dropout. They compute
// in f32 for any type.
bool IsLikeOperand(Operation* op) {
  return llvm::isa<ir::CompositeInterface>(op) && op->getNumOperands() > 0 && !IsMove(op) &&
         !IsContraction(op) && op->getResult(0).getType() == op->getOperand(0).getType();
}

// The operand of an attention op that stays in f32 beside low precision; null for other ops.
Value StatisticsOf(Operation* op) {
  if (auto attention = llvm::dyn_cast<ir::AttentionOp>(op)) return attention.getStats();
  if (auto gradient = llvm::dyn_cast<ir::AttentionGradOp>(op)) return gradient.getStats();
  return {};
}

bool Follows(Operation* op) {
  return llvm::isa<ir::PointwiseInterface>(op) || IsIndexMap(op) || IsMove(op) || IsLikeOperand(op);
}

// Returns the operands that become low precision with their op; not a composite's parameters and statistics.
llvm::SmallVector<OpOperand*> DataOperands(Operation* op) {
  llvm::SmallVector<OpOperand*> operands;
  for (OpOperand& operand : op->getOpOperands()) {
    bool is_data = !IsLikeOperand(op) || operand.get().getType() == op->getOperand(0).getType();
    is_data &= operand.get() != StatisticsOf(op);
    if (IsF32(operand.get()) && is_data) operands.push_back(&operand);
  }
  return operands;
}

llvm::SmallVector<Value> DataResults(Operation* op) {
  llvm::SmallVector<Value> results;
  for (Value result : op->getResults()) {
    bool is_data = !IsLikeOperand(op) || result.getType() == op->getOperand(0).getType();
    is_data &= result != StatisticsOf(op);
    if (IsF32(result) && is_data) results.push_back(result);
  }
  return results;
}

// The operands and results of an op that become low precision. Collected while all types are still the
// program's.
struct LowPrecisionParts {
  llvm::SmallVector<OpOperand*> operands;
  llvm::SmallVector<Value> results;
};

// Finds the ops of a block that become low precision: contractions (matmuls, convolutions), and ops between
// two of them.
llvm::DenseMap<Operation*, LowPrecisionParts> LowPrecisionOps(mlir::Block& block) {
  llvm::DenseSet<Value> behind;  // Values computed from contractions by ops that follow.
  for (Operation& op : block) {
    bool follows = Follows(&op) && llvm::any_of(DataOperands(&op), [&](OpOperand* operand) {
                     return behind.contains(operand->get());
                   });
    if (!follows && !IsLowPrecisionContraction(&op)) continue;
    for (Value result : DataResults(&op)) behind.insert(result);
  }
  llvm::DenseMap<Operation*, LowPrecisionParts> low_precision;
  auto reads_narrow = [&](OpOperand& use) {
    auto reader = low_precision.find(use.getOwner());
    return reader != low_precision.end() && llvm::is_contained(reader->second.operands, &use);
  };
  auto is_between = [&](Value result) {
    return behind.contains(result) && llvm::any_of(result.getUses(), reads_narrow);
  };
  // For the broadcast of a bias: it is cast before the broadcast, so that the contraction may add it.
  auto is_cheaper_before = [&](Operation& op) {
    return IsIndexMap(&op) && !op.use_empty() && llvm::all_of(op.getUses(), reads_narrow) &&
           llvm::all_of(op.getOperands(),
                        [&](Value operand) { return NumElements(operand) <= NumElements(op.getResult(0)); });
  };
  for (Operation& op : llvm::reverse(block)) {
    bool follows = Follows(&op) && (llvm::any_of(DataResults(&op), is_between) || is_cheaper_before(op));
    if (follows || IsLowPrecisionContraction(&op)) low_precision[&op] = {DataOperands(&op), DataResults(&op)};
  }
  return low_precision;
}

// Rewrites one function for `element`, bf16 or f16.
class FunctionPrecision {
 public:
  FunctionPrecision(mlir::func::FuncOp function, mlir::FloatType element, bool report)
      : function_(function),
        element_(element),
        f32_(mlir::Float32Type::get(function.getContext())),
        report_(report) {}

  // The body of a loop is like a function: what it gets and yields stays in f32.
  void run() {
    llvm::SmallVector<mlir::Block*> blocks = {&function_.getBody().front()};
    function_.walk([&](ir::ScanOp scan) { blocks.push_back(&scan.block()); });
    for (mlir::Block* block : blocks) runBlock(*block);
  }

 private:
  void runBlock(mlir::Block& block) {
    llvm::DenseMap<Operation*, LowPrecisionParts> low_precision = LowPrecisionOps(block);
    for (Operation& op : llvm::make_early_inc_range(block)) {
      if (auto gradients = llvm::dyn_cast<ir::GradientsOp>(op)) {
        keepGradients(gradients);
      } else if (auto found = low_precision.find(&op); found != low_precision.end()) {
        makeLowPrecision(&op, found->second);
      } else {
        keep(&op);
      }
    }
  }

  void makeLowPrecision(Operation* op, const LowPrecisionParts& parts) {
    for (OpOperand* operand : parts.operands) {
      if (low_precision_.contains(operand->get())) continue;
      operand->set(
          cast(operand->get(), element_, op, IsContraction(op) ? "a contraction" : "between contractions"));
    }
    for (Value result : parts.results) {
      result.setType(ir::TypeOf(result).clone(element_));
      low_precision_.insert(result);
    }
  }

  void keep(Operation* op) {
    if (report_ && IsContraction(op) && IsF32(op->getResult(0))) {
      mlir::emitRemark(op->getLoc()) << "'" << op->getName()
                                     << "' stays in f32: the program asks for its math mode "
                                     << stringifyMathMode(MathOf(op));
    }
    for (OpOperand& operand : op->getOpOperands()) {
      if (low_precision_.contains(operand.get()))
        operand.set(cast(operand.get(), f32_, op, "which stays in f32"));
    }
  }

  // A gradient has the type of its value; the program's ops read it as f32.
  void keepGradients(ir::GradientsOp op) {
    OpOperand& loss = op->getOpOperand(0);
    if (low_precision_.contains(loss.get())) loss.set(cast(loss.get(), f32_, op, "which stays in f32"));
    for (auto [x, gradient] : llvm::zip_equal(op.getXs(), op.getGradients())) {
      if (!low_precision_.contains(x)) continue;
      Value(gradient).setType(x.getType());
      llvm::SmallVector<OpOperand*> uses;
      for (OpOperand& use : gradient.getUses()) uses.push_back(&use);
      if (uses.empty()) continue;
      Value wide = cast(gradient, f32_, op, "whose value is wanted in f32");
      for (OpOperand* use : uses) use->set(wide);
    }
  }

  // Casts a value once, after its definition. `reader` is the first op that needs the cast.
  Value cast(Value value, mlir::Type element, Operation* reader, llvm::StringRef because) {
    Value& made = casts_[value];
    if (made) return made;
    ir::PlacedBuilder builder(value);
    made = builder.create<ir::CastOp>(value.getLoc(), ir::TypeOf(value).clone(element), value);
    if (report_) remark(value, element, reader, because);
    return made;
  }

  void remark(Value value, mlir::Type element, Operation* reader, llvm::StringRef because) {
    auto type = ir::TypeOf(value);
    auto remark = mlir::emitRemark(reader->getLoc());
    remark << "casts " << nameOf(value) << " of " << type << ", "
           << type.getNumElements() * (type.getElementTypeBitWidth() / 8) << " bytes, to " << element;
    if (reader->hasTrait<mlir::OpTrait::IsTerminator>()) {
      remark << " for the function's result";
    } else {
      remark << " for '" << reader->getName() << "', " << because;
    }
  }

  std::string nameOf(Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    if (!argument || argument.getOwner() != &function_.getBody().front()) return "a value";
    unsigned i = argument.getArgNumber();
    if (auto variable = function_.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr)) {
      return "variable \"" + variable.getValue().str() + "\"";
    }
    auto input = function_.getArgAttrOfType<mlir::StringAttr>(i, ir::kInputAttr);
    return input ? "input \"" + input.getValue().str() + "\"" : "an argument";
  }

  mlir::func::FuncOp function_;
  mlir::FloatType element_;
  mlir::Type f32_;
  bool report_;
  llvm::DenseSet<Value> low_precision_;  // Values made low precision by this pass.
  llvm::DenseMap<Value, Value> casts_;   // A value is cast to one type only: from f32, or back to it.
};

class PrecisionPolicyPass : public impl::PrecisionPolicyBase<PrecisionPolicyPass> {
 public:
  using PrecisionPolicyBase::PrecisionPolicyBase;

  void runOnOperation() override {
    mlir::func::FuncOp function = getOperation();
    auto module = function->getParentOfType<mlir::ModuleOp>();
    mlir::Attribute given = module ? module->getAttr(ir::kPrecisionAttr) : mlir::Attribute();
    if (!given || function.isExternal()) return;
    auto type = llvm::dyn_cast<mlir::TypeAttr>(given);
    if (type && type.getValue().isF32()) return;
    if (!type || !(type.getValue().isBF16() || type.getValue().isF16())) {
      module.emitError() << "has " << ir::kPrecisionAttr << " = " << given << "; expected f32, bf16 or f16";
      return signalPassFailure();
    }
    FunctionPrecision(function, llvm::cast<mlir::FloatType>(type.getValue()), report).run();
  }
};

}  // namespace
}  // namespace sinter
