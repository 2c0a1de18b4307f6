// Emits the loops of one job, in the dialects scf, arith and math and LLVM's memory ops.
//
//   NestEmitter nest(s, job, schedule, pointer_of, scratch);
//   nest.Emit(begin, end);       // The units (in mode kFlat: the elements) [begin, end).
#ifndef SINTER_CODEGEN_CPU_LOOP_NEST_H_
#define SINTER_CODEGEN_CPU_LOOP_NEST_H_

#include <functional>

#include "sinter/codegen/loops/element_emitter.h"
#include "sinter/codegen/loops/job_schedule.h"

namespace sinter::codegen {

class NestEmitter {
 public:
  using PointerOf = std::function<mlir::Value(const Slot&)>;

  // The builder's insertion point must be in the entry block of a function; the loops go there.
  NestEmitter(ir::ScalarBuilder& s, Job& job, const Schedule& schedule, PointerOf pointer_of,
              mlir::Value scratch);

  void Emit(mlir::Value begin, mlir::Value end);

 private:
  using Body = llvm::function_ref<void(mlir::Value)>;
  // Arrays of accumulators: for each reduction, an array for each scalar.
  using Arrays = std::vector<llvm::SmallVector<mlir::Value>>;

  void For(mlir::Value low, mlir::Value high, Body body);
  void ForLoops(llvm::ArrayRef<Loop> loops, llvm::function_ref<void()> body);
  void SetCoordinate(const Loop& loop, mlir::Value value);
  void SetCoordinates(llvm::ArrayRef<Loop> loops, mlir::Value position);
  mlir::Value ScratchAt(int64_t offset);

  void EmitElements(int phase);
  void EmitMap(mlir::Value unit);
  void EmitTiles(mlir::Value unit);
  // A constant that LLVM cannot see: LLVM would unroll a loop of known length completely before it
  // vectorises.
  mlir::Value Opaque(int64_t value);
  void KeepTile(const KeptValue& kept);
  void EmitRows(mlir::Value unit);
  void EmitRow();
  void EmitRowPhase(int phase);
  void EmitLanes(int phase, mlir::Value low, mlir::Value high);
  // Prefetches elements of the next row while this row is computed from cache.
  void PrefetchNextRow();
  // Returns arrays whose first element combines all lanes.
  Arrays CombineLanes(int phase);
  void EmitColumns(mlir::Value unit);
  // Emits one pass over the tile's columns.
  void ForColumns(Body body);
  void EmitColumnPhase(int phase);
  void EmitReducedOutputs();

  // Adds the current element to the accumulators of the phase's reductions, and writes the phase's outputs.
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

  llvm::SmallVector<mlir::Value> coords_;       // Coordinates in the domain at the point of emission.
  llvm::SmallVector<mlir::Value> reduced_at_;   // Positions of the reduced loops.
  mlir::Value chunk_, chunk_low_, chunk_high_;  // Range of the outermost reduced loop.
  mlir::Value column_low_, columns_,
      column_;  // First column of the tile, number of columns, and the current column within the tile.
  Arrays accumulators_;
  // Arrays with half the lanes each, for CombineLanes; separate arrays can stay in registers.
  std::vector<Arrays> halves_;
  std::vector<llvm::SmallVector<bool>> is_unsigned_;  // Signedness of the accumulators.
  std::vector<llvm::SmallVector<mlir::Type>> types_;
  mlir::Value tile_position_;  // Position of the current element in a kept tile.
  int64_t lanes_ = 1;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_LOOP_NEST_H_
