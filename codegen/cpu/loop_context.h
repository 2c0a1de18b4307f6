// The code of one job's loops on a CPU, as the loops of all modes build it.
//
//   LoopContext t(s, job, schedule, pointer_of, scratch);
//   t.For(begin, end, [&](mlir::Value unit) {
//     t.SetCoordinates(schedule.parallel, unit);
//     t.EmitElements(/*phase=*/0);
//   });
#ifndef SINTER_CODEGEN_CPU_LOOP_CONTEXT_H_
#define SINTER_CODEGEN_CPU_LOOP_CONTEXT_H_

#include <functional>
#include <optional>

#include "sinter/codegen/loops/element_emitter.h"
#include "sinter/codegen/loops/loop_schedule.h"

namespace sinter::codegen {

class LoopContext {
 public:
  using PointerOf = std::function<mlir::Value(const Slot&)>;
  using Body = llvm::function_ref<void(mlir::Value)>;

  // The builder's insertion point must be in the entry block of a function; the loops go there.
  LoopContext(ir::ScalarBuilder& s, Job& job, const LoopSchedule& schedule, PointerOf pointer_of,
              mlir::Value scratch);

  mlir::OpBuilder& b() { return b_; }
  ir::ScalarBuilder& s() { return s_; }
  KernelEmitter& e() { return e_; }
  Job& job() { return job_; }
  const LoopSchedule& schedule() const { return schedule_; }
  mlir::Value PointerTo(const Slot& slot) const { return pointer_of_(slot); }
  // Coordinates in the domain at the point of emission.
  llvm::ArrayRef<mlir::Value> coords() const { return coords_; }
  // Positions of the reduced loops.
  llvm::ArrayRef<mlir::Value> reduced_at() const { return reduced_at_; }

  // Returns the value of an arith.constant.
  static std::optional<int64_t> ConstantOf(mlir::Value value);
  // Returns a constant that LLVM cannot see.
  mlir::Value Opaque(int64_t value);
  void For(mlir::Value low, mlir::Value high, Body body);
  void ForLoops(llvm::ArrayRef<Loop> loops, llvm::function_ref<void()> body);
  void SetCoordinate(const Loop& loop, mlir::Value value);
  void SetCoordinates(llvm::ArrayRef<Loop> loops, mlir::Value position);
  llvm::SmallVector<mlir::Value> CoordsOf(const KeptValue& kept);
  Coordinates ParallelKey() const;
  mlir::Value ParallelPosition();

  mlir::Value ScratchAt(int64_t offset);
  // kTiles: the position of the current element in a kept tile. kColumn: the current column within the tile.
  void SetTilePosition(mlir::Value position) { tile_position_ = position; }
  void SetColumn(mlir::Value column) { column_ = column; }
  // Tells the caches of kept values where the current element is.
  void UpdateCaches();
  // Computes and stores the phase's full outputs of the current element.
  void EmitElements(int phase);
  void EmitReducedOutputs();

 private:
  Coordinates KeyOf(llvm::ArrayRef<int> dims, llvm::ArrayRef<int64_t> constants) const;
  llvm::SmallVector<mlir::Value> ParallelCoords() const;
  mlir::Value ReducedPosition();

  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  Job& job_;
  const LoopSchedule& schedule_;
  PointerOf pointer_of_;
  mlir::Value scratch_;
  KernelEmitter e_;
  llvm::SmallVector<mlir::Value> coords_, reduced_at_;
  mlir::Value tile_position_, column_;
};

// A part of a job's loops: what LoopContext has, under short names.
class LoopPart {
 protected:
  explicit LoopPart(LoopContext& t)
      : t_(t), b_(t.b()), s_(t.s()), e_(t.e()), job_(t.job()), schedule_(t.schedule()) {}

  LoopContext& t_;
  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  KernelEmitter& e_;
  Job& job_;
  const LoopSchedule& schedule_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_LOOP_CONTEXT_H_
