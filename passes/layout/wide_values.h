// WideValues: values with more elements along some dimensions than the program gives them, for library ops
// whose rows must be multiples of what they read at once (pass `pad-products`).
//
//   WideValues values(block);
//   Value a = values.zeroed(matmul.getA(), dims, dims);   // The kernel that computes A stores it wide.
//   values.replace(matmul.getResult(), wide_result, dims, /*has_zeros=*/true);
//   values.finish();                                      // Readers of results compute on wide values, too.
//
// A wide value has the elements of the program's value first; the others are its padding. Work between two
// wide values is done on wide values: pointwise ops, broadcasts, reshapes and reductions, which see only the
// elements of the program. Thus one kernel has one loop. What no op of the kernel computes is padded where it
// is read; readers that know nothing of the padding read a slice.
//
// Dims is a set of dimensions: bit d stands for dimension d.
#ifndef SINTER_PASSES_LAYOUT_WIDE_VALUES_H_
#define SINTER_PASSES_LAYOUT_WIDE_VALUES_H_

#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "mlir/IR/Block.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

using Dims = uint32_t;

// Returns the size of a dimension of a wide value: a multiple of 64 if that adds less than 1 %, else of 8.
int64_t WideSize(int64_t size);
mlir::RankedTensorType WideType(mlir::RankedTensorType type, Dims dims);

class WideValues {
 public:
  explicit WideValues(mlir::Block& block) : block_(block) {}

  // Returns the wide value of `value`, with any padding.
  mlir::Value any(mlir::Value value, Dims dims);
  // Returns the wide value with zeros in the padding along the dimensions `zeros`, a part of `dims`.
  mlir::Value zeroed(mlir::Value value, Dims dims, Dims zeros);
  // True if all of the padding of a wide value is known to be zeros.
  bool hasZeros(mlir::Value wide) const { return fills_.lookup(wide) == Fill::kZero; }
  // True if the ops that compute `value` work on wide values anyway, or reduce rows that it has: any() then
  // builds wide ops instead of a pad.
  bool isComputedWide(mlir::Value value, Dims dims) { return reaches(value, dims, 0); }

  // True if there is a wide value already.
  bool has(mlir::Value value, Dims dims) const { return find(value, dims) != nullptr; }

  // Makes `wide`, the result of a library op, the wide value of `value`, and lets all readers read it.
  void replace(mlir::Value value, mlir::Value wide, Dims dims, bool has_zeros);
  // Erases an op without readers, by the time that finish() runs: until then other values may not get its
  // address, under which searches remember it.
  void discard(mlir::Operation* op) { dead_.push_back(op); }
  // Rewrites the readers of wide values that become part of kernels over these. Call it once, at the end.
  void finish();

 private:
  // All elements of a padding, as far as they are known.
  enum class Fill { kUnknown, kZero, kLowest };
  struct Wide {
    Dims dims;
    mlir::Value value;
    bool is_computed;  // By ops on wide values; else it is a pad.
  };
  using Key = std::pair<mlir::Value, Dims>;

  const Wide* find(mlir::Value value, Dims dims) const;
  const Wide* computed(mlir::Value value) const;
  void add(mlir::Value value, const Wide& wide, Fill fill);
  mlir::Value build(mlir::Value value, Dims dims);
  mlir::Value pad(mlir::Value value, Dims dims);
  mlir::Value widen(mlir::Operation* op, Dims dims, llvm::ArrayRef<Dims> of_operands);
  bool reaches(mlir::Value value, Dims dims, int depth);
  bool reducesRowsLike(mlir::Value row_value, mlir::Value value, Dims dims) const;
  bool isMade(mlir::Value value, int depth);
  bool isSpread(mlir::Value value, Dims dims) const;
  Fill fillOf(mlir::Operation* op, Dims dims, llvm::ArrayRef<mlir::Value> operands) const;
  mlir::Value masked(mlir::Value value, mlir::Value wide, Dims dims, double outside);
  mlir::Value forMaximum(mlir::Value value, mlir::Value wide, Dims dims);

  // For finish().
  void findFlows();
  void flow(mlir::Operation* op);
  bool isWorthReducing(mlir::Value value);
  void reduce(mlir::Operation* op);
  void redirectReaders();

  mlir::Block& block_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Wide, 1>> wide_;
  llvm::DenseMap<mlir::Value, Fill> fills_;  // By wide value.
  llvm::DenseMap<Key, bool> reaches_;
  llvm::DenseMap<mlir::Value, bool> made_;
  llvm::SmallVector<mlir::Operation*> dead_;
  llvm::DenseMap<std::pair<Key, Dims>, mlir::Value> zeroed_;
  llvm::DenseSet<mlir::Value> sources_;       // Values given to replace(), and their casts.
  llvm::DenseMap<mlir::Value, Dims> flows_;   // Values that finish() can compute wide.
  llvm::EquivalenceClasses<void*> together_;  // Sets of flows_ that one kernel may compute.
  llvm::DenseSet<void*> widened_, leaving_;   // Leaders of together_: see isWorthReducing.
};

// Lets those readers of `value` read `with` that come behind it in its block.
void ReplaceBehind(mlir::Value value, mlir::Value with);

// Returns the dimensions along which the operands of an op are wide if its result is wide along `dims`;
// nullopt if the op cannot compute a wide result.
std::optional<llvm::SmallVector<Dims>> WideOperands(mlir::Operation* op, Dims dims);

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_WIDE_VALUES_H_
