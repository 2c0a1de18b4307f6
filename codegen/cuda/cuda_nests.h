// The nests of one GPU thread, one for each mode of CudaSchedule.
//
//   EmitRows(t, block, thread);        // The job's block, and the thread in the block.
#ifndef SINTER_CODEGEN_CUDA_CUDA_NESTS_H_
#define SINTER_CODEGEN_CUDA_CUDA_NESTS_H_

#include "sinter/codegen/cuda/cuda_thread.h"

namespace sinter::codegen {

// `length`: the elements of the one loop.
void EmitFlat(CudaThread& t, mlir::Value block, mlir::Value thread, mlir::Value length);
void EmitMap(CudaThread& t, mlir::Value block, mlir::Value thread);
void EmitStrips(CudaThread& t, mlir::Value block, mlir::Value thread);
void EmitTiles(CudaThread& t, mlir::Value block, mlir::Value thread);
void EmitRows(CudaThread& t, mlir::Value block, mlir::Value thread);
void EmitColumns(CudaThread& t, mlir::Value block, mlir::Value thread);

// Returns the coordinates of a kept value's element for the thread's coordinates.
llvm::SmallVector<mlir::Value> KeptCoords(CudaThread& t, const KeptValue& kept);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_NESTS_H_
