#include "sinter/passes/fuse/duplicated_producers.h"

#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/call_paths.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

using ir::NumBytes;
using ir::NumElements;
using mlir::Operation;
using mlir::Value;

namespace {

bool IsOnRecomputingTarget(Operation* op) { return ir::TargetModel::Of(op).recomputes_cheap_values; }

// Fewer elements stay in a GPU's caches between two kernels.
constexpr int64_t kManyElements = 1 << 16;
// Reading and storing a value with this many times fewer elements, such as one a row, counts as free.
constexpr int64_t kSmallPart = 16;
// This many additions cost less than 4 bytes of memory traffic: an H200 does about 15 in the time of one
// byte.
constexpr int64_t kCheapValue = 8;
// Most ops visited after one value.
constexpr size_t kMostReaders = 64;

// The inputs and ops of one value's recomputation.
struct Tree {
  llvm::SetVector<Value> leaves;  // Large inputs.
  llvm::SetVector<Operation*> ops;
  int64_t cost = 0;  // Cost of all ops for one element.

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
      if (isReducedThenRead(op)) continue;
      if (!isCandidate(op)) continue;
      const bool is_large = NumElements(op->getResult(0)) >= kManyElements;
      if (is_large && isWideningCast(op)) {
        found_.insert(op);
        continue;
      }
      const bool pays_if_large = is_large && (isReducedTwoWays(op) || isKeptBehindLibrary(op));
      if (!pays_if_large && !isBetweenPasses(op)) continue;
      std::optional<Tree> tree = expand(op->getResult(0), op->getResult(0), 0);
      if (tree && tree->cost <= kCheapValue && traffic(*tree) <= NumBytes(op->getResult(0)))
        found_.insert(tree->ops.begin(), tree->ops.end());
    }
    return std::move(found_);
  }

 private:
  // True for a pointwise value that several ops read, each at its own element.
  static bool isCandidate(Operation* op) {
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumResults() != 1 || !IsOnRecomputingTarget(op))
      return false;
    Value result = op->getResult(0);
    if (op->getNumOperands() == 0) return false;
    llvm::SmallPtrSet<Operation*, 4> readers(result.user_begin(), result.user_end());
    return readers.size() > 1 && isReadInPlace(op);
  }

  // True if every reader reads `op` at its own element. Through an index map an element may be read often.
  static bool isReadInPlace(Operation* op) {
    return llvm::all_of(op->getUsers(), [](Operation* reader) {
      return llvm::isa<ir::PointwiseInterface, ir::ReductionInterface>(reader);
    });
  }

  // True for a mask with one reader, of 16-bit values that stay in memory past a library call anyway.
  bool isMaskOfKept(Operation* op) {
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumResults() != 1 || !IsOnRecomputingTarget(op))
      return false;
    Value mask = op->getResult(0);
    if (!ir::TypeOf(mask).getElementType().isInteger(1) || NumElements(mask) < kManyElements ||
        !mask.hasOneUse() || !llvm::isa<ir::PointwiseInterface, ir::ReductionInterface>(*mask.user_begin())) {
      return false;
    }
    return op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation* def = operand.getDefiningOp();
             if (def && IsLoop(def) && def->getNumOperands() == 0) return true;
             return def && NumBytes(operand) <= 2 * NumBytes(mask) && isInMemory(operand) &&
                    isKeptBehindLibrary(def);
           });
  }

  // Readers of a value through pointwise ops of its size, in kernels of its reductions and in others.
  struct Readers {
    llvm::SetVector<Operation*> ops;
    llvm::SmallVector<Operation*> reductions;
    bool leaves_loops = false;  // True if an op that is not a loop reads the value itself.
  };

  Readers follow(Operation* op) {
    Readers readers;
    llvm::SmallVector<Operation*> stack = {op};
    while (!stack.empty() && readers.ops.size() <= kMostReaders) {
      Operation* at = stack.pop_back_val();
      for (Operation* reader : at->getUsers()) {
        if (llvm::isa<ir::ReductionInterface>(reader)) {
          if (!llvm::is_contained(readers.reductions, reader)) readers.reductions.push_back(reader);
        } else if (llvm::isa<ir::PointwiseInterface>(reader)) {
          if (readers.ops.insert(reader)) stack.push_back(reader);
        } else {
          readers.leaves_loops |= at == op;
        }
      }
    }
    return readers;
  }

  // Collects the values in memory that `value` depends on, and the ops between.
  void collect(Value value, int64_t depth, Tree& into) {
    Operation* op = value.getDefiningOp();
    if (!op || isInMemory(value) || !llvm::isa<ir::PointwiseInterface>(op) || depth > kCheapValue) {
      if (NumElements(value) >= kManyElements && !(op && IsLoop(op) && !isInMemory(value)))
        into.leaves.insert(value);
      return;
    }
    into.ops.insert(op);
    for (Value operand : op->getOperands()) collect(operand, depth + 1, into);
  }

  // True if `op` feeds chunked reductions, is read with their results in another kernel, and is better
  // recomputed there. Then records `op`.
  bool isReducedThenRead(Operation* op) {
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumResults() != 1 || !IsOnRecomputingTarget(op) ||
        isWideningCast(op) || found_.contains(op)) {
      return false;
    }
    Value result = op->getResult(0);
    if (NumElements(result) < kManyElements || op->getNumOperands() == 0 || !isReadInPlace(op)) return false;
    Readers readers = follow(op);
    if (readers.leaves_loops || readers.ops.size() > kMostReaders || readers.reductions.empty()) return false;
    llvm::DenseSet<Operation*> behind = behindChunks(readers.reductions);
    // Other values that each side reads from memory.
    Tree with[2];
    bool is_read_later = false;
    for (Operation* reader : readers.ops) {
      const bool is_behind = behind.contains(reader);
      is_read_later |= is_behind;
      for (Value operand : reader->getOperands()) {
        Operation* def = operand.getDefiningOp();
        if (def != op && !(def && readers.ops.contains(def))) collect(operand, 0, with[is_behind ? 1 : 0]);
      }
    }
    if (!is_read_later) return false;
    for (Value leaf : with[0].leaves) {
      if (with[1].leaves.contains(leaf)) free_.insert(leaf);
    }
    free_ops_.insert(with[0].ops.begin(), with[0].ops.end());
    std::optional<Tree> tree = expand(result, result, 0);
    const bool pays =
        tree && tree->cost <= kCheapValue && traffic(*tree) <= NumBytes(result) && isReadWithin(*tree);
    if (pays) found_.insert(tree->ops.begin(), tree->ops.end());
    free_.clear();
    free_ops_.clear();
    return pays;
  }

  // Returns the ops that depend on chunked reductions: no kernel holds both.
  llvm::DenseSet<Operation*> behindChunks(llvm::ArrayRef<Operation*> reductions) {
    llvm::DenseSet<Operation*> behind;
    llvm::SmallVector<Operation*> stack;
    for (Operation* op : reductions) {
      auto shape = ir::TypeOf(op->getOperand(0)).getShape();
      if (ir::IsChunked(shape, llvm::cast<ir::ReductionInterface>(op).getReducedDims(),
                        ir::TargetModel::Of(op).kind))
        stack.push_back(op);
    }
    while (!stack.empty() && behind.size() <= kMostReaders) {
      for (Operation* reader : stack.pop_back_val()->getUsers()) {
        if (IsLoop(reader) && behind.insert(reader).second) stack.push_back(reader);
      }
    }
    return behind;
  }

  // True if no other kernel reads the stored values of the tree (stored for a library call). Another kernel
  // would recompute them too.
  bool isReadWithin(const Tree& tree) {
    return llvm::all_of(tree.ops, [&](Operation* op) {
      return !isInMemory(op->getResult(0)) || llvm::all_of(op->getUsers(), [&](Operation* reader) {
        return !IsLoop(reader) || tree.ops.contains(reader);
      });
    });
  }

  static bool isWideningCast(Operation* op) {
    return llvm::isa<ir::CastOp>(op) && NumBytes(op->getOperand(0)) < NumBytes(op->getResult(0));
  }

  // True if reductions along different dimensions read `op`: no kernel holds both.
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

  // True if `op` is computed from, or leads to, reductions of its shape that no kernel can hold together:
  // along different dimensions that share no pass. A kernel for each then needs the value. If it is small,
  // recomputing it saves launches.
  bool isBetweenPasses(Operation* op) {
    llvm::ArrayRef<int64_t> shape = ir::ShapeOf(op->getResult(0));
    std::optional<llvm::ArrayRef<int64_t>> dims;
    llvm::SmallVector<Operation*> reductions = reductionsBefore(op);
    llvm::append_range(reductions, follow(op).reductions);
    for (Operation* reduction : reductions) {
      llvm::ArrayRef<int64_t> own = llvm::cast<ir::ReductionInterface>(reduction).getReducedDims();
      if (!dims) dims = own;
      if (*dims != own && !ir::SumsColumns(shape, own, *dims) && !ir::SumsColumns(shape, *dims, own))
        return true;
    }
    return false;
  }

  // Returns the reductions of the shape of `op` from which it is computed, without those before them.
  static llvm::SmallVector<Operation*> reductionsBefore(Operation* op) {
    llvm::SmallVector<Operation*> reductions;
    llvm::SetVector<Operation*> reached;
    reached.insert(op);
    for (size_t i = 0; i < reached.size() && i < kMostReaders; ++i) {
      for (Value operand : reached[i]->getOperands()) {
        Operation* def = operand.getDefiningOp();
        if (!def || !IsLoop(def)) continue;
        if (!llvm::isa<ir::ReductionInterface>(def)) {
          reached.insert(def);
        } else if (ir::ShapeOf(def->getOperand(0)) == ir::ShapeOf(op->getResult(0))) {
          reductions.push_back(def);
        }
      }
    }
    return reductions;
  }

  // True if a value flows from `op` through an op that is not a loop to a reader of `op`: they cannot be one
  // kernel.
  bool isKeptBehindLibrary(Operation* op) {
    if (!kept_) findKept();
    return kept_->contains(op);
  }

  void findKept() {
    llvm::SmallVector<llvm::SmallVector<unsigned>> producers(ops_.size());
    llvm::BitVector is_call(ops_.size());
    for (auto [i, op] : llvm::enumerate(ops_)) {
      is_call[i] = !IsLoop(op);
      for (Value operand : op->getOperands()) {
        auto def = position_.find(operand.getDefiningOp());
        if (def != position_.end()) producers[i].push_back(def->second);
      }
    }
    const CallPaths paths(producers, is_call);
    kept_.emplace();
    for (auto [i, op] : llvm::enumerate(ops_)) {
      for (unsigned producer : producers[i]) {
        if (paths.isBetween(producer, i)) kept_->insert(ops_[producer]);
      }
    }
  }

  // True if `value` is stored no matter what is recomputed.
  bool isInMemory(Value value) {
    Operation* op = value.getDefiningOp();
    if (!op || !IsLoop(op)) return true;
    if (llvm::any_of(op->getUsers(), [](Operation* reader) { return !IsLoop(reader); })) return true;
    return !found_.contains(op) && isKeptBehindLibrary(op);
  }

  // Bytes that a reader of the tree's value reads, plus bytes that must be stored for it.
  int64_t traffic(const Tree& tree) {
    int64_t bytes = 0;
    for (Value leaf : tree.leaves) {
      if (!free_.contains(leaf)) bytes += NumBytes(leaf) * (isInMemory(leaf) ? 1 : 2);
    }
    return bytes;
  }

  // Returns the tree of `root` through `value`; nullopt if an input is not read at the same element.
  std::optional<Tree> expand(Value root, Value value, int64_t depth) {
    Operation* op = value.getDefiningOp();
    Tree leaf;
    if (op && IsLoop(op) && op->getNumOperands() == 0) return leaf;
    if (NumElements(value) * kSmallPart <= NumElements(root)) return leaf;
    if (auto broadcast = llvm::dyn_cast_or_null<ir::BroadcastOp>(op)) {
      return NumElements(broadcast->getOperand(0)) * kSmallPart <= NumElements(root) ? std::optional(leaf)
                                                                                     : std::nullopt;
    }
    leaf.leaves.insert(value);
    // A deeper tree costs too much.
    const bool is_read = isInMemory(value) && free_.empty() && !(op && found_.contains(op));
    if (depth > kCheapValue || (value != root && is_read)) return leaf;
    if (!op || !llvm::isa<ir::PointwiseInterface>(op) || !IsOnRecomputingTarget(op)) return leaf;
    if (!isReadInPlace(op) && !(value != root && isInMemory(value))) return leaf;
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
      whole->cost = 0;
      for (Operation* part : whole->ops) {
        if (!free_ops_.contains(part)) whole->cost += costs_.of(part);
      }
      if (must || (whole->cost <= kCheapValue && traffic(*whole) < traffic(leaf))) return whole;
    }
    return must ? std::nullopt : std::optional(leaf);
  }

  ElementCost& costs_;
  std::vector<Operation*> ops_;
  llvm::DenseMap<Operation*, unsigned> position_;
  std::optional<llvm::DenseSet<Operation*>> kept_;  // Values for which isKeptBehindLibrary holds.
  llvm::DenseSet<Operation*> found_;
  // For the current value: inputs and ops that its readers need anyway.
  llvm::DenseSet<Value> free_;
  llvm::DenseSet<Operation*> free_ops_;
};

}  // namespace

llvm::DenseSet<Operation*> FindRecomputed(mlir::Block& block, ElementCost& costs) {
  return Finder(block, costs).find();
}

}  // namespace sinter
