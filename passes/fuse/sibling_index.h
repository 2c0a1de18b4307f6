// SiblingIndex: finds readers of one value that may share a loop, without comparing all pairs.
//
//   SiblingIndex index(graph);
//   index.add(group);                                          // Number 0.
//   for (unsigned number : index.find(other)) ...  // Added groups that may share a loop with `other`.
//
// Two groups may share a loop if they read one outside value of the loop's shape, hold copies of one op that
// is not a uniform value, or if one reads a result of the other (ir/fusion/fusion_domain.h).
#ifndef SINTER_PASSES_FUSE_SIBLING_INDEX_H_
#define SINTER_PASSES_FUSE_SIBLING_INDEX_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

class SiblingIndex {
 public:
  explicit SiblingIndex(const FusionGraph& graph) : graph_(graph) {}

  // The first added group is number 0.
  void add(unsigned group);
  // Records that the group of this number has become a part of `group`.
  void merge(unsigned number, unsigned group);
  // Ascending; includes the number of `group` itself if it was added.
  llvm::SmallVector<unsigned> find(unsigned group) const;

 private:
  void note(unsigned number, unsigned group);

  const FusionGraph& graph_;
  unsigned count_ = 0;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> by_value_;
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>> by_node_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_SIBLING_INDEX_H_
