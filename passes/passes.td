// The passes, one record each, in pipeline order. The pass of record `Foo` is in foo.cc, its test in
// tests/passes/foo.mlir; the pass reference is generated from summary and description.
#ifndef SINTER_PASSES_PASSES_TD
#define SINTER_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagatePlacement : Pass<"sinter-propagate-placement", "::mlir::ModuleOp"> {
  let summary = "Say of every op and value on which device it is";
  let description = [{
    What the program places stays there: ops, arguments and variables with `sinter.device`, and copies. The rest is, in this
    order, where its first operand that has a place is; where its first user is; a variable where its new value is
    computed; on `device`. What is computed from constants alone follows its users: `place-constants` gives it its places.

    An op whose operand is on another device is an error that names both lines, unless `copies` is automatic: then the
    operand is copied, once a device. A rank-0 value and an input that nothing places are taken wherever they are used, in
    any case. Copies between a device and itself go away.

    Afterwards everything but constants has its device; or nothing has, when all of the program is on cpu:0. Passes may
    leave out the devices of ops that they make, as long as those read what the ops that they replace could read: the
    pass runs again after them.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"device", "device", "std::string", "\"cpu:0\"", "Where everything goes that the program does not place">,
    Option<"copies", "copies", "std::string", "\"explicit\"", "explicit: only the program copies; automatic: also this pass">
  ];
}

