// The passes of a job over its reduced loops: one thread's part of the reductions of each phase.
//
//   ReductionPasses passes(t);
//   block = passes.SplitChunk(block);
//   std::vector<Scalars> sums = passes.ReduceInLoop(phase, lane, passes.ReducedVectors(), lanes_at);
//   passes.FinishPhase(phase, totals, coords, writes);            // The totals of all threads.
#ifndef SINTER_CODEGEN_CUDA_CUDA_REDUCTION_PASSES_H_
#define SINTER_CODEGEN_CUDA_CUDA_REDUCTION_PASSES_H_

#include <vector>

#include "sinter/codegen/cuda/cuda_rescaled_sums.h"
#include "sinter/codegen/cuda/cuda_thread.h"

namespace sinter::codegen {

class ReductionPasses : private ThreadPart {
 public:
  explicit ReductionPasses(CudaThread& t);

  // Sets the block's chunk of the outermost reduced loop; returns the block's number within the chunk.
  mlir::Value SplitChunk(mlir::Value block);
  // Returns the number of vectors (rows) or positions (columns) in the chunk.
  mlir::Value ReducedVectors();
  // RowLanes returns the lanes of vector number `vector` of the (chunk of the) reduced loops; ColumnLanes
  // those of a reduced position.
  Lanes RowLanes(mlir::Value vector, mlir::Value exists);
  Lanes ColumnLanes(mlir::Value position);

  // Returns the reductions that the pass computes, including rescaled sums with their maxima.
  std::vector<size_t> ReductionsOf(int phase) const;
  // Null if a separate pass computes the reduction.
  const RescaledSum* RescaledSumOf(size_t reduction) const;
  // Rescaled sums of rows that are not kept.
  llvm::ArrayRef<RescaledSum> rescaled() const { return rescaled_; }

  std::vector<Scalars> Identities(int phase);
  // Adds the lanes to the accumulators of the phase's reductions.
  void Accumulate(int phase, const Lanes& lanes, std::vector<Scalars>& accumulators);
  // Accumulates and stores the phase's full outputs, for every lane group of this thread in the row or
  // column. The loop carries the accumulators.
  std::vector<Scalars> ReduceInLoop(int phase, mlir::Value first, mlir::Value end,
                                    llvm::function_ref<Lanes(mlir::Value)> lanes_at);
  // The accumulators of one element.
  Scalars Lift(JobReduction& reduction, llvm::ArrayRef<mlir::Value> coords, mlir::Value index);
  // Binds the totals of the phase's reductions as their results, or stores them as a chunk's partial results.
  void FinishPhase(int phase, llvm::ArrayRef<Scalars> totals, llvm::ArrayRef<mlir::Value> coords,
                   mlir::Value writes);

 private:
  // Adds the exponentials of these lanes to `sum`. They are relative to `max`; the terms in `sum` are
  // relative to `max_before`.
  ir::Scalar AddExponentials(const RescaledSum& rescaled, const Lanes& lanes, ir::Scalar sum,
                             ir::Scalar max_before, ir::Scalar max);

  mlir::Value chunk_, chunk_low_, chunk_high_;
  llvm::SmallVector<RescaledSum> rescaled_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_REDUCTION_PASSES_H_
