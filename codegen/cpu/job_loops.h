// The loops of one unit of a job, one function for each mode of LoopSchedule.
//
//   EmitRowLoops(t, sums, unit);
#ifndef SINTER_CODEGEN_CPU_JOB_LOOPS_H_
#define SINTER_CODEGEN_CPU_JOB_LOOPS_H_

#include "sinter/codegen/cpu/accumulators.h"
#include "sinter/codegen/cpu/loop_context.h"

namespace sinter::codegen {

void EmitMapLoops(LoopContext& t, mlir::Value unit);
void EmitTileLoops(LoopContext& t, mlir::Value unit);
void EmitRowLoops(LoopContext& t, Accumulators& sums, mlir::Value unit);
void EmitColumnLoops(LoopContext& t, Accumulators& sums, mlir::Value unit);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_JOB_LOOPS_H_
