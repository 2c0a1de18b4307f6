#include "sinter/passes/passes.h"
#include "sinter/passes/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_UPDATEINPLACE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// A copy of a new value to its variable, and the step that could have written it there: a call, or a copy from another place.
struct Update {
  plan_ir::CopyOp copy;
  Value new_value;  // The alloc.
  Operation* producer;
  unsigned result;
};

bool HasInPlacePair(Operation* step, unsigned in, unsigned out) {
  auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
  auto pairs = call ? call.getInPlace() : std::nullopt;
  if (!pairs) return false;
  for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
    if ((*pairs)[i] == in && (*pairs)[i + 1] == out) return true;
  }
  return false;
}

bool Reads(Operation* step, Value root) {
  return llvm::any_of(ReadsOf(step), [&](Value in) { return SameMemory(Resolve(in).root, root); });
}
bool Writes(Operation* step, Value root) {
  return llvm::any_of(WritesOf(step), [&](Value out) { return SameMemory(Resolve(out).root, root); });
}

// Why the copy must stay; empty when `update` is filled in.
std::string Match(plan_ir::CopyOp copy, Update& update) {
  BufferPlace source = Resolve(copy.getSource());
  if (!source.root.getDefiningOp<plan_ir::AllocOp>()) return "the new value is not computed by this function";
  if (source.offset != 0 || BytesOf(copy.getSource()) != BytesOf(source.root)) {
    return "the new value is a part of another";
  }
  if (IsHandedOut(source.root)) return "the new value is also an output";
  update = {copy, source.root, nullptr, 0};
  for (Operation* step : StepsOf(copy->getParentOfType<plan_ir::FunctionOp>())) {
    for (auto [i, out] : llvm::enumerate(WritesOf(step))) {
      if (Resolve(out).root != source.root) continue;
      if (update.producer) return "the new value is not the result of one step";
      update.producer = step;
      update.result = i;
    }
  }
  return update.producer ? "" : "the new value is not the result of one step";
}

// Why the producer must not overwrite the variable; empty when it may.
std::string Conflict(Update update) {
  Value variable = Resolve(update.copy.getTarget()).root;
  for (auto [i, in] : llvm::enumerate(ReadsOf(update.producer))) {
    BufferPlace place = Resolve(in);
    if (!SameMemory(place.root, variable)) continue;
    if (place.offset != 0 || !HasInPlacePair(update.producer, i, update.result)) {
      return "its step still reads the old value while it writes the new one";
    }
  }
  // Two in place inputs that are the same memory are one and the same read.
  for (auto [i, out] : llvm::enumerate(WritesOf(update.producer))) {
    if (i != update.result && SameMemory(Resolve(out).root, variable))
      return "its step writes the variable already";
  }
  bool produced = false;
  for (Operation* step : StepsOf(update.copy->getParentOfType<plan_ir::FunctionOp>())) {
    if (step == update.copy) break;
    if (produced && Reads(step, variable)) return "the old value is read after the new one is computed";
    if (produced && Writes(step, variable)) return "the variable is written in between";
    produced |= step == update.producer;
  }
  return "";
}

void Apply(Update update) {
  Value variable = update.copy.getTarget();
  Operation* alloc = update.new_value.getDefiningOp();
  mlir::OpBuilder builder(alloc);
  // The target's value is defined where the alloc was, so that the producer can name it.
  auto variable_op = Resolve(variable).root.getDefiningOp<plan_ir::VariableOp>();
  Value place =
      builder.create<plan_ir::VariableOp>(alloc->getLoc(), variable_op.getBuffer().getType(),
                                          variable_op.getVariableAttr(), variable_op.getDeviceAttr());
  if (place.getType() != update.new_value.getType()) {
    place = builder.create<plan_ir::ViewOp>(alloc->getLoc(), update.new_value.getType(), place, int64_t{0});
  }
  Operation* copy = update.copy;
  copy->erase();
  update.new_value.replaceAllUsesWith(place);
  alloc->erase();
  if (variable.use_empty()) variable.getDefiningOp()->erase();
}

class UpdateInPlacePass : public impl::UpdateInPlaceBase<UpdateInPlacePass> {
 public:
  using UpdateInPlaceBase::UpdateInPlaceBase;
  void runOnOperation() override {
    llvm::SmallVector<plan_ir::CopyOp> copies;
    for (Operation* step : StepsOf(getOperation())) {
      auto copy = llvm::dyn_cast<plan_ir::CopyOp>(step);
      if (copy && copy.getTarget().getDefiningOp<plan_ir::VariableOp>()) copies.push_back(copy);
    }
    for (plan_ir::CopyOp copy : copies) {
      Update update;
      std::string why = enable ? Match(copy, update) : "updates in place are off";
      if (why.empty()) why = Conflict(update);
      if (why.empty()) {
        Apply(update);
      } else if (report) {
        mlir::emitRemark(copy.getLoc())
            << "kept the copy to @" << copy.getTarget().getDefiningOp<plan_ir::VariableOp>().getVariable()
            << ": " << why;
      }
    }
  }
};

}  // namespace
}  // namespace sinter