def CheckIndices : Pass<"sinter-check-indices", "::mlir::ModuleOp"> {
  let summary = "Keep the lowest and the highest index of every op that takes indices";
  let description = [{
    For every `gather`, `take_along`, `scatter_add`, `one_hot` and `softmax_cross_entropy` of a function that can be run, a
    variable i64[3] at the op's location: the lowest of its indices, the highest, and how many there may be. The function
    gives it its value in every run, and whoever runs it compares. Labels that are ignored count as 0; an op without indices
    gets no variable. Variables are named `prefix`, the function, and a number: "index_check/train/0".

    Runs before `differentiate`, while every op is one that the program wrote: gradients take the same indices.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [Option<"prefix", "prefix", "std::string", "\"index_check/\"", "What the variables' names begin with">];
}

def PrecisionPolicy : Pass<"sinter-precision-policy", "::mlir::func::FuncOp"> {
  let summary = "Run matrix products, convolutions and what lies between them in bf16 or f16";
  let description = [{
    Follows the module's attribute `sinter.precision`, a type: bf16 or f16; f32, or none, leaves everything as it is. Only
    values of f32 change. Products (ops that have a math mode) get narrow operands and results, and accumulate in f32. Of
    the ops between two of them, narrow become pointwise ops, ops that move elements, copies, pools, and composites whose
    result has the type of their first operand, such as norms and dropout: these compute in f32 inside and keep their
    parameters and statistics in f32. What is before the first product and behind the last stays in f32: losses, what
    is returned, and what updates variables. So do reductions, and products whose math mode is not `ieee`.

    A value is cast once in a function, where it is made. Runs before `differentiate`: the gradient of a cast is a cast, so
    that the gradient of a variable of f32 is of f32. Gradients that the program asks for keep their types.
    With `report`, a remark for each cast and for each product that stays as it is, with the reason.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [Option<"report", "report", "bool", "false", "Say what is cast, and why">];
}

def GroupBatchNorm : Pass<"sinter-group-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Let batch norms take their statistics from equal parts of the batch";
  let description = [{
    Every `batch_norm_training` gets that many groups: each part of the batch is normalised by its own mean and variance, and
    the running statistics follow the average of the parts'. With as many groups as devices no device needs another's
    images. A batch that `groups` does not divide is an error.
  }];
  let options = [Option<"groups", "groups", "int64_t", "1", "How many parts">];
}

def Differentiate : Pass<"sinter-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Replace sinter.gradients by the ops that compute them";
  let description = [{
    Reverse mode inside the function. Walks backwards over the ops that lie between the `xs` and the loss, asks each for
    its gradient and sums where a value was used more than once. Composites without a gradient of their own are
    decomposed first. A value that the loss does not depend on gets a gradient of zeros. Ops of the gradient carry the
    location of the forward op they belong to, fused under the name "gradient".

    An op on the path that has no gradient is an error that names the op and the user's line.
  }];
}

def Decompose : Pass<"sinter-decompose", "::mlir::func::FuncOp"> {
  let summary = "Replace composite ops by the simpler ops that define them";
  let description = [{
    Runs until no op with a decomposition is left. bf16 and f16 composites compute in f32 inside. A concat of many large
    parts along another dimension than the first becomes one along the first, between transposes.

    Attention on a GPU stays whole where a library computes it without its scores in memory; statistics that nobody reads
    go. With `report`, a remark for each attention on a GPU that does not stay whole, with the reason.
  }];
  let options = [
    Option<"device", "device", "std::string", "\"cpu:0\"", "Where ops run that nothing places">,
    Option<"report", "report", "bool", "false", "Say which attentions on GPUs are decomposed, and why">
  ];
}

def FoldConstants : Pass<"sinter-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Evaluate ops whose operands are all constants";
  let description = [{
    Evaluates pointwise ops element by element through the op's own scalar body, and index maps by moving elements, as
    long as the result is a splat or has at most `limit` elements. A splat stays a splat. Reductions are evaluated when
    at most `limit` elements are read; those of a splat, when at most `limit` elements are reduced to one. Neighbours are
    combined first, then their neighbours; a reduction of no elements is left alone.

    Infinities and NaN are values as any other: 1 / 0 folds to what it is at run time.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "1024", "Most elements of a folded result that is not a splat; most elements that a folded reduction reads">
  ];
}

def Partition : Pass<"sinter-partition", "::mlir::ModuleOp"> {
  let summary = "Run one program on several devices, each with a part of the batch";
  let description = [{
    Every input of rank 1 or more is cut along dimension 0 in contiguous parts that differ by at most one, one a device; inputs
    that `whole` names, and those of rank 0, go to all. Variables are kept on every device. An op of which some operand is
    cut runs on the parts where its ir::SplitRule says how; results that are then sums over the parts are combined by
    `all_reduce`; where an op needs all of the batch, an `all_gather` gives it to every device. So what each device computes
    from combined values is the same on all, to the bit, and the results are those of the whole batch on one device.

    Sums that only variables and outputs are computed from, gradients above all, travel together: buckets of up to `bucket_bytes`,
    in the order in which backward computes them. Their readers come behind everything else, in program order: no bucket has to
    leave before it is full, and each travels while the rest is computed. Such sums that are only added to each other, the gradients
    of a variable that is read more than once, are added first and travel as one.

    `scale` says what the sum over the devices is for gradients of a loss that is a mean over the batch: `global-mean` the mean over
    all examples; `mean-of-means` the mean of each device's mean; `sum` the sum of those. `update`: `replicated` computes
    every variable's new value on all devices; `main` on the first alone, which receives the gradients and sends the new
    values; variables that nothing else reads, such as an optimizer's, are then only there.

    A program that places anything itself is an error, and so are inputs of unequal first dimensions, and with `even` a
    batch that the devices do not divide.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    ListOption<"devices", "devices", "std::string", "The devices, such as gpu:0,gpu:1; the first one is main">,
    ListOption<"whole", "whole", "std::string", "Inputs of which every device gets all">,
    Option<"scale", "scale", "std::string", "\"global-mean\"", "global-mean, mean-of-means or sum">,
    Option<"update", "update", "std::string", "\"replicated\"", "replicated or main">,
    Option<"even", "even", "bool", "true", "Refuse a batch that the devices do not divide">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "Most bytes that travel together">,
    Option<"report", "report", "bool", "false", "Say where the whole batch is gathered, and why">
  ];
}

def DropUnitDims : Pass<"sinter-drop-unit-dims", "::mlir::func::FuncOp"> {
  let summary = "Compute without the dimension of size 1 that a reshape puts in front";
  let description = [{
    A reshape from `[n, ...]` to `[1, n, ...]` moves behind the pointwise ops and sums that read it, until another reshape takes
    the dimension away again or an op of another kind reads it. After `partition` a device that has one group of a batch
    norm computes what it would alone: on images of four dimensions, which have a layout.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def AssignLayouts : Pass<"sinter-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose the memory order of image tensors";
  let description = [{
    Rewrites convolutions, their gradients and pools to the wanted layout between transposes, then moves transposes
    through pointwise ops, pads, broadcasts and reductions until they cancel. What is left stays at the borders: the
    function's arguments and results keep the user's order, weights stay [C_out, C_in / groups, kh, kw]. A transpose that
    only moves dimensions of size 1 becomes a reshape.

    auto: nchw16n, which has kernels of its own, for a function that convolves, when all its image ops are of f32, have
    batches that are multiples of 16, no groups and at most 1 MiB of weights; nhwc for all others.

    On a GPU, images of 16-bit types in nhwc whose channels are no multiple of 8 get channels of zeros for a convolution, and
    its weights too.
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"auto\"", "auto, nchw16n, nhwc or nchw; nchw leaves the program as it is">
  ];
}

def ChunkRows : Pass<"sinter-chunk-rows", "::mlir::func::FuncOp"> {
  let summary = "Compute large products whose rows are worked on one by one in chunks of rows";
  let description = [{
    A product of two matrices whose result takes more than `bytes`, as logits over a vocabulary do, is computed some rows
    at a time, together with all that works on its rows: the loss of each row, the logits' gradient, and the products
    that contract that away. What they give by rows is joined; products and sums over the rows are added up in f32 at
    least, in the order of the chunks; on a GPU the products add to the sum themselves. So all of the result is never in
    memory. Chunks are equal but for the last, and have a multiple of 128 rows, at least `min-rows`: fewer would cost
    the products efficiency.

    The product stays whole where something reads all of its result or a sum of all rows is needed for the same rows.
    With `report`, a remark for each product that is cut, and one with the reason for each that is not.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0", "Most bytes of a result that are computed at once; 0: any number">,
    Option<"min_rows", "min-rows", "int64_t", "2048", "Fewest rows of a chunk">,
    Option<"report", "report", "bool", "false", "Say what is cut in chunks, and why the rest is not">
  ];
}

def FuseEpilogue : Pass<"sinter-fuse-epilogue", "::mlir::func::FuncOp"> {
  let summary = "Let matmul and conv2d add the bias and apply the activation";
  let description = [{
    Takes the broadcast add of a bias, then relu, gelu, gelu_tanh, sigmoid, tanh or silu, into the library op before it,
    when the value in between has no other use. On a GPU, in bf16 and f16, the gradient of gelu_tanh too
    goes into the product before it (passes/fuse/gelu_gradient.h). What a scatter_add onto zeros is added to takes the zeros' place.
    With `report`, each refusal becomes a remark that gives the reason.
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Say why an epilogue was not fused">
  ];
}

def FuseUpdate : Pass<"sinter-fuse-update", "::mlir::func::FuncOp"> {
  let summary = "Let the product that gives a gradient update the variable";
  let description = [{
    On a GPU, where the new value of a variable of f32 with 2^20 elements or more is `w - rate * product` or `w + rate * product`
    and nothing else reads the product, the product gets w as its addend and the rate, with its sign, as its scale: the
    gradient is never in memory, and w is updated in place. The rate is a constant, or a number that is broadcast.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def KeepCasts : Pass<"sinter-keep-casts", "::mlir::ModuleOp"> {
  let summary = "Keep variables in the narrow types in which products read them";
  let description = [{
    A variable of f32 that some function casts to bf16 or f16 for a library op (a product, a convolution, attention, a copy) is
    kept in that type as well: another variable, a replica of it (`sinter.replica_of`), on the same device. Wherever the
    variable's value is cast to the type, the replica is read instead; wherever the variable is assigned, the new value is cast
    and assigned to the replica, so that the kernel of an optimizer writes both. The bits are those of a cast in each run.

    Nothing changes where the cast is read by ops of generated kernels alone, which cast while they read, and where some
    function's new value is made by a library op or read from elsewhere, so that casting it would take a kernel as before.
    With `report`, a remark for each replica, and one for each such function. Runs after `fuse-update`, which makes updates
    library ops.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [Option<"report", "report", "bool", "false", "Say what is kept, and what is not and why">];
}

def MoveReshapes : Pass<"sinter-move-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Move reshapes out of chains of pointwise ops";
  let description = [{
    A reshape that regroups dimensions is a view of memory and ends a fused loop. Where pointwise ops start from
    function arguments, library calls or constants, the reshape moves before them; else, behind the pointwise op that
    alone reads it. A reshape that only adds or drops dimensions of size 1 is no boundary and stays.
  }];
}

def PlaceConstants : Pass<"sinter-place-constants", "::mlir::ModuleOp"> {
  let summary = "Give every device its own constants";
  let description = [{
    What is computed from constants alone, and was left without a device by `propagate-placement`, is copied to each device
    that uses it. Nothing happens in a program on cpu:0 alone.
  }];
}

def Fuse : Pass<"sinter-fuse", "::mlir::func::FuncOp"> {
  let summary = "Group loops into kernels";
  let description = [{
    Groups fusible ops and reductions into sinter.fusion ops, one generated kernel each. What a group may be says
    ir/fusion/fusion_domain.h: a map, a row kernel (reductions along the same dimensions with what feeds and follows them), or
    several maps side by side. Producers join their readers when that is one loop nest, makes no cycle, computes nothing
    expensive twice and leaves enough rows for the threads; kernels that loop over the same large value become one; the
    pointwise updates of all variables become one, or as many as `most-buffers` asks for. Constants, iotas and cheap index maps are copied into every reader.
    On a GPU the gradient of an average pool whose windows lie side by side is an index map, where only such ops read it, and cheap
    values that no one kernel can hold with all their readers are computed again by each of them, in place of stored. A row
    kernel over many rows there sums their columns as well.

    Afterwards every op is a sinter.fusion, a library op, a reshape, a constant that is not a splat, or the return.
    With `report`, a remark for each kernel, and one for each value that is stored between two, with the reason.
  }];
  let options = [
    Option<"enable", "enable", "bool", "true", "Whether to group at all; otherwise each op is a kernel of its own">,
    Option<"most_ops", "most-ops", "int64_t", "256", "Most ops in a kernel: values must fit registers and caches">,
    Option<"most_buffers", "most-buffers", "int64_t", "4095",
           "Most values that a kernel reads and writes: a kernel of a GPU has so many pointers. One loop of a CPU has 32 at most">,
    Option<"report", "report", "bool", "false", "Say what was fused, and why the rest was not">
  ];
}

def LowerToPlan : Pass<"sinter-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "Turn functions on tensors into buffers and calls";
  let description = [{
    Each func.func becomes a plan.function: arguments become plan.input and plan.variable, every value a plan.alloc, every
    fusion and library op a plan.call. Reshapes and contiguous slices become views. An output that is not memory of its
    own is copied. A variable's new value is copied to it at the end, under a second plan.variable: one plan.variable is
    one value, the old or the new. Copies become plan.copy, except that an input which nothing places is given to each
    device that reads it. With `report`, a remark for each of both.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [Option<"report", "report", "bool", "false", "Say what is copied between devices, and why">];
}

def Schedule : Pass<"sinter-schedule", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Order calls for a low peak of memory";
  let description = [{
    Compares the given order; the same with calls that leave fewer bytes alive than there were as early as they can come, such as
    sums of gradients and updates; and list scheduling: of the calls that may come next, the one that leaves the fewest
    bytes alive. In each, calls whose results take more memory than they let go start as late as they can. The order with
    the lowest peak is taken; of equal ones, that with the fewest bytes alive at all steps together. Calls that compute a
    variable's new value come after the readers of the old one where possible, so that they can write in place: then they
    count as taking no memory. Each device's memory counts by itself.

    A collective of GPUs runs beside the steps behind it. In a function with one, it starts as soon as its operands are there,
    calls that wait for it come when no other is left, and the devices' calls alternate.
  }];
  let options = [Option<"report", "report", "bool", "false", "Say the bytes alive at most, before and after">];
}

def UpdateInPlace : Pass<"sinter-update-in-place", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Let calls and copies write the new values of variables directly";
  let description = [{
    Removes the copy of a new value to its variable when the step that makes it, a call or a copy from another device, can
    write the variable: nobody reads the old value later, and where the call itself does, the two may share memory.
  }];
  let options = [
    Option<"enable", "enable", "bool", "true", "Whether to remove any copy">,
    Option<"report", "report", "bool", "false", "Say why the other copies stay">
  ];
}

def Rematerialise : Pass<"sinter-rematerialise", "::mlir::ModuleOp"> {
  let summary = "Compute values again rather than keep them, until a limit of memory holds";
  let description = [{
    While a function's arena, with the device's variables, constants and inputs, takes more than `limit` bytes: of what is alive
    at the peak and not used there, one value is computed again in front of its next reader. Candidates are results of
    generated kernels, and of activations that a library applied, that follow from values which are there anyway. The one is
    taken that moves the fewest bytes, if it is enough by itself, else the one that saves the most bytes for those it moves.

    A limit that cannot be kept is an error that says the least that can be reached, and what is largest at the peak.
    With `report`, a remark for each value that is computed again.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect", "::sinter::plan_ir::PlanDialect"];
  let options = [
    Option<"limit", "limit", "int64_t", "0", "Most bytes of each device">,
    Option<"in_place", "in-place", "bool", "true", "Whether calls may write over inputs that die there">,
    Option<"report", "report", "bool", "false", "Say what is computed again">
  ];
}

def PlanMemory : Pass<"sinter-plan-memory", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Give every buffer its place in the arena";
  let description = [{
    Lifetimes are intervals of steps; a view extends its source's. A call's output takes over the memory of an input that
    dies there, when the call lists the pair. Larger blocks are placed first, each into the gap that it fills best, at
    multiples of 64 bytes; a call's workspace lives for that call. What a collective of GPUs reads lives until a step touches
    its results, since it may still run. Every device has an arena of its own.

    Memory that two values share orders the steps that use them. A GPU runs steps side by side: there, if its arena has at most
    `side-by-side-bytes` for that, values share memory, and calls write over inputs, only where the values alone say that one's
    steps come after the other's.
  }];
  let options = [
    Option<"reuse", "reuse", "bool", "true", "Whether buffers that are never alive together may share memory">,
    Option<"in_place", "in-place", "bool", "true", "Whether calls may write over inputs that die there">,
    Option<"side_by_side_bytes", "side-by-side-bytes", "int64_t", "0", "Arenas of GPUs up to these bytes order no steps">,
    Option<"report", "report", "bool", "false", "Say what is alive at the peak">
  ];
}

def VerifyPlan : Pass<"sinter-verify-plan", "::sinter::plan_ir::FunctionOp"> {
  let summary = "Check that every buffer is placed and read while it holds its value";
  let description = [{
    Runs through the steps, keeping for every byte of the arena and the variables whose contents it holds. Shares nothing
    with the passes that laid the memory out.
  }];
}

#endif  // SINTER_PASSES_PASSES_TD
