// The passes that group ops into kernels, in pipeline order, as in passes.td, which includes this file.
#ifndef SINTER_PASSES_FUSE_PASSES_TD
#define SINTER_PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseGeluGradient : Pass<"sinter-fuse-gelu-gradient", "::mlir::func::FuncOp"> {
  let summary = "Compute the gradient of gelu_tanh in the matmul before it, on GPUs";
  let description = [{
    A matmul of bf16 or f16 whose only reader multiplies it by the derivative of gelu_tanh becomes, with that multiplication,
    a sinter.matmul_grad, if cuBLASLt supports it. The ops that computed the derivative are left without readers.
    Other epilogues of cuBLASLt were slower than separate kernels (docs/performance-notes.md).
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseEpilogue : Pass<"sinter-fuse-epilogue", "::mlir::func::FuncOp"> {
  let summary = "Let matmul and conv2d add the bias and apply the activation";
  let description = [{
    Fuses the broadcast add of a bias, then relu, gelu, gelu_tanh, sigmoid, tanh or silu, into the library op before it, if
    the value in between has no other use.
  }];
  let options = [
    Option<"report", "report", "bool", "false", "Report why an epilogue was not fused">
  ];
}

def FuseScatterAdd : Pass<"sinter-fuse-scatter-add", "::mlir::func::FuncOp"> {
  let summary = "Let scatter_add add to the value that its result is added to";
  let description = [{
    A scatter_add onto zeros whose only reader adds the result to a value scatters onto that value instead.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def FuseUpdate : Pass<"sinter-fuse-update", "::mlir::func::FuncOp"> {
  let summary = "Let the matmul that computes a gradient update the variable";
  let description = [{
    On a GPU, if the new value of an f32 variable with 2^20 elements or more is `w - rate * matmul` or `w + rate * matmul`
    and nothing else reads the product, the matmul gets w as its addend and the signed rate as its scale: the gradient is
    never in memory, and w is updated in place. The rate is a constant, or a number that is broadcast.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def KeepCasts : Pass<"sinter-keep-casts", "::mlir::ModuleOp"> {
  let summary = "Keep variables also in the low-precision types that library ops read";
  let description = [{
    An f32 variable that some function casts to bf16 or f16 for a library op (a matmul, a convolution, attention, a copy) is
    kept in that type as well: another variable, its replica (`sinter.replica_of`), on the same device. Casts of the
    variable's value to the type read the replica instead. Assignments of the variable also cast the new value and assign it
    to the replica, so that the kernel of an optimizer writes both. The bits equal those of a cast in each run.

    Nothing changes if only ops of generated kernels read the cast, because they cast while they read, or if some function's
    new value comes from a library op or from elsewhere, because casting it would take a kernel as before.
    With `report`, a remark for each replica, and for each such function. Runs after `fuse-update`, which turns updates into
    library ops.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [Option<"report", "report", "bool", "false", "Report replicas, and why others are not kept">];
}

def RefineDims : Pass<"sinter-refine-dims", "::mlir::func::FuncOp"> {
  let summary = "Split dimensions of loops so that reshapes between them disappear";
  let description = [{
    A reshape that regroups dimensions ends a fused loop. Where loops come before and behind it, both get the factors of their
    common refinement: the sum along the last dimension of `reshape(x [512, 2, 53, 7] -> [512, 742])` becomes a sum of x along
    three dimensions. The split follows pointwise ops, broadcasts, transposes, reductions, slices, concats, pads and lookups to
    the edges of the loops, where a reshape is a view of memory. Generated kernels merge factors again that every access
    traverses as one. Dimensions of size 1 that reshapes between loops add or drop disappear as well.
    A reshape stays if the shapes have no common refinement ([4, 3] and [6, 2]), or if an op needs the whole dimension: an
    iota or an index along it, a slice that does not begin and end at multiples of the inner factors, an updated variable.
    It also stays behind a map of elements that is stored for a library op, which loops read in memory, where loops over
    repeated elements would be shorter than a vector, and on a CPU if a dimension that is reduced would split: loops over
    several short dimensions take longer than storing a value in the caches.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def MoveReshapes : Pass<"sinter-move-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Move reshapes out of chains of pointwise ops";
  let description = [{
    A reshape that regroups dimensions ends a fused loop. If the pointwise ops before it start from function arguments, library
    calls or constants, it moves before them, otherwise after its only reader, if that is pointwise. A reshape that only adds
    or drops dimensions of size 1 stays.
  }];
}

def PlaceConstants : Pass<"sinter-place-constants", "::mlir::ModuleOp"> {
  let summary = "Give every device its own constants";
  let description = [{
    Values computed only from constants are copied to each device that uses them, unless the program is only on cpu:0.
  }];
}

def SpreadPoolGradients : Pass<"sinter-spread-pool-gradients", "::mlir::func::FuncOp"> {
  let summary = "Rewrite gradients of average pools as index maps, on GPUs";
  let description = [{
    If the windows of an average pool on a GPU do not overlap and have no padding, every element of its gradient is an element
    of the result's gradient, divided. Where only fusible ops read the gradient, it becomes a broadcast, a reshape, a pad and a
    division: kernels that read it compute it in place. A CPU's pool kernels are faster than fused loops.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def GatherScatters : Pass<"sinter-gather-scatters", "::mlir::func::FuncOp"> {
  let summary = "Rewrite scatter_adds with known indices as gathers, on GPUs";
  let description = [{
    If the indices of a scatter_add on a GPU are constants and each place gets few updates, every element of the result is the
    sum of the updates of its place, in their order: a gather for the first update of each place, one for the second, and so
    on. Kernels that read the result compute it in place, where the scatter_add would be a kernel between two others. So are
    gradients of resized images.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
}

def PackMasks : Pass<"sinter-pack-masks", "::mlir::func::FuncOp"> {
  let summary = "Store masks that gradients read as bits, on GPUs";
  let description = [{
    The gradient of relu, of clamp and of other ops with branches selects by a mask: a comparison of a value that an earlier
    kernel computed. If library calls are between the two kernels, the later one reads the value again, 16 bits an element of
    which it needs one, or the mask is stored, a byte an element. Where that moves fewer bytes, the earlier kernel also stores
    the mask in bits: eight elements of a row are a sum of bits shifted to their places, and the later kernel shifts and tests
    the bits. The masks are equal; a kernel that reads fewer bytes may cut its sums in other chunks.

    The value is still read in full if the later kernel needs it for more than the mask, and not at all if the kernel computes
    it again from what it reads anyway. Masks stay as they are if `least-bytes` are not saved, if their last dimension is not a
    multiple of 8, if more than pointwise ops and broadcasts lead from values in memory to them, or if another kernel
    needs a value between in the order that it has. With `report`, a remark for each mask: the bytes, or why it is not packed.
    Runs right before `fuse`: the split of dimensions into bytes and bits does not spread to other kernels.
  }];
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let options = [
    Option<"least_bytes", "least-bytes", "int64_t", "8388608", "Minimum bytes that a packed mask does not move">,
    Option<"report", "report", "bool", "false", "Report masks, and why some are not packed">
  ];
}

def Fuse : Pass<"sinter-fuse", "::mlir::func::FuncOp"> {
  let summary = "Group loops into kernels";
  let description = [{
    Groups fusible ops and reductions into sinter.fusion ops, one generated kernel each. ir/fusion/fusion_domain.h defines legal
    groups: a map, a row kernel (reductions along the same dimensions with their producers and consumers), or several maps
    side by side. A producer joins its reader if that is one loop nest, makes no cycle, computes nothing expensive twice and
    leaves enough rows for the threads. Kernels that loop over the same large value are merged. The pointwise updates of all
    variables become one kernel, or several if `most-buffers` requires it. Constants, iotas and cheap index maps are copied
    into every reader.
    On a GPU, cheap values that no single kernel can hold with all their readers are recomputed by each reader instead of
    stored, and a row kernel over many rows also sums their columns.

    Afterwards every op is a sinter.fusion, a library op, a reshape, a constant that is not a splat, or the return.
    With `report`, a remark for each kernel, and for each value that is stored between two kernels, with the reason.
  }];
  let options = [
    Option<"enable", "enable", "bool", "true", "Group ops; if false, each op is a separate kernel">,
    Option<"most_ops", "most-ops", "int64_t", "256", "Maximum ops of a kernel: values must fit registers and caches">,
    Option<"most_buffers", "most-buffers", "int64_t", "4095",
           "Maximum values that a kernel reads and writes: the pointer limit of a GPU kernel. One CPU loop has at most 32">,
    Option<"report", "report", "bool", "false", "Report kernels, and why other ops were not fused">
  ];
}

#endif  // SINTER_PASSES_FUSE_PASSES_TD
