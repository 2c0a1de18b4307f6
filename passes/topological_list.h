// TopologicalList: a list of numbers with fast comparison and moves, for a topological order that changes.
//
//   TopologicalList list(count);               // 0, 1, ..., count - 1; TopologicalList() is empty.
//   list.moveBehind(place, {a, b});            // The list becomes ..., place, a, b, ...
//   if (list.isBefore(a, b)) ...
//
// Comparing takes constant time; moving usually takes logarithmic time.
#ifndef SINTER_PASSES_TOPOLOGICAL_LIST_H_
#define SINTER_PASSES_TOPOLOGICAL_LIST_H_

#include <cstdint>
#include <map>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace sinter {

class TopologicalList {
 public:
  explicit TopologicalList(unsigned count = 0);

  bool isBefore(unsigned a, unsigned b) const { return label_[a] < label_[b]; }
  // Moves the items, in the given order, next to `place`, which must not be an item. Inserts items that are
  // not in the list.
  void moveBefore(unsigned place, llvm::ArrayRef<unsigned> items) { insert(place, items, /*behind=*/false); }
  void moveBehind(unsigned place, llvm::ArrayRef<unsigned> items) { insert(place, items, /*behind=*/true); }
  void pushFront(unsigned item);
  // Gives the position of `item` to `other`, which is removed from its old position.
  void replace(unsigned item, unsigned other);
  void remove(unsigned item);
  // The list must not be empty.
  unsigned front() const { return item_of_.begin()->second; }
  // All items, first to last.
  std::vector<unsigned> items() const;

 private:
  using Label = uint64_t;

  void insert(unsigned place, llvm::ArrayRef<unsigned> items, bool behind);
  void spread();

  std::vector<Label> label_;  // Ascending along the list; 0: not in the list.
  std::map<Label, unsigned> item_of_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_TOPOLOGICAL_LIST_H_
