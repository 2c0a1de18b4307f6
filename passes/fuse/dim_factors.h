// DimFactors: the factors of dimensions, split so that values that a reshape joins have the same ones.
//
//   DimFactors dims;
//   auto a = dims.add(742), b = dims.add(2), c = dims.add(53), d = dims.add(7);
//   if (dims.align({a}, {b, c, d})) dims.factors(a);     // 2, 53, 7.
//
// A dimension of size n that splits at s has the factors n / s and s, the last one fastest: its coordinate is
// that of the first times s plus that of the second. All splits of a dimension divide each other.
#ifndef SINTER_PASSES_FUSE_DIM_FACTORS_H_
#define SINTER_PASSES_FUSE_DIM_FACTORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace sinter {

class DimFactors {
 public:
  using Dim = unsigned;
  using Dims = llvm::SmallVector<Dim>;

  Dim add(int64_t size);
  // Makes two dimensions of one size the same: they split alike. Not after `align`.
  void unite(Dim a, Dim b);
  // Keeps the dimension whole: it neither splits nor, if its size is 1, is dropped. Not after `align`.
  void pin(Dim dim);
  // Lets both dimensions split alike, but only where the split divides `step`. One is a range of the other
  // that begins and ends at multiples of `step`.
  void bound(Dim a, Dim b, int64_t step);
  // Splits dimensions until `a` and `b`, two shapes with the same elements, have the same factors. Returns
  // false, and changes nothing, if there are no such factors: [4, 3] and [6, 2] have none.
  bool align(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);
  // Drops a dimension of size 1, unless it is pinned.
  void drop(Dim dim);

  // The largest split, which divides `step` of any bound; 1 if the dimension is whole.
  int64_t split(Dim dim) const;
  // Major first. A dimension of size 1 has the factor 1 or, if it is dropped, none.
  llvm::SmallVector<int64_t> factors(Dim dim) const;
  llvm::SmallVector<int64_t> factors(llvm::ArrayRef<Dim> dims) const;

 private:
  using Splits = llvm::SmallVector<int64_t, 2>;  // Ascending; neither 1 nor the size.
  struct Class {
    int64_t size = 0;
    bool is_pinned = false, is_dropped = false;
    Splits splits;
    llvm::SmallVector<unsigned> rules;
  };
  // Two shapes with the same factors or, if `step` is not 0, two dimensions with the same factors up to it.
  struct Rule {
    Dims a, b;
    int64_t step;
  };

  Dim find(Dim dim) const;
  unsigned addRule(Rule rule);
  bool insert(Dim dim, int64_t split);
  bool apply(const Rule& rule);
  bool applyBound(Dim from, Dim to, int64_t step);
  Splits positions(llvm::ArrayRef<Dim> dims) const;
  bool insertPositions(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<int64_t> positions);

  mutable std::vector<Dim> parent_;
  std::vector<Class> classes_;
  std::vector<Rule> rules_;
  // For the current `align`: old splits to restore, and rules to apply.
  std::vector<std::pair<Dim, Splits>> changed_;
  llvm::SmallVector<unsigned> work_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_DIM_FACTORS_H_
