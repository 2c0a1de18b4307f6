// How the loops of a reduction are shared among threads, as far as fusion must know it.
//
//   if (IsChunked({4, 1 << 20}, {1}, DeviceKind::gpu)) ...   // Chunks of a row, and a second stage.
//   if (SumsColumns({32768, 768}, {1}, {0})) ...             // A pass over rows may sum their columns.
#ifndef SINTER_IR_FUSION_REDUCTION_UNITS_H_
#define SINTER_IR_FUSION_REDUCTION_UNITS_H_

#include <cstddef>
#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

// A unit of work is one row or some neighbouring columns. One CPU thread or one GPU block computes one unit
// at a time. With fewer units than this, some CPU threads are idle.
inline constexpr int64_t kFewestUnits = 16;
inline constexpr int64_t kFewestColumns = 32;  // Columns of a unit.

// True if reducing `shape` along `reduced` has so few units of so many elements that each row is computed in
// chunks, whose results are combined afterwards. Full values that depend on the result then have loops of
// their own; on a CPU, all full values have. Fusion and codegen use this same answer; only
// codegen/loops/loop_schedule.h and codegen/cuda/cuda_schedule.h decide on the number of chunks. The answer
// depends only on the shape and the device kind, so results do not depend on the number of threads or
// multiprocessors.
bool IsChunked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced, DeviceKind device);

// True if reductions of `shape` along `reduced` (rows) and along `over` (all other dimensions) may share one
// pass on a GPU: a block that holds a row in registers goes over several rows and sums their columns; a
// second stage combines the blocks' sums. Rows must fit in the registers, and there must be enough rows that
// the second stage is small. The order of the sums depends only on the shape.
bool SumsColumns(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced,
                 llvm::ArrayRef<int64_t> over);
// Limit for one pass; each column reduction takes registers.
inline constexpr size_t kMostColumnReductions = 4;

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_REDUCTION_UNITS_H_
