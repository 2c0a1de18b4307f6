#include "sinter/passes/plan/value_order.h"

#include "llvm/ADT/DenseMap.h"

namespace sinter {
namespace {

using mlir::Operation;
using mlir::Value;

struct Access {
  unsigned step;
  int64_t begin, end;
  bool writes;

  bool isOrderedWith(const Access& other) const {
    return (writes || other.writes) && begin < other.end && other.begin < end;
  }
};

// All accesses of each buffer so far.
class Accesses {
 public:
  // Adds the access, and sets in `before` the steps that must precede it.
  void add(Value buffer, unsigned step, bool writes, llvm::BitVector& before) {
    BufferOffset place = Resolve(buffer);
    Access access{step, place.offset, place.offset + BytesOf(buffer), writes};
    llvm::SmallVector<Access>& others = of_[keyOf(place.root)];
    for (const Access& other : others) {
      if (other.step != step && access.isOrderedWith(other)) before.set(other.step);
    }
    others.push_back(access);
  }

 private:
  // All values of a variable are one buffer.
  Value keyOf(Value root) {
    auto variable = root.getDefiningOp<plan_ir::VariableOp>();
    return variable ? variables_.try_emplace(variable.getVariable(), root).first->second : root;
  }

  llvm::DenseMap<Value, llvm::SmallVector<Access>> of_;
  llvm::DenseMap<llvm::StringRef, Value> variables_;
};

}  // namespace

ValueOrder::ValueOrder(plan_ir::FunctionOp function) {
  llvm::SmallVector<Operation*> steps = StepsOf(function);
  Accesses accesses;
  for (auto [s, step] : llvm::enumerate(steps)) {
    llvm::BitVector before(steps.size());
    for (Value in : ReadsOf(step)) accesses.add(in, s, /*writes=*/false, before);
    for (Value out : WritesOf(step)) accesses.add(out, s, /*writes=*/true, before);
    llvm::BitVector direct = before;
    for (unsigned earlier : direct.set_bits()) before |= before_[earlier];
    before_.push_back(std::move(before));
  }
}

}  // namespace sinter
