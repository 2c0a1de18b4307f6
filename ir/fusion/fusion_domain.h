// What one generated kernel computes, loop nest by loop nest: the contract between fusion, lowering and
// codegen.
//
// A fused group is a list of fusible ops and reductions with some outputs. It is legal when it splits into
// loop nests that share no computation but of constants and of what is one number everywhere. A nest has one shape, the
// iteration domain, whose dimensions are parallel or reduced.
//   - Full values have the nest's shape and are computed at the nest's coordinates.
//   - Row values have the shape of the parallel dimensions: the results of reductions, and what is computed from them.
//   - All reductions of a nest have the same reduced dimensions, of full values. They may depend on earlier ones (the
//     maximum, then the sum of exponentials): such phases run one after the other over the same row.
//   - Every output is a full or a row value, or a column value. Full outputs are stored in the last phase.
//   - Any other value in the nest is computed again wherever it is read: an index map, or something cheap. It
//   never
//     depends on a reduction: a reduction's result is only ever read at the coordinates of its own row.
//   - Beside reductions along the rows there may be some over them, column reductions: of full values along all
//   parallel dimensions, where SumsColumns says so. On a GPU they are one pass over memory. Column values are their
//   results, of the shape that the reduced dimensions have, and what is computed from them. No full or row value is.
//
// Kinds: `map`, one nest without reductions; `row`, one nest with them, whether the reduced dimensions come
// last (rows), first (columns) or in between; `horizontal`, several nests.
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

namespace sinter::ir {

// A unit of work is a row, or some neighbouring columns: what one thread of a CPU computes at a time, or one block of threads
// of a GPU. Fewer units than these leave threads of a CPU idle.
inline constexpr int64_t kFewestUnits = 16;
inline constexpr int64_t kFewestColumns = 32;  // In a unit.

// Whether reducing `shape` along `reduced` leaves so few units to so many elements that each row is computed in chunks,
// whose results are combined afterwards. Full values that depend on a result then have loops of their own; on a CPU all full
// values have. That a reduction is cut is decided here, for fusion and codegen alike; into how many chunks, only by
// codegen/loops/job_schedule.h and codegen/cuda/cuda_schedule.h, on loops. Depends on the shape and the kind of device alone,
// so that results do not depend on how many threads or multiprocessors there are.
bool IsCutInChunks(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced, DeviceKind device);

// Whether reductions of `shape` along `reduced`, its rows, and along `over`, all other dimensions, may be one pass on a GPU: a
// block that has the row in registers goes over some rows and sums their columns, and a second stage combines what the blocks
// have. Rows must be short enough for the registers and many enough that there is little to combine. The order of the sums
// depends on the shape alone.
bool SumsColumns(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced,
                 llvm::ArrayRef<int64_t> over);
// In one pass; each takes registers.
inline constexpr size_t kMostColumnReductions = 4;

// Which results of `ops`, in program order, are one number everywhere: made of constants and of single elements from elsewhere,
// such as the rate of an update. Every loop that reads one may compute it.
llvm::DenseSet<mlir::Value> UniformValues(llvm::ArrayRef<mlir::Operation*> ops);

// The kind of `device`; cpu for null: what nothing places runs on cpu:0.
DeviceKind KindOf(DeviceAttr device);

struct LoopNest {
  llvm::SmallVector<int64_t> shape;                // The iteration domain.
  llvm::SmallVector<int64_t> reduced;              // Its reduced dimensions, ascending; empty for a map.
  llvm::SmallVector<mlir::Operation*> ops;         // In program order. Those may be in several nests.
  llvm::SmallVector<mlir::Operation*> reductions;  // The reductions among them, but for
  llvm::SmallVector<mlir::Operation*> column_reductions;  // those over the rows.
  llvm::SmallVector<unsigned> outputs;  // Numbers of the group's outputs that this nest stores.
  // From the nest's coordinates to those at which a value is read or stored, each map once. A null map stands
  // for places that depend on data or conditions. Covers inputs and results of ops. Coordinates of dimensions
  // of size 1 are the constant 0, so that equal maps read equal places.
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::AffineMap, 1>> reads;
  mlir::AffineMap full_map;    // The coordinates of a full value.
  mlir::AffineMap row_map;     // The coordinates of a row value.
  mlir::AffineMap column_map;  // The coordinates of a column value; null without column reductions.
  // Inputs and results that are read for column values alone, once for each column.
  llvm::DenseSet<mlir::Value> column_values;

  llvm::SmallVector<int64_t> parallelDims() const;
  int64_t elements() const;  // Of the domain.
  int64_t rows() const;      // Of the parallel dimensions.
  int64_t columns() const;   // Of the reduced dimensions.
  // Whether `value` is read (or stored) through `map` only.
  bool isReadOnlyThrough(mlir::Value value, mlir::AffineMap map) const;
  bool isCutInChunks(DeviceKind device) const { return IsCutInChunks(shape, reduced, device); }
  // Whether a reduction of the nest goes into `value`.
  bool dependsOnReduction(mlir::Value value) const;
  // Whether every read of `value` needs the parallel coordinates only, so that it is computed once a row.
  bool isRowInvariant(mlir::Value value) const;
};

struct FusionDomain {
  std::vector<LoopNest> nests;
  // map, row or horizontal.
  llvm::StringRef kind() const;
};

// Analyses `ops` (in program order, one block) as one kernel that stores `outputs`. What the ops read from
// elsewhere is an input. On failure `why` says in a short clause what does not fit.
mlir::FailureOr<FusionDomain> AnalyzeFusion(llvm::ArrayRef<mlir::Operation*> ops,
                                            llvm::ArrayRef<mlir::Value> outputs, std::string* why);
// The same for the body of a sinter.fusion or plan.call: its outputs are the operands of the terminator.
mlir::FailureOr<FusionDomain> AnalyzeFusion(mlir::Block& body, std::string* why);

// Checks what the body of a sinter.fusion, or of a plan.call that holds no library op, is made of: fusible ops, reductions
// and constants that are splats. Says what else there is, as an error of `holder`.
mlir::LogicalResult VerifyFusedBody(mlir::Operation* holder, mlir::Block& body);

// Whether `op` is a reshape that only adds or drops dimensions of size 1.
bool IsUnitReshape(mlir::Operation* op);

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_FUSION_DOMAIN_H_
