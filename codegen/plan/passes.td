// The passes of codegen, one record each. The pass of record `Foo` is in foo.cc, its test in
// tests/codegen/plan/foo.mlir; the pass reference is generated from summary and description.
#ifndef SINTER_CODEGEN_PLAN_PASSES_TD
#define SINTER_CODEGEN_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectKernels : Pass<"sinter-select-kernels", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Choose the back end of each call, and its workspace";
  let description = [{
    Asks the back ends in the order of codegen/plan/backends.cc; the first that computes a call on its device gets it. Writes
    its name behind `by`, and the bytes of scratch memory that it needs to `workspace_bytes`. `emit`, dumps and reports
    look the name up and choose nothing. A call that has a name already is asked again.

    | back end | computes |
    |---|---|
    | `collective` | collectives of several devices |
    | `loop` | loops, by the fragment that each runs |
    | `cuda.catalog` | on GPUs: library ops with a hand-written kernel, and user kernels |
    | `cpu.user` | on CPUs: user kernels |
    | `library` | other library ops: cuBLASLt and cuDNN on GPUs, the kernels of kernels/cpu and oneDNN on CPUs |
    | `cuda.fused` `cpu.fused` | groups of fused ops |

    A call that no back end computes is an error with the user's line, as is a form of an op that its back end does not
    compute, with the reason. With `report`, a remark for each call.
  }];
  let options = [Option<"report", "report", "bool", "false", "Say the back end and the workspace of each call">];
}

#endif  // SINTER_CODEGEN_PLAN_PASSES_TD
