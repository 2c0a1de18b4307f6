#include "sinter/passes/plan/rematerialisation.h"

#include <algorithm>

#include "mlir/IR/IRMapping.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// Suffix of the names of recomputing calls. Such a call is not recomputed itself.
constexpr llvm::StringLiteral kSuffix = "_again";

Operation* YieldOf(plan_ir::CallOp call) { return &call.getBody().front().back(); }

// Returns a buffer like `buffer` (a chain of views of `root`), but of the memory `other`.
Value Rebased(Value buffer, Value root, Value other, llvm::DenseMap<Value, Value>& made) {
  if (buffer == root) return other;
  if (Value known = made.lookup(buffer)) return known;
  auto view = buffer.getDefiningOp<plan_ir::ViewOp>();
  Value source = Rebased(view.getSource(), root, other, made);
  mlir::OpBuilder builder(source.getContext());
  builder.setInsertionPointAfter(source.getDefiningOp());
  return made[buffer] =
             builder.create<plan_ir::ViewOp>(view.getLoc(), view.getType(), source, view.getOffset());
}

}  // namespace

StepUses::StepUses(plan_ir::FunctionOp function) : steps_(StepsOf(function)) {
  for (auto [s, step] : llvm::enumerate(steps_)) {
    auto add = [&](llvm::DenseMap<Value, llvm::SmallVector<int64_t>>& list, Value root) {
      llvm::SmallVector<int64_t>& steps = list[root];
      if (steps.empty() || steps.back() != static_cast<int64_t>(s)) steps.push_back(s);
    };
    for (Value buffer : step->getOperands()) add(uses_, Resolve(buffer).root);
    for (Value buffer : WritesOf(step)) {
      Value root = Resolve(buffer).root;
      add(writes_, root);
      if (root.getDefiningOp<plan_ir::VariableOp>()) written_variables_.push_back(root);
    }
  }
}

// True if a step after `since` and before `until` writes the memory.
bool StepUses::isWritten(Value root, int64_t since, int64_t until) const {
  auto writes = [&](Value written) {
    auto found = writes_.find(written);
    return found != writes_.end() &&
           llvm::any_of(found->second, [&](int64_t step) { return since < step && step < until; });
  };
  if (!root.getDefiningOp<plan_ir::VariableOp>()) return writes(root);
  return llvm::any_of(written_variables_,
                      [&](Value written) { return SameMemory(written, root) && writes(written); });
}

// True if the buffer has the same contents at step `until` as after step `since`, and need not be kept just
// for that.
bool StepUses::isThere(Value buffer, int64_t since, int64_t until) const {
  Value root = Resolve(buffer).root;
  if (root.getDefiningOp<plan_ir::AllocOp>() && !IsHandedOut(root)) {
    auto uses = uses_.find(root);
    if (uses == uses_.end() || uses->second.back() < until) return false;
  }
  return !isWritten(root, since, until);
}

bool StepUses::collectInputs(Value value, int64_t since, Rematerialisation& again,
                             llvm::DenseSet<Value>& seen) const {
  plan_ir::CallOp call = again.call;
  auto add = [&](Value buffer) {
    again.inputs.insert({value, buffer});
    again.moved_bytes += BytesOf(buffer);
    return true;
  };
  if (!seen.insert(value).second) return true;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    Value buffer = call.getIns()[argument.getArgNumber()];
    return isThere(buffer, since, again.before) && add(buffer);
  }
  for (auto [i, yielded] : llvm::enumerate(YieldOf(call)->getOperands())) {
    if (yielded != value || i == again.output) continue;
    if (isThere(call.getOuts()[i], since, again.before)) return add(call.getOuts()[i]);
  }
  Operation* op = value.getDefiningOp();
  if (!llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op)) return false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return collectInputs(operand, since, again, seen); });
}

std::optional<Rematerialisation> StepUses::findRematerialisation(Value alloc, int64_t peak) const {
  auto uses = uses_.find(alloc), writes = writes_.find(alloc);
  if (uses == uses_.end() || writes == writes_.end() || writes->second.size() != 1 || IsHandedOut(alloc)) {
    return std::nullopt;
  }
  int64_t written = writes->second[0];
  auto next = llvm::lower_bound(uses->second, peak);
  if (written >= peak || next == uses->second.end() || *next == peak) return std::nullopt;
  auto call = llvm::dyn_cast<plan_ir::CallOp>(steps_[written]);
  if (!call || call.getWorkspaceBytes() > 0 || call.getName().ends_with(kSuffix)) return std::nullopt;
  auto out = llvm::find(call.getOuts(), alloc);
  if (out == call.getOuts().end()) return std::nullopt;
  Rematerialisation again;
  again.alloc = alloc;
  again.call = call;
  again.output = out - call.getOuts().begin();
  again.before = *next;
  again.saved_bytes = again.moved_bytes = BytesOf(alloc);
  llvm::DenseSet<Value> seen;
  if (!collectInputs(YieldOf(call)->getOperand(again.output), written, again, seen)) return std::nullopt;
  return again;
}

void StepUses::buildBody(const Rematerialisation& again, plan_ir::CallOp clone) {
  plan_ir::CallOp call = again.call;
  mlir::Block& body = clone.getBody().emplaceBlock();
  mlir::OpBuilder builder(clone.getContext());
  builder.setInsertionPointToEnd(&body);
  mlir::IRMapping mapping;
  for (auto [value, buffer] : again.inputs) {
    mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
  }
  auto build = [&](auto& self, Value value) -> Value {
    if (Value made = mapping.lookupOrNull(value)) return made;
    Operation* op = value.getDefiningOp();
    for (Value operand : op->getOperands()) self(self, operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  };
  Value result = build(build, YieldOf(call)->getOperand(again.output));
  builder.create<ir::YieldOp>(clone.getLoc(), mlir::ValueRange(result));
}

plan_ir::CallOp StepUses::insert(const Rematerialisation& again) {
  plan_ir::CallOp call = again.call;
  Value old = again.alloc;
  mlir::OpBuilder builder(call.getContext());
  builder.setInsertionPointAfter(old.getDefiningOp());
  auto alloc = builder.create<plan_ir::AllocOp>(old.getLoc(), old.getType(), mlir::IntegerAttr(),
                                                old.getDefiningOp<plan_ir::AllocOp>().getDeviceAttr());
  llvm::SmallVector<Value> ins;
  for (auto [value, buffer] : again.inputs) ins.push_back(buffer);
  builder.setInsertionPoint(steps_[again.before]);
  auto name = builder.getStringAttr(call.getName() + kSuffix);
  auto clone = builder.create<plan_ir::CallOp>(
      call.getLoc(), ins, mlir::ValueRange(alloc.getBuffer()), name, builder.getI64IntegerAttr(0),
      mlir::IntegerAttr(), mlir::DenseI64ArrayAttr(), call.getDeviceAttr(), call.getBackendAttr());
  buildBody(again, clone);
  llvm::DenseMap<Value, Value> views;
  for (Operation* step : llvm::ArrayRef(steps_).drop_front(again.before)) {
    for (mlir::OpOperand& operand : step->getOpOperands()) {
      if (Resolve(operand.get()).root != old) continue;
      operand.set(Rebased(operand.get(), old, alloc.getBuffer(), views));
    }
  }
  return clone;
}

}  // namespace sinter
