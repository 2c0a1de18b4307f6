// Gives a program the mesh of ranks that CompileOptions::data_parallel describes.
//
//   SINTER_RETURN_IF_ERROR(SetMesh(module, options.data_parallel));
//   if (ir::MeshOf(module)) ...                                        // Set if there are several devices.
#ifndef SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_
#define SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/frontend/compile/data_parallel.h"

namespace sinter {

// The axis of the mesh that shares the batch.
inline constexpr char kDataAxis[] = "data";

// True if the batch is shared by one program that all ranks run. False if each device gets ops of its own.
bool SharesOneProgram(const DataParallel& parallel);

// Sets the module's mesh and the devices of its ranks. InvalidArgument: a device is named twice, or the devices
// are of several kinds.
absl::Status SetMesh(mlir::ModuleOp module, const DataParallel& parallel);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_
