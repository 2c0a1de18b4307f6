// Combines values of a block's threads; every thread gets the result.
//
//   ThreadReducer reducer(t);
//   Scalars total = reducer.ReduceRow(reduction, sums, lane);
#ifndef SINTER_CODEGEN_CUDA_CUDA_THREAD_REDUCER_H_
#define SINTER_CODEGEN_CUDA_CUDA_THREAD_REDUCER_H_

#include <utility>

#include "sinter/codegen/cuda/cuda_thread.h"

namespace sinter::codegen {

class ThreadReducer : private ThreadPart {
 public:
  explicit ThreadReducer(CudaThread& t) : ThreadPart(t) {}

  // The threads that share a row: CudaSchedule::threads.
  Scalars ReduceRow(JobReduction& reduction, Scalars scalars, mlir::Value lane);
  // The threads of a block are `deep` rows of `width` columns.
  Scalars ReduceColumn(JobReduction& reduction, Scalars scalars, mlir::Value row, mlir::Value column,
                       int64_t deep, int64_t width);

 private:
  Scalars ReduceWarp(JobReduction& reduction, Scalars scalars, int64_t width, mlir::Value lane);
  llvm::SmallVector<mlir::Value> SharedArrays(llvm::ArrayRef<ir::Scalar> like, int64_t size);
  // Arrays with an element for each thread of the block. All columns and sums use them in turn, because
  // separate arrays would exceed shared memory.
  llvm::SmallVector<mlir::Value> ColumnArrays(llvm::ArrayRef<ir::Scalar> like);

  llvm::SmallVector<std::pair<mlir::Type, mlir::Value>> column_arrays_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_THREAD_REDUCER_H_
