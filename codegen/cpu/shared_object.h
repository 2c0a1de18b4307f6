// Compiles an LLVM module to a shared object: optimised, vectorised, without dependencies.
//
// Contract: the module's functions with external linkage keep their names and are exported; all other symbols
// are hidden. Math functions become the inlined vector math of kernels/cpu/math/vector_math.h: llvm.*
// intrinsics, calls by C name (expf, tanh, atan2f, ...), frem, and conversions to 16-bit floats. A module may
// also declare and call the sn_* functions directly. The result needs no other library. The same module,
// target and options give the same bytes for every number of threads. Thread-safe.
//
//   SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Host());
//   SINTER_ASSIGN_OR_RETURN(std::string bytes, EmitSharedObject(std::move(module), target));
//   // memfd_create, write, dlopen("/proc/self/fd/N"), dlsym(handle, "my_kernel").
//
// Errors: INVALID_ARGUMENT names a called function that has no definition. INTERNAL: the module is malformed,
// or LLVM or the linker failed.
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

  // Threads that optimise parts of the module in parallel; 0: one a core.
  int threads = 0;

  // Exported functions in a part. The bytes depend on this number. Functions that share a private function or
  // constant stay in one part.
  int functions_per_part = 8;
};

absl::StatusOr<std::string> EmitSharedObject(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                             const SharedObjectOptions& options = {});

// Returns the same code as readable text: assembly, or LLVM IR after optimisation.
absl::StatusOr<std::string> EmitAssembly(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                         const SharedObjectOptions& options = {});
absl::StatusOr<std::string> EmitOptimizedIr(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                            const SharedObjectOptions& options = {});

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_SHARED_OBJECT_H_
