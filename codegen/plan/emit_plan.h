// Compiles a planned module to the bytes of a plan file.
//
// The module holds `sinter.variable`s and `plan.function`s with laid-out memory: every plan.alloc has its
// offset, every call its back end (sinter-select-kernels) and its workspace. EmitPlan compiles the generated
// code. The same module and options give the same bytes.
//
//   EmitOptions options{.targets = {target}, .name = "lenet"};
//   SINTER_ASSIGN_OR_RETURN(std::string bytes, EmitPlan(module, options));
#ifndef SINTER_CODEGEN_PLAN_EMIT_PLAN_H_
#define SINTER_CODEGEN_PLAN_EMIT_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/codegen/cpu/target_machine.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

struct EmitOptions {
  // CPU targets, best first; at least one (ParseCpuTargets). All targets share the steps, which do not depend
  // on a target.
  std::vector<CpuTarget> targets;
  std::string name;  // Name of the graph.
  std::string producer = "sinter 0.1.0";
  int opt_level = 3;  // LLVM's optimisation level: 0 to 3.
  int threads = 0;    // Compiler threads; 0: one a core. The bytes do not depend on it.
  std::vector<std::string> gpu_architectures;  // "sm_90"; see device_code.h.
  std::vector<std::string> whole_notes;        // Plan.whole_notes.
};

// Milliseconds that compilers take within EmitPlan: LLVM for CPUs, NVRTC for GPUs.
struct EmitTimes {
  double shared_object = 0, cubins = 0;
};

// Errors: INVALID_ARGUMENT for a module without memory layout and for a call without a back end;
// UNIMPLEMENTED for a library op in a form that its back end does not compute, and for constants that are not
// dense; RESOURCE_EXHAUSTED for more constants than a plan can hold. All name the user's line.
absl::StatusOr<std::string> EmitPlan(mlir::ModuleOp module, const EmitOptions& options,
                                     EmitTimes* times = nullptr);

enum class KernelText { kMlir, kLlvm, kOptimizedLlvm, kAssembly, kCuda };
// Returns the generated kernels of a planned module as text: exactly the kernels that EmitPlan compiles.
// Errors as EmitPlan's.
absl::StatusOr<std::string> DumpKernels(mlir::ModuleOp module, const EmitOptions& options, KernelText kind);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_EMIT_PLAN_H_
