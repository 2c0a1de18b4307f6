// Fuses the gradient of gelu_tanh into the matmul before it, on GPUs, for fuse_epilogue.cc.
//
//   if (!FuseGeluGradient(matmul)) fuse(matmul);      // (a b) gelu_tanh'(x) becomes sinter.matmul_grad.
//
// cuBLASLt has two more such epilogues, which have no op because they were slower than separate kernels:
// gelu_tanh that also stores its input, and sums of the columns of a result or of an operand
// (docs/performance-notes.md).
#ifndef SINTER_PASSES_FUSE_GELU_GRADIENT_H_
#define SINTER_PASSES_FUSE_GELU_GRADIENT_H_

#include "sinter/ir/dialect/ops.h"

namespace sinter {

// For a matmul of bf16 or f16 whose only reader multiplies it by the derivative of gelu_tanh: returns the
// fused op and erases `matmul`. Null if the pattern does not match or cuBLASLt does not support it.
ir::MatmulGradOp FuseGeluGradient(ir::MatmulOp matmul);

}  // namespace sinter

#endif  // SINTER_PASSES_FUSE_GELU_GRADIENT_H_
