// The passes on tensors in pipeline order, one record each, then those of fuse_passes.td and plan_passes.td.
// The pass of record `Foo` is in foo.cc, its test in tests/passes/foo.mlir. The pass reference is generated
// from summary and description.
#ifndef SINTER_PASSES_PASSES_TD
#define SINTER_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagatePlacement : Pass<"sinter-propagate-placement", "::mlir::ModuleOp"> {
  let summary = "Give every op and value a device";
  let description = [{
    Ops, arguments and variables with `sinter.device`, and copies, stay where the program places them. Everything else gets
    its device by the first of these rules that applies: the device of its first operand that has one; the device of its
    first user; for a variable, the device of its new value; `device`. Values computed only from constants follow their
    users: `place-constants` places them.

    An op whose operand is on another device is an error that names both lines. With `copies` automatic the operand is copied
    instead, once for each device. A rank-0 value or an input without a placement may be used on any device, with either
    setting. Copies from a device to itself are erased.

    Afterwards every op except constants has a device; if the whole program is on cpu:0, no op has one. Later passes keep the
    devices (ir/dialect/placed_builder.h). The pass runs for the user's program, and again after gradients were taken.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"device", "device", "std::string", "\"cpu:0\"", "Device of everything that the program does not place">,
    Option<"copies", "copies", "std::string", "\"explicit\"", "explicit: only the program copies; automatic: also this pass">
  ];
}

def VerifyPlacement : Pass<"sinter-verify-placement", "::mlir::ModuleOp"> {
  let summary = "Check that every op has its device and reads values of that device alone";
  let description = [{
    Changes nothing. An op without a device is an error, if it is not computed from constants alone, and so is an operand on
    another device, if the op is no copy. Both are mistakes of a pass. Runs after each pass with `verify_each_pass`.
  }];
}

