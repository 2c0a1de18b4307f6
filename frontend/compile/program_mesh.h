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

// Sets the module's mesh and the devices of its ranks. A rank has as many devices as the program uses: the
// first rank those that the program names, the others the next ones of the list. InvalidArgument: a device is
// named twice, the devices are of several kinds, or they do not make whole ranks.
absl::Status SetMesh(mlir::ModuleOp module, const DataParallel& parallel);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_
