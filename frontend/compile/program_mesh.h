// The mesh of ranks that compile options describe.
//
//   SINTER_ASSIGN_OR_RETURN(const CompileOptions options, WithMesh(given, module));
//   SINTER_RETURN_IF_ERROR(SetMesh(module, options));
//   if (ir::MeshOf(module)) ...                                     // Set if there are several ranks.
#ifndef SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_
#define SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/frontend/compile/compile.h"

namespace sinter {

// The axis of CompileOptions::data_parallel.
inline constexpr char kDataAxis[] = "data";

// Returns options in which `data_parallel` is written as a mesh with the tactic parallel::Data.
// InvalidArgument: both are given, tactics without a mesh, a mesh whose axes have bad names or sizes, a
// tactic that is given twice or names an axis that the mesh lacks, a level of Zero that does not exist.
absl::StatusOr<CompileOptions> WithMesh(CompileOptions options, mlir::ModuleOp module);

// Sets the module's mesh and, if the options list them, the devices of its ranks. A rank has as many devices
// as the program uses: the first rank those that the program names, the others the next ones of the list.
// InvalidArgument: a device is named twice, the devices are of several kinds, or they are not those of all
// ranks.
absl::Status SetMesh(mlir::ModuleOp module, const CompileOptions& options);

// The tactic that cuts batches; one without axes if there is none.
parallel::Data BatchTactic(const CompileOptions& options);

// Number of groups in which batch norms compute their statistics; 1: the whole batch is one.
int64_t GroupsOfBatchNorm(const CompileOptions& options);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_PROGRAM_MESH_H_
