// Groups that read one value, by what else they have in common, so that groups which can share no loop are never compared.
//
//   SiblingIndex index(graph);
//   index.add(group);                                          // Number 0.
//   for (unsigned number : index.find(other)) ...              // Those added that may share a loop with `other`.
//
// Two groups share a loop where they read a value of the loop's shape from elsewhere, hold copies of one op that is more than a
// number, or where one reads what the other computes (ir/fusion/fusion_domain.h).
#ifndef SINTER_PASSES_FUSE_SIBLING_INDEX_H_
#define SINTER_PASSES_FUSE_SIBLING_INDEX_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

class SiblingIndex {
 public:
  explicit SiblingIndex(const FusionGraph& graph) : graph_(graph) {}

  // The first is number 0.
  void add(unsigned group);
  // Says that the group of this number has become a part of `group`.
  void merge(unsigned number, unsigned group);
  // Ascending; with the number of `group` itself when it was added.
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
