// The computation of one generated kernel, as loop nests: the contract between fusion, lowering and codegen.
//
// A fused group is a list of fusible ops and reductions with some outputs. The group is legal if it splits
// into loop nests that share only constants and uniform values (one number everywhere). A nest has one shape,
// the iteration domain, whose dimensions are parallel or reduced.
//   - Full values have the nest's shape and are computed at the nest's coordinates.
//   - Row values have the shape of the parallel dimensions: results of reductions, and values computed from
//     them.
//   - All row reductions of a nest reduce full values along the same dimensions. A reduction may depend on an
//     earlier one (the maximum, then the sum of exponentials): these phases run in sequence over one row.
//   - Every output is a full, a row or a column value. The last phase stores the full outputs.
//   - Every other value is an index map or is cheap, and is recomputed at each read. It never depends on a
//     reduction: the result of a reduction is read only at the coordinates of its own row.
//   - An output that is a concat, which nothing else in the group reads, is stored in parts: each part is
//     computed by a nest of its own shape, or by one nest if the parts have one shape.
//   - Column reductions reduce full values along all parallel dimensions, where SumsColumns allows it. On a
//     GPU, row and column reductions share one pass over memory. Column values have the shape of the reduced
//     dimensions: results of column reductions and values computed from them. No full or row value depends on
//     a column value.
//
// Kinds: `map` is one nest without reductions. `row` is one nest with reductions; the reduced dimensions may
// come last (rows), first (columns) or in between. `horizontal` is several nests.
//
//   std::string why;
//   auto domain = AnalyzeFusion(fusion.getBody().front(), &why);
//   if (mlir::failed(domain)) return fusion.emitError(why);
//   for (const LoopNest& nest : domain->nests) EmitLoops(nest);
#ifndef SINTER_IR_FUSION_FUSION_DOMAIN_H_
#define SINTER_IR_FUSION_FUSION_DOMAIN_H_

#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"
#include "sinter/ir/fusion/reduction_units.h"

namespace sinter::ir {

// Returns the results of `ops` (in program order) that are one number everywhere: values made of constants
// and of one-element values from outside `ops`, such as the learning rate. Every loop that reads one may
// recompute it.
llvm::DenseSet<mlir::Value> UniformValues(llvm::ArrayRef<mlir::Operation*> ops);

// The kind of `device`. Null means cpu: ops without a device run on cpu:0.
DeviceKind KindOf(DeviceAttr device);

struct LoopNest {
  llvm::SmallVector<int64_t> shape;                // The iteration domain.
  llvm::SmallVector<int64_t> reduced;              // Its reduced dimensions, ascending; empty for a map.
  llvm::SmallVector<mlir::Operation*> ops;         // In program order. One op may be in several nests.
  llvm::SmallVector<mlir::Operation*> reductions;  // The row reductions of `ops`.
  llvm::SmallVector<mlir::Operation*> column_reductions;  // The column reductions of `ops`.
  // The values that this nest stores, outputs or parts of outputs, and the index of the output of each.
  llvm::SmallVector<mlir::Value> stored;
  llvm::SmallVector<unsigned> outputs;
  // For each input and op result: the maps from the nest's coordinates to the coordinates of its reads and
  // stores, each map once. A null map stands for positions that depend on data or conditions. Coordinates of
  // dimensions of size 1 are the constant 0, so equal maps access equal positions.
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::AffineMap, 1>> reads;
  mlir::AffineMap full_map;    // The coordinates of a full value.
  mlir::AffineMap row_map;     // The coordinates of a row value.
  mlir::AffineMap column_map;  // The coordinates of a column value; null without column reductions.
  // Inputs and results that only column values read, once for each column.
  llvm::DenseSet<mlir::Value> column_values;

  llvm::SmallVector<int64_t> parallelDims() const;
  int64_t elements() const;  // Elements of the domain.
  int64_t rows() const;      // Product of the parallel dimensions.
  int64_t columns() const;   // Product of the reduced dimensions.
  // True if every read and store of `value` uses `map`.
  bool isReadOnlyThrough(mlir::Value value, mlir::AffineMap map) const;
  bool isCutInChunks(DeviceKind device) const { return IsChunked(shape, reduced, device); }
  // True if `value` depends on a reduction of the nest.
  bool dependsOnReduction(mlir::Value value) const;
  // True if every read of `value` uses only the parallel coordinates, so that one computation a row is
  // enough.
  bool isRowInvariant(mlir::Value value) const;
};

struct FusionDomain {
  std::vector<LoopNest> nests;
  // "map", "row" or "horizontal".
  llvm::StringRef kind() const;
  // True if there is one nest, or if all are maps that store parts of common outputs.
  bool isConnected() const;
};

// Analyses `ops` (in program order, one block) as one kernel that stores `outputs`. Values from outside `ops`
// are inputs. On failure `why` gets a short clause with the reason.
mlir::FailureOr<FusionDomain> AnalyzeFusion(llvm::ArrayRef<mlir::Operation*> ops,
                                            llvm::ArrayRef<mlir::Value> outputs, std::string* why);
// Analyses the body of a sinter.fusion or plan.call; the operands of its terminator are the outputs.
mlir::FailureOr<FusionDomain> AnalyzeFusion(mlir::Block& body, std::string* why);

// Checks the body of a sinter.fusion, or of a plan.call without a library op: only fusible ops, reductions
// and splat constants are allowed. Reports any other op as an error of `holder`.
mlir::LogicalResult VerifyFusedBody(mlir::Operation* holder, mlir::Block& body);

// True if an element of the op follows from its position alone: a constant, an iota, or the comparison of an
// iota with a number, the mask of a padding. Loops do not belong together because they share one.
bool FollowsFromPosition(mlir::Operation* op);

// True if `op` is a reshape that only adds or drops dimensions of size 1.
bool IsUnitReshape(mlir::Operation* op);

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_FUSION_DOMAIN_H_
