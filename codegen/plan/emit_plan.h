// From a planned module to the bytes of a plan file.
//
// The module holds `sinter.variable`s and `plan.function`s whose memory is laid out (every plan.alloc has its offset,
// every call its workspace). Generated code is compiled on the way. The same module and options give the same bytes.
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
#include "sinter/codegen/loops/loop_target.h"

namespace sinter::codegen {

struct EmitOptions {
  // Targets of the code for CPUs: best first, at least one (ParseCpuTargets). All share the steps, which depend on none of them.
  std::vector<CpuTarget> targets;
  std::string name;  // The graph's.
  std::string producer = "sinter 0.1.0";
  int opt_level = 3;  // Of LLVM: 0 to 3.
  int threads = 0;    // Threads that compile; 0: one for each core. The bytes do not depend on it.
  std::vector<std::string> gpu_architectures;  // Targets of kernels for GPUs: "sm_90".
};

// Milliseconds of EmitPlan that compilers take: LLVM for CPUs, NVRTC for GPUs.
struct EmitTimes {
  double shared_object = 0, cubins = 0;
};

// INVALID_ARGUMENT for a module that is not laid out; UNIMPLEMENTED for a library op that the CPU has no kernel for, and for
// constants that are not dense; RESOURCE_EXHAUSTED for more constants than a plan holds. All name the user's line.
absl::StatusOr<std::string> EmitPlan(mlir::ModuleOp module, const EmitOptions& options,
                                     EmitTimes* times = nullptr);

enum class KernelText { kMlir, kLlvm, kOptimizedLlvm, kAssembly, kCuda };
// The generated kernels of a planned module, to read.
absl::StatusOr<std::string> DumpKernels(mlir::ModuleOp module, const EmitOptions& options, KernelText kind);

// Bytes of workspace that a call needs: what the pass select-kernels writes to the call.
absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call);
// How the call's device cuts the jobs of fused calls.
const LoopTarget& LoopTargetOf(plan_ir::CallOp call);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_EMIT_PLAN_H_
