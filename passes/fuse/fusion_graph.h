// The ops of one block as a graph of groups that only ever grow: what `fuse` decides on.
//
//   FusionGraph graph(block, costs);
//   if (!graph.pathAround(a, b)) graph.merge(a, b);
//   graph.opsOf({a}); graph.outputsOf({a});   // what the group's kernel holds and stores
//
// Constants, iotas, cheap index maps (broadcast, transpose, slice) and what recomputed_values.h finds are *inlined*:
// they belong to no group, every reader gets a copy. Such an op is a node of its own only when something that
// cannot hold a copy reads it, like a library call. A part of an input is always one. The members of a collective, which
// wait for each other, are one group.
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

// Whether `op` is a reshape that joins what a broadcast repeats with its neighbours, on a GPU, for fusible ops alone. Such a
// broadcast is in no memory that the reshape could be a view of: both are an index map.
bool IsRepeat(mlir::Operation* op);

// Whether `op` is made of loops, so that kernels may hold it. Other reshapes that move dimensions, and parts of an input,
// are views of memory.
bool IsLoop(mlir::Operation* op);

class FusionGraph {
 public:
  struct Node {
    mlir::Operation* op;
    bool fusible;  // May be in a kernel with others.
    // A part of an input (input_parts.h) or a join of calls (joined_calls.h): a group of its own, and never run.
    bool is_part;
    llvm::SmallVector<mlir::Value> needs;  // What it reads, through inlined ops when it is fusible.
    llvm::SmallVector<unsigned> producers,
        readers;  // Nodes that compute what it reads, and that read it; ascending.
    unsigned group;
  };

  FusionGraph(mlir::Block& block, ElementCost& costs);

  llvm::ArrayRef<Node> nodes() const { return nodes_; }
  // The node that computes `value`, or -1: a function argument.
  int nodeOf(mlir::Value value) const;
  bool isInlined(mlir::Operation* op) const { return inlined_.contains(op); }
  // Position in the block.
  unsigned position(mlir::Operation* op) const { return position_.lookup(op); }

  // A group is known by one of its nodes; its members are ascending.
  unsigned groupOf(unsigned node) const { return nodes_[node].group; }
  llvm::ArrayRef<unsigned> members(unsigned group) const { return members_[group]; }
  llvm::SmallVector<unsigned> groups() const;
  // Where the group's kernel runs; null: on cpu:0, as everything does.
  ir::DeviceAttr deviceOf(unsigned group) const { return ir::DeviceOf(nodes_[group].op); }
  // The nodes that read `value`, ascending.
  llvm::ArrayRef<unsigned> readers(mlir::Value value) const;
  // Those of them that may be in a kernel.
  llvm::SmallVector<unsigned> fusibleReaders(mlir::Value value) const;

  // Whether a value flows from group `a` to group `b`.
  bool leadsTo(unsigned a, unsigned b) const { return hasPath(a, b, /*around=*/false); }
  // Whether one does through a third group, so that they cannot be one kernel.
  bool pathAround(unsigned a, unsigned b) const { return hasPath(a, b, /*around=*/true); }
  // The groups through which values flow from `a` to `b`, when no more than `most` have to be looked at; else none.
  llvm::SmallVector<unsigned> between(unsigned a, unsigned b, size_t most) const;
  // Makes `a` and `b` one group and returns its number.
  unsigned merge(unsigned a, unsigned b);
  // The same of any number of groups, between no two of which a value flows. Questions about paths take long afterwards.
  unsigned mergeAll(llvm::ArrayRef<unsigned> groups);

  // What one kernel of these groups would hold (members and copies of inlined ops, in program order) and
  // store.
  llvm::SmallVector<mlir::Operation*> opsOf(llvm::ArrayRef<unsigned> groups) const;
  llvm::SmallVector<mlir::Value> outputsOf(llvm::ArrayRef<unsigned> groups) const;

 private:
  // What a search for a path from one group to another has seen: all that follows the first and may lead to the second, when it
  // has found none and ran out of such groups; or all that leads to the second and may follow the first.
  struct Search {
    bool found = false;
    bool followed = false;  // Which of the two `seen` is.
    llvm::SmallVector<unsigned> seen = {};
  };

  bool isBefore(unsigned a, unsigned b) const { return !order_ || order_->isBefore(a, b); }
  bool hasPath(unsigned a, unsigned b, bool around) const {
    return isBefore(a, b) && search(a, b, around).found;
  }
  Search search(unsigned a, unsigned b, bool around) const;
  void mergeInOrder(unsigned a, unsigned b);
  void connectNodes();
  void mergeCollectives();
  void collectNeeds(mlir::Operation* op, llvm::SetVector<mlir::Value>& needs) const;

  llvm::SmallVector<Node> nodes_;
  llvm::SmallVector<llvm::SmallVector<unsigned>> members_;
  llvm::DenseMap<mlir::Operation*, unsigned> node_of_, position_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> readers_;
  llvm::DenseSet<mlir::Operation*> inlined_;
  // The groups, each behind those that lead to it, so that a search for a path looks only at what lies between its ends. None
  // when there is no such order, and when it is not kept any more.
  std::optional<TopologicalList> order_;
  // By group: twice the number of the last search that saw it, and 1 more when it was seen from the end.
  mutable std::vector<unsigned> seen_;
  mutable unsigned searches_ = 0;
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_FUSION_GRAPH_H_
