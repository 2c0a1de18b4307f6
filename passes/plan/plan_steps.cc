#include "sinter/passes/plan/plan_steps.h"
#include "sinter/ir/program/collective.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

BufferOffset Resolve(Value buffer) {
  int64_t offset = 0;
  while (auto view = buffer.getDefiningOp<plan_ir::ViewOp>()) {
    offset += view.getOffset();
    buffer = view.getSource();
  }
  return {buffer, offset};
}

bool SameMemory(Value root_a, Value root_b) {
  if (root_a == root_b) return true;
  auto a = root_a.getDefiningOp<plan_ir::VariableOp>(), b = root_b.getDefiningOp<plan_ir::VariableOp>();
  return a && b && a.getVariable() == b.getVariable();
}

bool Overlap(Value a, Value b) {
  const BufferOffset one = Resolve(a), other = Resolve(b);
  return SameMemory(one.root, other.root) && one.offset < other.offset + BytesOf(b) &&
         other.offset < one.offset + BytesOf(a);
}

llvm::SmallVector<Operation*> StepsOf(plan_ir::FunctionOp function) {
  llvm::SmallVector<Operation*> steps;
  for (Operation& op : function.getBody().front()) {
    if (llvm::isa<plan_ir::CallOp, plan_ir::CopyOp>(op)) steps.push_back(&op);
  }
  return steps;
}

mlir::ValueRange ReadsOf(Operation* step) {
  if (auto call = llvm::dyn_cast<plan_ir::CallOp>(step)) return call.getIns();
  return step->getOperands().take_front(1);
}

mlir::ValueRange WritesOf(Operation* step) {
  if (auto call = llvm::dyn_cast<plan_ir::CallOp>(step)) return call.getOuts();
  return step->getOperands().drop_front(1);
}

bool IsHandedOut(Value root) {
  return llvm::any_of(root.getUsers(), [](Operation* user) {
    if (auto view = llvm::dyn_cast<plan_ir::ViewOp>(user)) return IsHandedOut(view.getBuffer());
    return llvm::isa<plan_ir::OutputOp>(user);
  });
}

std::optional<ir::Collective> CollectiveOf(Operation* step) {
  auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
  if (!call || call.getBody().empty() || call.getBody().front().empty()) return std::nullopt;
  return ir::Collective::Of(&call.getBody().front().front());
}

int64_t BytesOf(Value buffer) { return llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes(); }

void ArrangeBody(plan_ir::FunctionOp function, llvm::ArrayRef<Operation*> steps) {
  mlir::Block& block = function.getBody().front();
  for (Operation* step : steps) step->moveBefore(&block, block.end());
  llvm::SmallVector<Operation*> outputs;
  for (Operation& op : block) {
    if (llvm::isa<plan_ir::OutputOp>(op)) outputs.push_back(&op);
  }
  for (Operation* output : outputs) output->moveBefore(&block, block.end());
}

}  // namespace sinter
