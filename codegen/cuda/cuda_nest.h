// Emits the work of one GPU thread for one job, for cuda_printer.h.
//
//   EmitCudaNest(s, job, schedule, place_of, block, thread, length);
#ifndef SINTER_CODEGEN_CUDA_CUDA_NEST_H_
#define SINTER_CODEGEN_CUDA_CUDA_NEST_H_

#include "sinter/codegen/cuda/cuda_thread.h"

namespace sinter::codegen {

// `block` is the job's block, `thread` the thread in the block, `length` the length of kFlat's loop.
void EmitCudaNest(ir::ScalarBuilder& s, Job& job, const CudaSchedule& schedule,
                  const CudaThread::PlaceOfSlot& place_of, mlir::Value block, mlir::Value thread,
                  mlir::Value length);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_NEST_H_
