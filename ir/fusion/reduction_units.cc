#include "sinter/ir/fusion/reduction_units.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/ir/target/target_model.h"

namespace sinter::ir {

bool IsChunked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced, DeviceKind device) {
  const int64_t elements = mlir::ShapedType::getNumElements(shape);
  if (reduced.empty() || elements == 0) return false;
  int64_t rows = 1, columns = 1;  // Columns: rows whose elements are adjacent in memory.
  bool is_innermost = true;
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (llvm::is_contained(reduced, d)) {
      is_innermost = false;
    } else {
      rows *= shape[d];
      if (is_innermost) columns *= shape[d];
    }
  }
  const int64_t units = rows / columns * static_cast<int64_t>(llvm::divideCeil(columns, kFewestColumns));
  if (TargetModel::Of(device).kernels == KernelForm::kLlvm) {
    constexpr int64_t kManyElements = 131072;  // Below this, a second stage does not pay.
    return elements >= kManyElements && units < kFewestUnits;
  }
  // One block computes one unit: a row with up to 1,024 threads (half of a multiprocessor's limit), or some
  // columns with 256 threads. Fewer units leave most multiprocessors idle. With so many elements, a
  // unit takes longer than a second stage.
  constexpr int64_t kFewRows = kPlannedGpu.multiprocessors / 2, kLongRow = 16384;
  constexpr int64_t kFewColumnUnits = 2 * kPlannedGpu.multiprocessors, kLongColumns = 16384;
  if (columns == 1) return units < kFewRows && elements / units >= kLongRow;
  return units < kFewColumnUnits && elements / units >= kLongColumns;
}

bool SumsColumns(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced,
                 llvm::ArrayRef<int64_t> over) {
  // `over` must be the outer dimensions, `reduced` the inner ones.
  if (over.empty() || over.size() + reduced.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t own = d < over.size() ? over[d] : reduced[d - over.size()];
    if (own != static_cast<int64_t>(d)) return false;
  }
  const int64_t rows = mlir::ShapedType::getNumElements(shape.take_front(over.size())),
                columns = mlir::ShapedType::getNumElements(shape.drop_front(over.size()));
  // A thread holds up to 8 elements of a row; 1,024 threads on each multiprocessor leave 64 registers
  // a thread. Partial sums: one 4-byte store per block, against at least 16 rows per block, read as 2 bytes
  // or more.
  constexpr int64_t kShortest = 128, kLongest = 8192, kOfThread = 8, kRegistersOfThread = 64;
  constexpr int64_t kThreads = kPlannedGpu.registers / kRegistersOfThread;
  constexpr int64_t kMostBlocks = 8, kFewestRows = 16;
  if (columns < kShortest || columns > kLongest) return false;
  const int64_t blocks =
      std::clamp(kThreads * kOfThread / columns, int64_t{1}, kMostBlocks) * kPlannedGpu.multiprocessors;
  return rows >= kFewestRows * blocks;
}

}  // namespace sinter::ir
