// From an LLVM module to the bytes of a shared object: optimised, vectorised, complete in itself.
//
// Contract: the module's functions with external linkage keep their names and are exported; everything else
// is hidden. Calls to math functions, as llvm.* intrinsics or by their C names (expf, tanh, atan2f, ...), as
// frem or as conversions to 16-bit floats, become the vector math of kernels/cpu/vector_math.h, inlined; a
// module may also declare and call the sn_* functions themselves. The result needs no other library. The same
// module, target and options give the same bytes, whatever the number of threads. Functions here may be
// called from any thread.
//
//   SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Host());
//   SINTER_ASSIGN_OR_RETURN(std::string bytes, EmitSharedObject(std::move(module), target));
//   // memfd_create, write, dlopen("/proc/self/fd/N"), dlsym(handle, "my_kernel").
//
// Errors: INVALID_ARGUMENT names the function that the module calls and nobody provides. INTERNAL: the module
// is malformed, or LLVM or the linker failed.
#ifndef SINTER_CODEGEN_CPU_SHARED_OBJECT_H_
#define SINTER_CODEGEN_CPU_SHARED_OBJECT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/codegen/cpu/target_machine.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace sinter::codegen {

struct SharedObjectOptions {
  int opt_level = 3;  // 0 to 3.

  // Threads that optimise parts of the module at the same time; 0: one per core.
  int threads = 0;

  // Exported functions a part holds. Decides the bytes together with the module; private functions and
  // constants keep those that share them in one part.
  int functions_per_part = 8;
};

absl::StatusOr<std::string> EmitSharedObject(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                             const SharedObjectOptions& options = {});

// The same code as text, for people: assembly, or LLVM's IR after optimisation.
absl::StatusOr<std::string> EmitAssembly(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                         const SharedObjectOptions& options = {});
absl::StatusOr<std::string> EmitOptimizedIr(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                            const SharedObjectOptions& options = {});

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_SHARED_OBJECT_H_
