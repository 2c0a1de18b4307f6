// FusionGraph: the ops of one block as a graph of groups that only grow, for the pass `fuse`.
//
//   FusionGraph graph(block, costs);
//   if (!graph.pathAround(a, b)) graph.merge(a, b);
//   graph.opsOf({a}); graph.outputsOf({a});   // Ops and outputs of the group's kernel.
//
// Constants, iotas, cheap index maps (broadcast, transpose, slice) and the values of duplicated_producers.h
// are *inlined*: they belong to no group, and every reader gets a copy. An inlined op is also a node if an op
// that cannot hold a copy reads it, such as a library call. A part of an input is always a node. The members
// of a collective wait for each other, so they are one group. In a variant for some ranks of a mesh,
// exchanges come in the order of their channels, so that all variants meet them in the same order: a path
// leads from each exchange to the next.
#ifndef SINTER_PASSES_FUSE_FUSION_GRAPH_H_
#define SINTER_PASSES_FUSE_FUSION_GRAPH_H_

#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"
#include "sinter/passes/element_cost.h"
#include "sinter/passes/topological_list.h"

namespace sinter {

// True if `op` is a GPU reshape that merges a broadcast's repeated dimension with its neighbours, and only
// fusible ops read it. Such a broadcast is not in memory, so the reshape cannot be a view: both are one index
// map.
bool IsRepeat(mlir::Operation* op);

// True if `op` is made of loops, so that kernels may hold it. Other reshapes that move dimensions, and parts
// of an input, are views of memory.
bool IsLoop(mlir::Operation* op);

class FusionGraph {
 public:
  struct Node {
    mlir::Operation* op;
    bool fusible;  // May share a kernel with others.
    // A part of an input (input_parts.h) or a join of calls (joined_calls.h): a group of its own that no
    // kernel runs.
    bool is_part;
    llvm::SmallVector<mlir::Value> needs;  // The values that it reads; for a fusible op, through inlined ops.
    llvm::SmallVector<unsigned> producers,
        readers;  // Nodes that compute its inputs, and nodes that read it; ascending.
    unsigned group;
  };

  FusionGraph(mlir::Block& block, ElementCost& costs);

  llvm::ArrayRef<Node> nodes() const { return nodes_; }
  // Returns the node that computes `value`; -1 for a function argument.
  int nodeOf(mlir::Value value) const;
  bool isInlined(mlir::Operation* op) const { return inlined_.contains(op); }
  // Position in the block.
  unsigned position(mlir::Operation* op) const { return position_.lookup(op); }

  // One of its nodes names a group; its members are ascending.
  unsigned groupOf(unsigned node) const { return nodes_[node].group; }
  llvm::ArrayRef<unsigned> members(unsigned group) const { return members_[group]; }
  llvm::SmallVector<unsigned> groups() const;
  // The device of the group's kernel. Null if the whole program is on cpu:0.
  ir::DeviceAttr deviceOf(unsigned group) const { return ir::DeviceOf(nodes_[group].op); }
  // The nodes that read `value`, ascending.
  llvm::ArrayRef<unsigned> readers(mlir::Value value) const;
  // The readers of `value` that may be in a kernel.
  llvm::SmallVector<unsigned> fusibleReaders(mlir::Value value) const;

  // True if a value flows from group `a` to group `b`.
  bool leadsTo(unsigned a, unsigned b) const { return hasPath(a, b, /*around=*/false); }
  // True if a value flows from `a` to `b` through a third group, so that they cannot be one kernel.
  bool pathAround(unsigned a, unsigned b) const { return hasPath(a, b, /*around=*/true); }
  // Returns the groups through which values flow from `a` to `b`; empty if the search would visit more than
  // `most` groups.
  llvm::SmallVector<unsigned> between(unsigned a, unsigned b, size_t most) const;
  // Makes `a` and `b` one group and returns its number.
  unsigned merge(unsigned a, unsigned b);
  // Merges any number of groups without paths between them. Path queries are slow afterwards.
  unsigned mergeAll(llvm::ArrayRef<unsigned> groups);

  // The ops of one kernel of these groups (members and copies of inlined ops, in program order), and its
  // outputs.
  llvm::SmallVector<mlir::Operation*> opsOf(llvm::ArrayRef<unsigned> groups) const;
  llvm::SmallVector<mlir::Value> outputsOf(llvm::ArrayRef<unsigned> groups) const;

 private:
  // The groups that a search for a path between two groups visited. If the search found none, `seen` is
  // complete: all groups after the first that may lead to the second, or all groups before the second that
  // may follow the first.
  struct Search {
    bool found = false;
    bool followed = false;  // True if `seen` follows the first group.
    llvm::SmallVector<unsigned> seen = {};
  };

  using PositionList = llvm::SmallVector<unsigned, 8>;

  PositionList positionsWithCopies(const Node& node) const;
  PositionList positionsOf(llvm::ArrayRef<unsigned> groups) const;
  llvm::ArrayRef<unsigned> readersOfResult(const Node& node, mlir::Value result) const;
  bool isBefore(unsigned a, unsigned b) const { return !order_ || order_->isBefore(a, b); }
  bool hasPath(unsigned a, unsigned b, bool around) const {
    return isBefore(a, b) && search(a, b, around).found;
  }
  Search search(unsigned a, unsigned b, bool around) const;
  void mergeInOrder(unsigned a, unsigned b);
  void connectNodes();
  void keepExchangesInOrder();
  void mergeCollectives();
  void collectNeeds(mlir::Operation* op, llvm::SetVector<mlir::Value>& needs) const;

  llvm::SmallVector<Node> nodes_;
  llvm::SmallVector<llvm::SmallVector<unsigned>> members_;
  llvm::SmallVector<mlir::Operation*> ops_;     // By position in the block.
  llvm::SmallVector<PositionList> kernel_ops_;  // By group: the ops of its kernel.
  bool has_exchange_order_ = false;  // True if paths lead from exchange to exchange that no value takes.
  llvm::DenseMap<mlir::Operation*, unsigned> node_of_, position_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> readers_;
  llvm::DenseSet<mlir::Operation*> inlined_;
  // The groups in topological order, so that a search visits only groups between its two ends. nullopt if
  // there is no such order, or if it is no longer maintained.
  std::optional<TopologicalList> order_;
  // By group: twice the number of the last search that visited it, plus 1 if that search came from the end.
  mutable std::vector<unsigned> seen_;
  mutable unsigned searches_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_FUSION_GRAPH_H_
