// Emits the loops of one job, in scf, arith, math and LLVM's memory ops.
//
//   NestEmitter nest(s, job, schedule, pointer_of, scratch);
//   nest.Emit(begin, end);       // the units, or in mode kFlat the elements, [begin, end)
#ifndef SINTER_CODEGEN_CPU_LOOP_NEST_H_
#define SINTER_CODEGEN_CPU_LOOP_NEST_H_

#include <functional>

#include "sinter/codegen/loops/element_emitter.h"
#include "sinter/codegen/loops/job_schedule.h"

namespace sinter::codegen {

class NestEmitter {
 public:
  using PointerOf = std::function<mlir::Value(const Slot&)>;

  // The builder stands where the loops go, in the entry block of a function.
  NestEmitter(ir::ScalarBuilder& s, Job& job, const Schedule& schedule, PointerOf pointer_of,
              mlir::Value scratch);

  void Emit(mlir::Value begin, mlir::Value end);

 private:
  using Body = llvm::function_ref<void(mlir::Value)>;
  // Of accumulators: a reduction each, a scalar each.
  using Arrays = std::vector<llvm::SmallVector<mlir::Value>>;

  void For(mlir::Value low, mlir::Value high, Body body);
  void ForLoops(llvm::ArrayRef<Loop> loops, llvm::function_ref<void()> body);
  void SetCoordinate(const Loop& loop, mlir::Value value);
  void SetCoordinates(llvm::ArrayRef<Loop> loops, mlir::Value position);
  mlir::Value ScratchAt(int64_t offset);

  void EmitElements(int phase);
  void EmitMap(mlir::Value unit);
  void EmitTiles(mlir::Value unit);
  // A number that LLVM cannot see: a loop of known length it would unroll whole, before it looks for vectors.
  mlir::Value Opaque(int64_t value);
  void KeepTile(const KeptValue& kept);
  void EmitRows(mlir::Value unit);
  void EmitRow();
  void EmitRowPhase(int phase);
  void EmitLanes(int phase, mlir::Value low, mlir::Value high);
  // Asks for the next row's elements behind the current ones, while this row is computed from cache.
  void PrefetchNextRow();
  // The arrays whose first element is what all lanes are together.
  Arrays CombineLanes(int phase);
  void EmitColumns(mlir::Value unit);
  // One pass over the tile's columns.
  void ForColumns(Body body);
  void EmitColumnPhase(int phase);
  void EmitReducedOutputs();

  // Adds the current element to the accumulators of the phase's reductions and writes the phase's outputs.
  void Accumulate(int phase, mlir::Value lane);
  void InitAccumulators(int phase, mlir::Value lane);
  llvm::SmallVector<ir::Scalar> LoadAccumulators(const Arrays& arrays, size_t reduction, mlir::Value lane);
  void StoreAccumulators(const Arrays& arrays, size_t reduction, llvm::ArrayRef<ir::Scalar> scalars,
                         mlir::Value lane);
  llvm::SmallVector<ir::Scalar> Lift(JobReduction& reduction);
  void StorePartials(JobReduction& reduction, llvm::ArrayRef<ir::Scalar> scalars);

  void AllocateAccumulators();
  Arrays AllocateLanes(int64_t lanes);
  void SplitChunk(mlir::Value& unit);
  void UpdateCaches();
  llvm::SmallVector<mlir::Value> CoordsOf(const KeptValue& kept);
  Coordinates KeyOf(llvm::ArrayRef<int> dims, llvm::ArrayRef<int64_t> constants) const;
  llvm::SmallVector<mlir::Value> ParallelCoords() const;
  Coordinates ParallelKey() const;
  mlir::Value ParallelPosition();
  mlir::Value ReducedPosition();

  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  Job& job_;
  const Schedule& schedule_;
  PointerOf pointer_of_;
  mlir::Value scratch_;
  KernelEmitter e_;

  llvm::SmallVector<mlir::Value> coords_;       // Of the domain, at the point of emission.
  llvm::SmallVector<mlir::Value> reduced_at_;   // The reduced loops' positions.
  mlir::Value chunk_, chunk_low_, chunk_high_;  // The outermost reduced loop's range.
  mlir::Value column_low_, columns_,
      column_;  // The tile's first, how many it has, and the current one's place in it.
  Arrays accumulators_;
  // Half as many lanes each, for CombineLanes: in arrays of their own they can stay in registers.
  std::vector<Arrays> halves_;
  std::vector<llvm::SmallVector<bool>> is_unsigned_;  // Of accumulators.
  std::vector<llvm::SmallVector<mlir::Type>> types_;
  mlir::Value tile_position_;  // Of the current element in a kept tile.
  int64_t lanes_ = 1;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_LOOP_NEST_H_
