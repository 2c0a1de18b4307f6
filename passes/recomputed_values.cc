#include "sinter/passes/recomputed_values.h"

#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/fusion_domain.h"
#include "sinter/ir/ops.h"
#include "sinter/passes/fusion_graph.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// Fewer elements stay in a GPU's caches between two kernels.
constexpr int64_t kManyElements = 1 << 16;
// Values of so many times fewer elements, such as one a row, are read and stored for nothing.
constexpr int64_t kSmallPart = 16;
// Additions that cost less than 4 bytes of memory: some 15 of them in the time of one byte, at the rates of an H200.
constexpr int64_t kCheapCost = 8;

int64_t Elements(Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements(); }
int64_t Bytes(Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

bool IsOnGpu(Operation* op) { return ir::KindOf(ir::DeviceOf(op)) == ir::DeviceKind::gpu; }

// What one value is computed from.
struct Tree {
  llvm::SetVector<Value> leaves;  // The large ones.
  llvm::SetVector<Operation*> ops;
  int64_t cost = 0;  // Of all ops, an element.

  void add(const Tree& other) {
    leaves.insert(other.leaves.begin(), other.leaves.end());
    ops.insert(other.ops.begin(), other.ops.end());
  }
};

class Finder {
 public:
  Finder(mlir::Block& block, ElementCost& costs) : costs_(costs) {
    for (Operation& op : block) {
      position_[&op] = ops_.size();
      ops_.push_back(&op);
    }
  }

  llvm::DenseSet<Operation*> find() {
    for (Operation* op : ops_) {
      if (isMaskOfKept(op)) found_.insert(op);
      if (!isCandidate(op)) continue;
      if (isWideningCast(op)) {
        found_.insert(op);
        continue;
      }
      if (!isReducedTwoWays(op) && !isKeptBehindLibrary(op)) continue;
      std::optional<Tree> tree = expand(op->getResult(0), op->getResult(0), 0);
      if (tree && tree->cost <= kCheapCost && traffic(*tree) <= Bytes(op->getResult(0)))
        found_.insert(tree->ops.begin(), tree->ops.end());
    }
    return std::move(found_);
  }

 private:
  // A large pointwise value that several ops read, each at its own element.
  static bool isCandidate(Operation* op) {
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumResults() != 1 || !IsOnGpu(op)) return false;
    Value result = op->getResult(0);
    if (Elements(result) < kManyElements || op->getNumOperands() == 0) return false;
    llvm::SmallPtrSet<Operation*, 4> readers(result.user_begin(), result.user_end());
    return readers.size() > 1 && isReadInPlace(op);
  }

  // Whether every op that reads it does so at its own element: through an index map an element may be read often.
  static bool isReadInPlace(Operation* op) {
    return llvm::all_of(op->getUsers(), [](Operation* reader) {
      return llvm::isa<ir::PointwiseInterface, ir::ReductionInterface>(reader);
    });
  }

  // Whether it is a mask that one op reads, of 16-bit values that are kept in memory past a library call anyway.
  bool isMaskOfKept(Operation* op) {
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumResults() != 1 || !IsOnGpu(op)) return false;
    Value mask = op->getResult(0);
    if (!llvm::cast<mlir::RankedTensorType>(mask.getType()).getElementType().isInteger(1) ||
        Elements(mask) < kManyElements || !mask.hasOneUse() ||
        !llvm::isa<ir::PointwiseInterface, ir::ReductionInterface>(*mask.user_begin())) {
      return false;
    }
    return op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation* def = operand.getDefiningOp();
             if (def && IsLoop(def) && def->getNumOperands() == 0) return true;
             return def && Bytes(operand) <= 2 * Bytes(mask) && isInMemory(operand) &&
                    isKeptBehindLibrary(def);
           });
  }

  static bool isWideningCast(Operation* op) {
    return llvm::isa<ir::CastOp>(op) && Bytes(op->getOperand(0)) < Bytes(op->getResult(0));
  }

  // Whether reductions along different dimensions read it: no kernel holds both.
  static bool isReducedTwoWays(Operation* op) {
    std::optional<llvm::ArrayRef<int64_t>> dims;
    for (Operation* reader : op->getUsers()) {
      auto reduction = llvm::dyn_cast<ir::ReductionInterface>(reader);
      if (!reduction) continue;
      if (dims && *dims != reduction.getReducedDims()) return true;
      dims = reduction.getReducedDims();
    }
    return false;
  }

  // Whether a value flows from `op` through something that is no loop to a reader of `op`: they cannot be one kernel.
  bool isKeptBehindLibrary(Operation* op) {
    auto [known, is_new] = kept_.try_emplace(op, false);
    if (!is_new) return known->second;
    enum State : char { kApart, kReached, kBehind };
    unsigned first = position_.lookup(op), last = first;
    for (Operation* reader : op->getUsers()) last = std::max(last, position_.lookup(reader));
    std::vector<char> states(last - first + 1, kApart);
    states[0] = kReached;
    for (unsigned i = first + 1; i <= last; ++i) {
      char state = kApart;
      bool reads = false;
      for (Value operand : ops_[i]->getOperands()) {
        auto def = position_.find(operand.getDefiningOp());
        if (def == position_.end() || def->second < first) continue;
        reads |= def->second == first;
        state = std::max(state, states[def->second - first]);
      }
      if (reads && state == kBehind) return kept_[op] = true;
      states[i - first] = state == kReached && !IsLoop(ops_[i]) ? static_cast<char>(kBehind) : state;
    }
    return false;
  }

  // Whether `value` is stored whatever is recomputed.
  bool isInMemory(Value value) {
    Operation* op = value.getDefiningOp();
    if (!op || !IsLoop(op)) return true;
    if (found_.contains(op)) return false;
    bool read_as_memory = llvm::any_of(op->getUsers(), [](Operation* reader) { return !IsLoop(reader); });
    return read_as_memory || isKeptBehindLibrary(op);
  }

  // Bytes that a reader of the tree's value reads, and those that are stored for it.
  int64_t traffic(const Tree& tree) {
    int64_t bytes = 0;
    for (Value leaf : tree.leaves) bytes += Bytes(leaf) * (isInMemory(leaf) ? 1 : 2);
    return bytes;
  }

  // From what `root` is computed through `value`; none when there is something that is no element of the same place.
  std::optional<Tree> expand(Value root, Value value, int64_t depth) {
    Operation* op = value.getDefiningOp();
    Tree leaf;
    if (op && IsLoop(op) && op->getNumOperands() == 0) return leaf;
    if (Elements(value) * kSmallPart <= Elements(root)) return leaf;
    if (auto broadcast = llvm::dyn_cast_or_null<ir::BroadcastOp>(op)) {
      return Elements(broadcast->getOperand(0)) * kSmallPart <= Elements(root) ? std::optional(leaf)
                                                                               : std::nullopt;
    }
    leaf.leaves.insert(value);
    // A longer way costs too much.
    if (depth > kCheapCost || (value != root && isInMemory(value))) return leaf;
    if (!op || !llvm::isa<ir::PointwiseInterface>(op) || !IsOnGpu(op) || !isReadInPlace(op)) return leaf;
    std::optional<Tree> whole = Tree();
    for (Value operand : op->getOperands()) {
      std::optional<Tree> part = expand(root, operand, depth + 1);
      if (!part) {
        whole.reset();
        break;
      }
      whole->add(*part);
    }
    const bool must = value == root || found_.contains(op);
    if (whole) {
      whole->ops.insert(op);
      for (Operation* part : whole->ops) whole->cost += costs_.of(part);
      if (must || (whole->cost <= kCheapCost && traffic(*whole) < traffic(leaf))) return whole;
    }
    return must ? std::nullopt : std::optional(leaf);
  }

  ElementCost& costs_;
  std::vector<Operation*> ops_;
  llvm::DenseMap<Operation*, unsigned> position_;
  llvm::DenseMap<Operation*, bool> kept_;
  llvm::DenseSet<Operation*> found_;
};

}  // namespace

llvm::DenseSet<Operation*> FindRecomputed(mlir::Block& block, ElementCost& costs) {
  return Finder(block, costs).find();
}

}  // namespace sinter
