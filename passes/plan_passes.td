// The passes on plans in pipeline order, one record each, as in passes.td, which includes this file.
#ifndef SINTER_PASSES_PLAN_PASSES_TD
#define SINTER_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToPlan : Pass<"sinter-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "Turn functions on tensors into buffers and calls";
  let description = [{
    Each func.func becomes a plan.function: arguments become plan.input and plan.variable, every value a plan.alloc, every
    fusion and library op a plan.call. Reshapes and contiguous slices become views. An output without its own memory is
    copied. A variable's new value is copied to it at the end, through a second plan.variable: one plan.variable is one
    value, the old or the new. Copies become plan.copy, except copies of an input without a placement: each device that reads
    the input gets it directly. With `report`, a remark for each copy and each such input.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [Option<"report", "report", "bool", "false", "Report copies between devices, with the reason">];
}

def ChunkExchanges : Pass<"sinter-chunk-exchanges", "::mlir::ModuleOp"> {
  let summary = "Compute the rows around an exchange in parts, so that one part travels while the next is computed";
  let description = [{
    An `all_reduce` of one tensor over axes of the mesh is cut along its rows, with all calls around it that work by these rows
    and have no exchange between: each part of a call reads and writes its part of the whole buffers, so nothing is copied.
    All first parts up to the next exchange come first, then the second parts, beside which the first part of that exchange
    travels. Calls that need all rows, such as products that contract them, stay whole. Results stay the same.
    2, 4 or 8 parts: those with the shortest predicted time (passes/op_prices.h), if that is 2 % shorter than with whole
    exchanges. So exchanges that other work hides stay whole. Variants of a function get the same parts. A reduce_scatter and
    the all_gathers of its rows are all in parts, or none, and only if the rows are computed one by one in between.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [
    Option<"parts", "parts", "int64_t", "0", "0: as predicted; 1: none; n: cut every exchange that can be into n parts">,
    Option<"report", "report", "bool", "false", "Report exchanges in parts, and why others stay whole">
  ];
}

def PlanFragments : Pass<"sinter-plan-fragments", "::mlir::ModuleOp"> {
  let summary = "Lay out the memory of fragments, so that the loops that run them know their workspace";
  let description = [{
    Runs `order-calls`, `update-in-place` and `plan-memory` on each fragment, the body of an inner loop first. The bytes of a
    fragment's arena become the workspace of the loops that run it. Later runs of these passes leave fragments as they are.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [
    Option<"reuse", "reuse", "bool", "true", "As of plan-memory">,
    Option<"in_place", "in-place", "bool", "true", "Calls may overwrite inputs that die there, and carries">,
    Option<"report", "report", "bool", "false", "As of these passes">
  ];
}

def OrderCalls : Pass<"sinter-order-calls", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Order calls for a low memory peak, and to hide exchanges";
  let description = [{
    Compares three orders: the given one; the given one with calls that reduce the live bytes (such as sums of gradients and
    updates) as early as possible; and list scheduling, which takes the ready call that leaves the fewest bytes alive. Each
    order is also tried with late starts: calls whose results take more memory than they free run as late as possible. The
    order with the lowest peak wins; ties go to the fewest live bytes summed over all steps. Calls that compute a variable's
    new value come after the readers of the old value if possible, so that they can write in place; they then count as taking
    no memory. Each device's memory is counted separately.
    A collective of GPUs runs beside later steps. In a function with one, it starts as soon as its operands are ready, calls
    that wait for it come when no others are left, and the devices' calls alternate. Gathers that no call has read yet hold
    memory: each order is tried with two, four and eight of them. Then the predicted time counts too (passes/op_prices.h): an
    order that takes a tenth more memory must be faster by a fortieth.
  }];
  let options = [Option<"report", "report", "bool", "false", "Report the peak bytes before and after">];
}

def UpdateInPlace : Pass<"sinter-update-in-place", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Let calls and copies write the new values of variables directly";
  let description = [{
    Removes the copy of a new value to its variable if the step that computes the value (a call, or a copy from another
    device) can write the variable directly: no later step reads the old value, and if the call itself reads it, the two may
    share memory.
  }];
  let options = [
    Option<"enable", "enable", "bool", "true", "Remove copies">,
    Option<"report", "report", "bool", "false", "Report why other copies stay">
  ];
}

def StoreAgain : Pass<"sinter-store-again", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Let a later kernel store a value again instead of keeping it, where that is nearly free";
  let description = [{
    A GPU's value that is alive but unused at the memory peak is not kept if a later generated kernel reads all large values
    that it is computed from: that kernel computes it again, without reductions, and stores it for its later readers, which move
    behind the kernel. For example, the kernel of a layer norm's gradient stores the norm's result again, for the gradient of
    the weights that it was multiplied by. Another kernel may round a value otherwise.

    The price is the predicted time (passes/op_prices.h) of the bytes that the kernel moves in addition. The values with the
    most bytes for their price come first, as long as each lowers the peak, and the sum of their prices is at most `part` of the
    function's time. Functions whose peak is below `least-bytes`, and functions with exchanges between GPUs, stay as they are.
    Kernels that get another result may need another workspace: run `select-kernels` again.
    With `report`, a remark for each value.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [
    Option<"part", "part", "double", "0.005", "Most time that the values may add, as a part of the function's">,
    Option<"least_bytes", "least-bytes", "int64_t", "268435456", "Lowest peak at which values are stored again">,
    Option<"most_buffers", "most-buffers", "int64_t", "64", "Most buffers of a kernel">,
    Option<"in_place", "in-place", "bool", "true", "Calls may overwrite inputs that die there">,
    Option<"report", "report", "bool", "false", "Report the values">
  ];
}

def Rematerialise : Pass<"sinter-rematerialise", "::mlir::ModuleOp"> {
  let summary = "Recompute values instead of keeping them, until a memory limit is met";
  let description = [{
    While a function's arena, plus the device's variables, constants and inputs, takes more than `limit` bytes, one value that
    is alive but unused at the peak is recomputed before its next reader. Candidates are results of generated kernels, and of
    activations that a library applied, that can be computed from values that are available anyway. Among candidates that
    suffice alone, the one that moves the fewest bytes is taken; if none suffices, the one that saves the most bytes for each
    byte moved.

    A limit that cannot be met is an error that gives the lowest reachable limit and the largest values at the peak.
    With `report`, a remark for each recomputed value.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [
    Option<"limit", "limit", "int64_t", "0", "Maximum bytes of each device">,
    Option<"in_place", "in-place", "bool", "true", "Calls may overwrite inputs that die there">,
    Option<"report", "report", "bool", "false", "Report recomputed values">
  ];
}

def PlanMemory : Pass<"sinter-plan-memory", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Give every buffer an offset in the arena";
  let description = [{
    Live ranges are intervals of steps; a view extends its source's live range. A call's output takes over the memory of an
    input that dies there, if the call lists the pair. Larger blocks are placed first, each into the gap that it fills best,
    at multiples of 64 bytes. A call's workspace lives for that call. Operands of a GPU collective live until a step touches
    the collective's results, since it may still run. Every device has its own arena.

    Memory that two values share orders the steps that use them. A GPU runs steps side by side. If its arena then has at most
    `side-by-side-bytes`, values share memory, and calls overwrite inputs, only if the values alone order one's steps after
    the other's.
  }];
  let options = [
    Option<"reuse", "reuse", "bool", "true", "Buffers that are never alive together may share memory">,
    Option<"in_place", "in-place", "bool", "true", "Calls may overwrite inputs that die there">,
    Option<"side_by_side_bytes", "side-by-side-bytes", "int64_t", "0", "Maximum bytes of a GPU arena whose memory sharing adds no order of steps">,
    Option<"report", "report", "bool", "false", "Report the values alive at the peak">
  ];
}

def VerifyPlan : Pass<"sinter-verify-plan", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Check that every buffer is placed and read while it holds its value";
  let description = [{
    Tracks the value of every byte of arenas and variables, step by step, without code of the passes that plan the memory.
  }];
}

#endif  // SINTER_PASSES_PLAN_PASSES_TD
