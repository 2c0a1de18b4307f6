// RankSet: ranks of a mesh whose parts have equal sizes, so that they run the same function.
//
//   for (const RankSet& ranks : RankSetsOf(function, mesh)) ...     // One set if everything divides evenly.
//   ranks.sizeOf(10, {data});                                       // Rows of 10 that these ranks have.
//   ranks.firstOf(10, {data});                                      // Their first row, by coordinates.
//
// Parts of an extent differ by at most one, larger parts first. So the ranks of an axis of size n that cuts m
// iterations are of two kinds if n does not divide m: those of coordinates below m mod n, and the others.
#ifndef SINTER_PASSES_PARTITION_RANK_SET_H_
#define SINTER_PASSES_PARTITION_RANK_SET_H_

#include <cstdint>

#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/sharding.h"

namespace sinter {

// A number that differs between ranks: constant + the sum over the mesh's axes of coordinate * stride.
struct RankNumber {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> strides;
};

class RankSet {
 public:
  // Coordinates [begin, end) of one axis.
  struct Range {
    int64_t begin, end;
  };

  RankSet(ir::MeshAttr mesh, llvm::ArrayRef<Range> ranges) : mesh_(mesh), ranges_(ranges) {}

  // One for each axis.
  llvm::ArrayRef<Range> ranges() const { return ranges_; }
  // Iterations that each of these ranks has of an extent, and the first of them.
  int64_t sizeOf(int64_t extent, llvm::ArrayRef<mlir::StringAttr> axes) const;
  RankNumber firstOf(int64_t extent, llvm::ArrayRef<mlir::StringAttr> axes) const;
  // The type of these ranks' parts of a value.
  mlir::RankedTensorType localType(mlir::RankedTensorType type, const ir::Sharding& sharding) const;

 private:
  ir::MeshAttr mesh_;
  llvm::SmallVector<Range> ranges_;
};

// Returns the sets of ranks that need a function of their own, in the order of their coordinates. An error,
// with the op's line, if several axes cut an extent together that they do not divide.
mlir::FailureOr<llvm::SmallVector<RankSet>> RankSetsOf(mlir::func::FuncOp function, ir::MeshAttr mesh);

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_RANK_SET_H_
