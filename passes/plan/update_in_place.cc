#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_UPDATEINPLACE
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// A copy of a new value to its variable, and the step that could write the variable directly: a call, or a
// copy from another device.
struct Update {
  plan_ir::CopyOp copy;
  Value new_value;  // The alloc.
  Operation* producer;
  unsigned result;
};

// The readers and writers of each memory, kept up to date while updates move from copies to their producers.
class MemoryUses {
 public:
  explicit MemoryUses(plan_ir::FunctionOp function) {
    for (auto [s, step] : llvm::enumerate(StepsOf(function))) {
      position_[step] = s;
      for (auto [i, in] : llvm::enumerate(ReadsOf(step))) {
        const BufferOffset place = Resolve(in);
        usesOf(place.root).readers.push_back({s, step, static_cast<unsigned>(i), place.offset});
      }
      for (auto [i, out] : llvm::enumerate(WritesOf(step)))
        usesOf(Resolve(out).root).writers.push_back({s, step, static_cast<unsigned>(i)});
    }
  }

  // Accesses of one memory, by the position of the step. Moved updates are in no particular order.
  struct Read {
    size_t position;
    Operation* step;
    unsigned operand;
    int64_t offset;
  };
  struct Write {
    size_t position;
    Operation* step;
    unsigned result;
  };
  struct Uses {
    llvm::SmallVector<Read> readers;
    llvm::SmallVector<Write> writers;
  };

  const Uses& of(Value root) { return usesOf(root); }
  size_t position(Operation* step) const { return position_.lookup(step); }

  // Records that `update` is done: the variable replaces the new value's buffer.
  void move(Update update) {
    Uses from = std::move(usesOf(update.new_value));
    Uses& to = usesOf(Resolve(update.copy.getTarget()).root);
    const size_t copy = position(update.copy);
    llvm::erase_if(to.writers, [&](const Write& write) { return write.position == copy; });
    llvm::erase_if(from.readers, [&](const Read& read) { return read.position == copy; });
    llvm::append_range(to.readers, from.readers);
    llvm::append_range(to.writers, from.writers);
  }

  // True if the step may write its result to the memory of its operand. A step may have thousands of both.
  bool mayShare(Operation* step, unsigned operand, unsigned result) {
    auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
    auto pairs = call ? call.getInPlace() : std::nullopt;
    if (!pairs) return false;
    auto [known, is_new] = may_share_.try_emplace(step);
    for (size_t i = 0; is_new && i + 1 < pairs->size(); i += 2)
      known->second.insert({(*pairs)[i], (*pairs)[i + 1]});
    return known->second.contains({operand, result});
  }

 private:
  // All values of a variable are one memory.
  Uses& usesOf(Value root) {
    auto variable = root.getDefiningOp<plan_ir::VariableOp>();
    return variable ? of_variable_[variable.getVariableAttr()] : of_buffer_[root];
  }

  llvm::DenseMap<Operation*, size_t> position_;
  llvm::DenseMap<mlir::Attribute, Uses> of_variable_;
  llvm::DenseMap<Value, Uses> of_buffer_;
  llvm::DenseMap<Operation*, llvm::DenseSet<std::pair<int64_t, int64_t>>> may_share_;
};

// Returns why the copy must stay; empty if `update` has been filled in.
std::string Match(plan_ir::CopyOp copy, MemoryUses& uses, Update& update) {
  BufferOffset source = Resolve(copy.getSource());
  if (!source.root.getDefiningOp<plan_ir::AllocOp>()) return "the new value is not computed by this function";
  if (source.offset != 0 || BytesOf(copy.getSource()) != BytesOf(source.root)) {
    return "the new value is a part of another";
  }
  if (IsHandedOut(source.root)) return "the new value is also an output";
  const auto& writers = uses.of(source.root).writers;
  if (writers.size() != 1) return "the new value is not the result of one step";
  update = {copy, source.root, writers[0].step, writers[0].result};
  return "";
}

// Returns why the producer must not overwrite the variable; empty if it may.
std::string Conflict(Update update, MemoryUses& uses) {
  Value variable = Resolve(update.copy.getTarget()).root;
  const MemoryUses::Uses& others = uses.of(variable);
  for (const MemoryUses::Read& read : others.readers) {
    if (read.step != update.producer) continue;
    if (read.offset != 0 || !uses.mayShare(update.producer, read.operand, update.result)) {
      return "its step still reads the old value while it writes the new one";
    }
  }
  const size_t producer = uses.position(update.producer), copy = uses.position(update.copy);
  // Two in-place inputs with the same memory count as one read.
  if (llvm::any_of(others.writers, [&](const auto& write) { return write.step == update.producer; }))
    return "its step writes the variable already";
  auto is_between = [&](size_t step) { return producer < step && step < copy; };
  if (llvm::any_of(others.readers, [&](const auto& read) { return is_between(read.position); }))
    return "the old value is read after the new one is computed";
  if (llvm::any_of(others.writers, [&](const auto& write) { return is_between(write.position); }))
    return "the variable is written in between";
  return "";
}

void Apply(Update update) {
  Value variable = update.copy.getTarget();
  Operation* alloc = update.new_value.getDefiningOp();
  mlir::OpBuilder builder(alloc);
  // The target's value is defined at the alloc's position, so that the producer can name it.
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
    if (getOperation().isLaidOutFragment()) return;
    llvm::SmallVector<plan_ir::CopyOp> copies;
    for (Operation* step : StepsOf(getOperation())) {
      auto copy = llvm::dyn_cast<plan_ir::CopyOp>(step);
      if (copy && copy.getTarget().getDefiningOp<plan_ir::VariableOp>()) copies.push_back(copy);
    }
    MemoryUses uses(getOperation());
    for (plan_ir::CopyOp copy : copies) {
      Update update;
      std::string why = enable ? Match(copy, uses, update) : "updates in place are off";
      if (why.empty()) why = Conflict(update, uses);
      if (why.empty()) {
        uses.move(update);
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