def FoldTransposes : Pass<"sinter-fold-transposes", "::mlir::func::FuncOp"> {
  let summary = "Let matmuls read and write transposed matrices";
  let description = [{
    A matmul reads the operand of a transpose of the last two dimensions by `transpose_a` or `transpose_b`. A matmul whose only
    reader is such a transpose computes the transposed result, from exchanged operands. A transpose that also permutes leading
    dimensions, and has one reader, moves whole rows: the matmul exchanges the last two dimensions.
    Runs before `precision-policy`, whose casts would come between, and before `differentiate`: gradients have none either.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def CheckIndices : Pass<"sinter-check-indices", "::mlir::ModuleOp"> {
  let summary = "Keep the lowest and the highest index of every op that takes indices";
  let description = [{
    Adds a variable i64[3] for every `gather`, `take_along`, `scatter_add`, `scatter`, `one_hot` and `softmax_cross_entropy` of a
    runnable function, at the op's location. It holds the lowest index, the highest index, and the number of valid indices.
    The function assigns it in every run; the caller compares the values. In a loop it is of all trips. Ignored labels count as 0. An op without indices
    gets no variable. Names are `prefix`, the function and a number: "index_check/train/0".
    Runs before `differentiate`, while all ops are still the program's: gradients use the same indices.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [Option<"prefix", "prefix", "std::string", "\"index_check/\"", "Prefix of the variables' names">];
}

def PrecisionPolicy : Pass<"sinter-precision-policy", "::mlir::func::FuncOp"> {
  let summary = "Run matmuls, convolutions and the ops between them in bf16 or f16";
  let description = [{
    Applies the module's attribute `sinter.precision`, a type: bf16 or f16. With f32, or without the attribute, nothing
    changes. Only f32 values change. Contractions (matmuls and convolutions) get low-precision operands and results, and accumulate
    in f32. Of the ops between two contractions, these become low precision: pointwise ops, ops that move elements, copies,
    pools, and composites whose result has the type of their first operand, such as norms and dropout; the composites compute
    in f32 inside and keep their parameters and statistics in f32. Ops before the first contraction and after the last stay in
    f32: losses, returned values, and updates of variables. Reductions, and products with a math mode other than `ieee`,
    stay in f32 too.

    The bodies of loops are like functions: what they get and yield stays in f32, so that errors do not add up over the trips.

    A value is cast once in a function, after its definition. Runs before `differentiate`: the gradient of a cast is a cast,
    so the gradient of an f32 variable is f32. Gradients that the program asks for keep their types.
    With `report`, a remark for each cast, and for each contraction that stays in f32, with the reason.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [Option<"report", "report", "bool", "false", "Report casts and their reasons">];
}

def Float8Products : Pass<"sinter-float8-products", "::mlir::ModuleOp"> {
  let summary = "Multiply by weights in floats of 8 bits";
  let description = [{
    Applies the module's attribute `sinter.float8`, a dictionary; without it, nothing changes. A matmul of bf16 becomes a
    `float8_matmul` of its `recipe` if it is a linear layer: two matrices, the second of which is a variable, or a cast, transpose
    or reshape of one; sizes that are multiples of 16; weights of at least `least_features` rows and columns (256). Logits of a
    classification stay in bf16 unless `logits`, and so do variables with a name that has a part of `exclude`.
    Runs after `precision-policy`, which makes operands bf16, and before `differentiate`: a `float8_matmul` has the
    gradients of its recipe. `decompose` then makes the largest magnitudes, scales and casts, which fuse with their producers.

    It is an error if no matmul is such a layer, or if one is on a GPU and the plan is for an architecture that lacks its products.
    With `report`, a remark for each matmul, with the reason if it stays.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    ListOption<"without", "without", "std::string", "Architectures of the plan without products of 8-bit floats">,
    ListOption<"withoutRows", "without-rows", "std::string", "Those without products that have a scale for each row">,
    Option<"report", "report", "bool", "false", "Report each matmul">
  ];
}

def GroupBatchNorm : Pass<"sinter-group-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Let batch norms take their statistics from equal parts of the batch";
  let description = [{
    Every `batch_norm_training` gets `groups` groups: each part of the batch is normalised by its own mean and variance, and
    the running statistics follow the average over the parts. A batch that `groups` does not divide is an error.
  }];
  let options = [Option<"groups", "groups", "int64_t", "1", "Number of parts">];
}

def SegmentScans : Pass<"sinter-segment-scans", "::mlir::func::FuncOp"> {
  let summary = "Cut loops that a gradient passes into segments, which the gradient computes again";
  let description = [{
    A loop of T trips becomes a loop over segments, each of which is a loop of T / `segments` trips, rounded up; trips that are
    left are a segment of their own. The gradient then keeps the carries at the starts of the segments, and what the trips of
    one segment need at a time. Loops that end by data stay.
  }];
  let options = [
    Option<"segments", "segments", "int64_t", "1", "Segments of each loop">,
    Option<"report", "report", "bool", "false", "Remark on each loop that is cut">
  ];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def Differentiate : Pass<"sinter-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Replace sinter.gradients by the ops that compute them";
  let description = [{
    Reverse mode inside the function. Walks backwards over the ops between the `xs` and the loss, builds the gradient of each,
    and sums the gradients of values that are used more than once. Composites without their own gradient are decomposed
    first. A value that the loss does not depend on gets a gradient of zeros. Ops of the gradient have the location of their
    forward op, fused under the name "gradient".
    An op on the path without a gradient is an error that names the op and the user's line.
  }];
}

def Decompose : Pass<"sinter-decompose", "::mlir::func::FuncOp"> {
  let summary = "Replace composite ops by the simpler ops that define them";
  let description = [{
    Runs until no op with a decomposition is left. bf16 and f16 composites compute in f32 inside. Attention on a GPU stays
    whole if a library computes it without its scores in memory. One of few queries becomes few_queries_attention, which reads
    keys and values where a cache has them, and writes the position that the cache takes. A scaled_matmul stays whole if a
    library of every GPU of the plan computes it; others become matmuls of bf16.
  }];
  let options = [
    Option<"device", "device", "std::string", "\"cpu:0\"", "Device of ops without a placement">,
    Option<"widestHead", "widest-head", "int64_t", "128",
           "Width of heads up to which every GPU of the plan computes attention whole: 256 if all are of compute capability 9.x">,
    Option<"hopper", "hopper", "bool", "false",
           "Every GPU of the plan is of compute capability 9.0: mark attention for kernels that need it">,
    Option<"float8", "float8", "bool", "false",
           "Every GPU of the plan multiplies floats of 8 bits: compute capability 8.9 or newer">,
    Option<"float8Rows", "float8-rows", "bool", "false",
           "Every GPU of the plan does so with a scale for each row: compute capability 9.0">,
    Option<"report", "report", "bool", "false", "Report decomposed attention on GPUs, with the reason">
  ];
}

def ConcatAlongFirst : Pass<"sinter-concat-along-first", "::mlir::func::FuncOp"> {
  let summary = "Concatenate many large parts along the first dimension";
  let description = [{
    A concat of more than eight parts along a dimension other than the first becomes a concat along the first, between
    transposes, unless the parts are small. Each producer then writes its part in place.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def DropUnreadStats : Pass<"sinter-drop-unread-stats", "::mlir::func::FuncOp"> {
  let summary = "Compute attention without the statistics that no op reads";
  let description = [{
    An attention whose statistics, which only gradients read, have no reader is replaced by one that does not return them.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FoldConstants : Pass<"sinter-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Evaluate ops whose operands are all constants";
  let description = [{
    Evaluates pointwise ops element by element through the op's own scalar body, and index maps by moving elements, if the
    result is a splat or has at most `limit` elements. A splat stays a splat. Reductions are evaluated if they read at most
    `limit` elements; reductions of a splat, if at most `limit` elements are reduced to one. Elements are combined as a tree
    of neighbours. A reduction of no elements is not folded. 1 / 0 folds to its value at run time.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "1024", "Maximum elements of a folded result that is not a splat, and of the operand of a folded reduction">
  ];
}

def SplitLoops : Pass<"sinter-split-loops", "::mlir::func::FuncOp"> {
  let summary = "Take products out of loops that are one product for all trips";
  let description = [{
    What depends on invariants alone leaves the body, unless it is larger than they are.
    A product of slices with an invariant, also by way of ops that move or change single elements, becomes one product before
    the loop. A product with an invariant that is only stacked becomes one product behind it, and so does a product by rows
    that is only added to a carry, such as the gradient of weights: the loop stacks what it reads. An LSTM then has one product
    in each trip. The sums over trips are taken in another order than the loop's.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def NarrowLoops : Pass<"sinter-narrow-loops", "::mlir::func::FuncOp"> {
  let summary = "Let loops read, stack and carry the narrow types that products read";
  let description = [{
    A slice that is cast from a narrower type before the loop is cast by the body, and a stack that all its readers cast to a
    narrower type is cast by the body: fewer bytes pass the loop's border. If a body casts a carry to a narrower type, it also
    carries the narrow form, which the kernel that computes the carry writes beside it.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def CutVariables : Pass<"sinter-cut-variables", "::mlir::ModuleOp"> {
  let summary = "Cut variables along an axis of the mesh, or keep them as terms over it";
  let description = [{
    With `dims`: cuts the extents whose names (`sinter.dims`) are in the list. With `terms`: each rank keeps terms of sums of
    gradients over several runs. Without: cuts slots (level 1), these sums (2) and trainable variables (3) for storage alone,
    along their first dimension that the axis divides. Errors: an unknown axis, unknown names, and what does not divide.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"axis", "axis", "std::string", "\"\"", "The axis that cuts">,
    ListOption<"dims", "dims", "std::string", "Names of the dimensions to cut">,
    Option<"level", "level", "int64_t", "0", "1: slots; 2: also accumulated gradients; 3: also trainable variables">,
    Option<"leastBytes", "least-bytes", "int64_t", "0", "Variables with fewer bytes stay whole at all levels">,
    Option<"terms", "terms", "bool", "false", "Keep accumulated gradients that the axis does not cut as terms">,
    Option<"report", "report", "bool", "false", "Report variables that stay whole because nothing divides">
  ];
}

def Shard : Pass<"sinter-shard", "::mlir::ModuleOp"> {
  let summary = "Choose how the ranks of the mesh share each op";
  let description = [{
    The module's attribute `sinter.mesh` has the mesh; without it the pass does nothing. Every input of rank 1 or more that
    `whole` does not name is cut along dimension 0 into contiguous parts, one for each position along `axes`; variables have
    the parts of `sinter-cut-variables`. In program order, an op runs on the parts of its operands along a factor of its
    ir::FactorRule, if that gathers fewer bytes than the whole op would on every rank. Parts that exist for storage alone count
    only where no operand has others. If a factor that is summed is cut, the results are terms of a sum. Terms pass ops that are
    linear in them, if that makes fewer of them, and are combined before any other reader: on all ranks, or as the parts of a
    variable that is cut for storage. If a variable is kept as terms, its new value is computed on them. Then, in reverse order,
    an op that every rank would compute whole is computed in parts if all its readers want the same parts. A variable that is
    cut for storage is gathered where it is read, and again if much else was gathered in between.

    Along the axes of `rows`, terms of a value that has the examples of the batch become some of its rows on each rank, unless
    an op reads them that works with parts of variables. The examples of a rank's part are cut, or else the next dimension.
    Later ops run on the rows, up to such an op, which gathers them.
    Afterwards every value that is not whole on all ranks has the attribute `sinter.sharding`, and every operand has the sharding
    with which its op runs: `sinter.reshard` ops stand where these differ. Types do not change.
    A function that updates variables must have a batch that divides, or with `even` off more rows than ranks; any other function
    that does not is computed whole by every rank. Errors: exchanges of the program's own, an axis that the mesh lacks, different
    batches, a batch that does not divide.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    ListOption<"axes", "axes", "std::string", "The axes of the mesh that share the batch">,
    ListOption<"whole", "whole", "std::string", "Inputs that every rank gets whole">,
    Option<"even", "even", "bool", "true", "Refuse a batch to train on that does not divide">,
    ListOption<"rows", "rows", "std::string", "The axes of the mesh that share rows where they do not share variables">,
    Option<"strict", "strict", "bool", "false", "Refuse to gather what is cut neither for storage nor as rows, but for outputs">,
    Option<"report", "report", "bool", "false", "Report functions that every rank computes whole, and rows that stay whole">
  ];
}

def Localise : Pass<"sinter-localise", "::mlir::ModuleOp"> {
  let summary = "Rewrite functions with shardings into the one program that every rank of the mesh runs";
  let description = [{
    A function gets the types of a rank's parts, and names no rank. The rows that a rank reads of an input (`sinter.part`) and
    its position in whole values (arguments with `sinter.rank_value`) are numbers that each rank fills in. If parts differ in
    size, there is a variant of the function for each set of ranks with equal sizes (`sinter.ranks`), with equal exchanges.
    A `sinter.reshard` becomes an `all_reduce` of terms, an `all_gather` of parts, or the taking of a part, of which ops that can
    be built anywhere (broadcasts, random numbers) are built for the part alone. So values that ranks compute from combined
    values are equal on all ranks, to the bit, and the results are those of the whole batch on one device.

    Sums that only variables and outputs depend on, mainly gradients, travel together in buckets of up to `bucket_bytes`, in
    the order of the backward pass. The buckets are those whose exchanges end first by the predicted times of ops and exchanges
    (passes/partition/exchange_buckets.h). Their readers come last, in program order: a bucket travels while other ops run.
    Errors: several axes that cut one dimension together and do not divide it.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "Maximum bytes of a bucket">,
    Option<"copiedSumBytes", "copied-sum-bytes", "int64_t", "0", "Ranks add what they receive, in sums of this size; 0: where that is faster">,
    Option<"report", "report", "bool", "false", "Report gathers, with the reason">
  ];
}

def DropUnitDims : Pass<"sinter-drop-unit-dims", "::mlir::func::FuncOp"> {
  let summary = "Compute without a leading dimension of size 1 that a reshape adds";
  let description = [{
    A reshape from `[n, ...]` to `[1, n, ...]` moves after the pointwise ops and sums that read it, until another reshape
    removes the dimension or an op of another kind reads it. After `localise`, a rank with one group of a batch norm then
    computes the same as without groups: on images of four dimensions, which have a layout.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def OutlineLoops : Pass<"sinter-outline-loops", "::mlir::ModuleOp"> {
  let summary = "Make the bodies of loops functions of their own";
  let description = [{
    Every `scan` becomes a `loop`, and its region a private function before the one that it is in, the body of an inner loop
    before that of the outer one. From here on passes see straight lists of ops, and each body once, whatever its trips.
    The number of the trip becomes a slice of an iota, and constants other than splats become invariants: the plan's fragments
    have no constants. The ops of a body are on the loop's device; an op on another is an error with both lines.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def AssignLayouts : Pass<"sinter-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose the memory order of image tensors";
  let description = [{
    Rewrites convolutions, their gradients and pools to the chosen layout between transposes, then moves transposes through
    pointwise ops, pads, broadcasts and reductions until they cancel. The remaining ones are at the borders: the function's
    arguments and results keep the user's order, weights stay [C_out, C_in / groups, kh, kw]. A transpose that moves only
    dimensions of size 1 becomes a reshape.

    auto, on a CPU: nchw16n, which has kernels of its own, for a function with convolutions if all its image ops have f32,
    batches that are multiples of 16, no groups and at most 1 MiB of weights; otherwise nhwc.

    auto, on a GPU: for each group of image ops that share an order, nchw or nhwc, whichever is estimated to take less time.
    In nhwc a group has transposes where it meets ops that keep the user's order; in nchw it has the user's own transposes of
    images with channels last, and libraries transpose the images of convolutions of 16 bits.
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"auto\"", "auto, nchw16n, nhwc or nchw; nchw leaves the program as it is">
  ];
}

def GatherPixels : Pass<"sinter-gather-pixels", "::mlir::func::FuncOp"> {
  let summary = "Convolve blocks of pixels instead of pixels with a stride, on GPUs";
  let description = [{
    A strided convolution of few channels, such as the first one of photographs, becomes a convolution of pixel blocks without
    a stride: blocks of stride x stride pixels become channels, so that [n, 3, 224, 224] by 7 x 7 with stride 2 becomes
    [n, 115, 115, 16] by 4 x 4. A GPU's kernels process many channels of a pixel at once, and the window has a fraction of
    the taps. The gradient of the weights is rewritten likewise.

    Applies to 16-bit nhwc images on a GPU that come from a transpose of the user's order: blocks, padding and the cast are
    then one kernel. The convolution's padding becomes zeros of the images.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def PadChannels : Pass<"sinter-pad-channels", "::mlir::func::FuncOp"> {
  let summary = "Pad the channels of a GPU's convolutions to a multiple of 8";
  let description = [{
    A GPU's kernels for 16-bit nhwc images read eight channels at once. So the images and weights of such convolutions and of
    their gradients are padded with channels of zeros, if they have no groups, and gradients of these are sliced off.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def PadProducts : Pass<"sinter-pad-products", "::mlir::func::FuncOp"> {
  let summary = "Pad the sizes of matmuls to multiples of what a GPU's tensor cores read, where that saves time";
  let description = [{
    A GPU's library multiplies matrices of bf16, f16 and tf32 fast if their rows are multiples of 16 bytes. A matmul with other
    rows, such as one over a vocabulary of 50,257 words, becomes one of padded operands, with zeros in the padding of
    the terms, if this saves more time than the copies that it needs take (passes/layout/product_padding.h).
    The kernel that computes an operand stores it padded, and readers of the result take a part of it, so most padding needs
    no copy. Pointwise ops, broadcasts, reshapes and reductions between two padded values, such as a softmax and its gradient,
    compute padded values themselves, with a mask where the padding would count; so they stay one kernel, and with whole rows a
    faster one (passes/layout/wide_values.h). An infinity in an operand may become NaN in the rows that it is a term of.
    With `report`, a remark for each product with such rows.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"always", "always", "bool", "false", "Pad every product with such rows, also where copies cost more">,
    Option<"report", "report", "bool", "false", "Report products that are padded, and why others are not">
  ];
}

def ChunkRows : Pass<"sinter-chunk-rows", "::mlir::func::FuncOp"> {
  let summary = "Compute large matmuls and the work on their rows in chunks of rows";
  let description = [{
    Computes a matmul of two matrices whose result takes more than `bytes`, such as logits over a vocabulary, in chunks of
    rows, together with all ops that work on its rows: the loss of each row, the logits' gradient, and the matmuls that
    contract it. Results by rows are concatenated. Matmuls and sums over the rows are accumulated at least in f32, in the
    order of the chunks; on a GPU the matmuls add to the sum directly. So the whole result is never in memory. All chunks but
    the last are equal; each has a multiple of 128 rows, at least `min-rows`: fewer would make the matmuls inefficient.

    The matmul stays whole if an op reads all of its result, or if a sum over all rows is needed for the same rows.
    With `report`, a remark for each chunked matmul, and for each one that stays whole, with the reason.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0", "Maximum bytes of a result that is computed at once; 0: unlimited">,
    Option<"min_rows", "min-rows", "int64_t", "2048", "Minimum rows of a chunk">,
    Option<"report", "report", "bool", "false", "Report chunked matmuls, and why others stay whole">
  ];
}

include "sinter/passes/fuse_passes.td"
include "sinter/passes/plan_passes.td"

#endif  // SINTER_PASSES_PASSES_TD
