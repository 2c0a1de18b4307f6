// The gradient of gelu_tanh as a part of the product before it: for fuse_epilogue.cc, on GPUs.
//
//   if (!FuseGeluGradient(matmul)) fuse(matmul);      // (a b) gelu_tanh'(x) becomes sinter.matmul_grad
//
// cuBLASLt has more of the kind, which took longer than kernels of their own and which no op says: gelu_tanh with what it is
// applied to, and the sums of a product's columns or of an operand (docs/performance-notes.md).
#ifndef SINTER_PASSES_FUSE_GELU_GRADIENT_H_
#define SINTER_PASSES_FUSE_GELU_GRADIENT_H_

#include "sinter/ir/dialect/ops.h"

namespace sinter {

// For a product of bf16 or f16 that nothing reads but the multiplication with the slope of gelu_tanh: the op in place of that,
// and `matmul` is erased. Null: it is none, or cuBLASLt does not do it.
ir::MatmulGradOp FuseGeluGradient(ir::MatmulOp matmul);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_GELU_GRADIENT_H_
