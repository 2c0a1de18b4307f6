// Emits the loops of one job, in the dialects scf, arith and math and LLVM's memory ops.
//
//   EmitLoopNest(s, job, schedule, pointer_of, scratch, begin, end);
#ifndef SINTER_CODEGEN_CPU_JOB_LOOPS_H_
#define SINTER_CODEGEN_CPU_JOB_LOOPS_H_

#include "sinter/codegen/cpu/accumulators.h"
#include "sinter/codegen/cpu/loop_context.h"

namespace sinter::codegen {

// Emits the units (in mode kFlat: the elements) [begin, end). The builder's insertion point must be in the
// entry block of a function; the loops go there.
void EmitLoopNest(ir::ScalarBuilder& s, Job& job, const LoopSchedule& schedule,
                  const LoopContext::PointerOf& pointer_of, mlir::Value scratch, mlir::Value begin,
                  mlir::Value end);

// The loops of one unit, one function for each other mode of LoopSchedule.
void EmitMapLoops(LoopContext& t, mlir::Value unit);
void EmitTileLoops(LoopContext& t, mlir::Value unit);
void EmitRowLoops(LoopContext& t, Accumulators& sums, mlir::Value unit);
void EmitColumnLoops(LoopContext& t, Accumulators& sums, mlir::Value unit);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_JOB_LOOPS_H_
