// The accumulators of a job's reductions on a CPU, and the chunk of the reduced loops that a unit goes over.
//
//   Accumulators sums(t);                       // Allocates them, in the entry block.
//   sums.SplitChunk(unit);
//   sums.Init(phase, lane);
//   sums.Accumulate(phase, lane);               // The current element.
//   Accumulators::Arrays combined = sums.CombineLanes(phase);
#ifndef SINTER_CODEGEN_CPU_ACCUMULATORS_H_
#define SINTER_CODEGEN_CPU_ACCUMULATORS_H_

#include <vector>

#include "sinter/codegen/cpu/loop_context.h"

namespace sinter::codegen {

class Accumulators : private LoopPart {
 public:
  // For each reduction, an array for each scalar.
  using Arrays = std::vector<llvm::SmallVector<mlir::Value>>;

  explicit Accumulators(LoopContext& t);

  // Sets the chunk of the unit, and makes `unit` its number within the chunk.
  void SplitChunk(mlir::Value& unit);
  // Range of the outermost reduced loop.
  mlir::Value chunk_low() const { return chunk_low_; }
  mlir::Value chunk_high() const { return chunk_high_; }
  // Lanes of a row's accumulators, which the vector loop computes in parallel.
  int64_t lanes() const { return lanes_; }
  const Arrays& arrays() const { return arrays_; }

  void Init(int phase, mlir::Value lane);
  // Adds the current element to the accumulators of the phase's reductions, and writes the phase's outputs.
  void Accumulate(int phase, mlir::Value lane);
  // Does so if the condition is true. The accumulators are stored in any case, so that a vector of lanes can
  // stay in a register.
  void AccumulateIf(mlir::Value condition, int phase, mlir::Value lane);
  // Returns arrays whose first element combines all lanes.
  Arrays CombineLanes(int phase);
  llvm::SmallVector<ir::Scalar> Load(const Arrays& arrays, size_t reduction, mlir::Value lane);
  void StorePartials(JobReduction& reduction, llvm::ArrayRef<ir::Scalar> scalars);

 private:
  Arrays AllocateLanes(int64_t lanes);
  void Store(const Arrays& arrays, size_t reduction, llvm::ArrayRef<ir::Scalar> scalars, mlir::Value lane);
  llvm::SmallVector<ir::Scalar> Lift(JobReduction& reduction);
  // Numbers of the phase's reductions.
  llvm::SmallVector<size_t> ReductionsOf(int phase) const;
  // Returns the accumulators of the phase's reductions with the current element, in the order of
  // ReductionsOf, and writes the phase's outputs.
  llvm::SmallVector<ir::Scalar> Combined(int phase, mlir::Value lane);

  mlir::Value chunk_, chunk_low_, chunk_high_;
  Arrays arrays_;
  // Arrays with half the lanes each, for CombineLanes; separate arrays can stay in registers.
  std::vector<Arrays> halves_;
  std::vector<llvm::SmallVector<bool>> is_unsigned_;  // Signedness of the accumulators.
  std::vector<llvm::SmallVector<mlir::Type>> types_;
  int64_t lanes_ = 1;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_ACCUMULATORS_H_
