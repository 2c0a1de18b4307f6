// Sums of columns that a pass over rows computes as well.
// A block processes several rows and keeps a sum for each of its columns in registers. A separate launch
// (kCombine) combines the blocks' sums, in the order of the blocks.
//
//   ColumnSums sums(t, passes, reducer);
//   sums.Accumulate(phase, lanes);            // For each vector of a row.
//   sums.Store(block, lane, in_block);        // After the block's last row.
#ifndef SINTER_CODEGEN_CUDA_CUDA_COLUMN_SUMS_H_
#define SINTER_CODEGEN_CUDA_CUDA_COLUMN_SUMS_H_

#include <vector>

#include "sinter/codegen/cuda/cuda_reduction_passes.h"
#include "sinter/codegen/cuda/cuda_thread.h"
#include "sinter/codegen/cuda/cuda_thread_reducer.h"

namespace sinter::codegen {

class ColumnSums : private ThreadPart {
 public:
  // All sums are identities.
  ColumnSums(CudaThread& t, ReductionPasses& passes, ThreadReducer& reducer);

  // The sums' values, for a loop to carry.
  llvm::SmallVector<mlir::Value> Values();
  void SetValues(mlir::ValueRange values);

  void Accumulate(int phase, const Lanes& lanes);
  // Combines the sums of the block's threads, and stores them as partial results.
  void Store(mlir::Value block, mlir::Value lane, mlir::Value in_block);

 private:
  void ForEach(llvm::function_ref<void(ir::Scalar&)> action);

  ReductionPasses& passes_;
  ThreadReducer& reducer_;
  // For each of the thread's vectors, each reduction and each lane.
  std::vector<std::vector<std::vector<Scalars>>> column_sums_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_COLUMN_SUMS_H_
