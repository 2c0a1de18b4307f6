// The limits of cuBLASLt and cuDNN, as reasons: what a library cannot compute, and why.
//
//   std::string_view reason = ir::cuda::AgainstCublas(element, activation, has_bias);
//   if (reason.empty()) ...                          // cuBLASLt computes it.
//
// Passes ask through ir/target/target_model.h, by the op's device. The verifier of plans, which knows no
// MLIR, has the same limits in runtime/plan/gpu_limits.h; tests/codegen/gpu_limits_test.cc compares both.
#ifndef SINTER_IR_TARGET_CUDA_LIBRARIES_H_
#define SINTER_IR_TARGET_CUDA_LIBRARIES_H_

#include <string>
#include <string_view>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/library/matmul_sizes.h"

namespace sinter::ir::cuda {

// A matmul with this epilogue. A relu in a library does not keep NaN: cuDNN's turns NaN into 0 in all types,
// cuBLASLt's in f16 (measured on an H200, cuDNN 9.19 and cuBLASLt 13; no document promises NaN for its other
// types). cuBLASLt's GELU is the tanh form. It has no epilogue in f64.
std::string_view AgainstCublas(mlir::Type element, Activation activation, bool has_bias);

// A matmul of integers. cuBLASLt takes i8 with a result of i32 ("cublasLtMatmul", the layouts of IMMA
// kernels): rows of k elements in both operands, and whole words of four in the rows of all three matrices.
std::string_view AgainstCublasIntegers(MatmulOp matmul);

// A matmul of 8-bit floats ("cublasLtMatmul", the table of fp8 kernels): at most one operand is of f8E5M2,
// rows of operands are multiples of 16 bytes, and so are rows of a result of 8-bit floats, which the columns
// of all results keep to.
std::string_view AgainstCublasFloat8(ScaledMatmulOp matmul);

// A matmul whose result is multiplied by the activation's gradient ("cuBLASLt Data Types Reference",
// cublasLtEpilogue_t: DGELU). The leading dimension of its auxiliary matrices, whose columns are the rows of
// n elements, must be a multiple of 8.
std::string_view AgainstCublasGradient(const MatmulSizes& sizes, mlir::Type element, mlir::Type result,
                                       Activation activation);

// The activation of a forward convolution, after its bias.
std::string_view AgainstCudnnActivation(Activation activation);

// A whole attention, forward and backward: q, k and v have heads of one width (a multiple of 8, at most 256),
// and there is more than one position. Gradients of heads wider than 128 are for GPUs of compute capability
// 9.x alone, which the pass sinter-decompose is told. The scale must be positive: cuDNN takes the
// largest score before scaling, and returns NaN if scaling makes that score the smallest.
std::string AgainstCudnnAttention(const AttentionShape& shape, double scale);

// An attention of few queries without stats (kernels/cuda/few_queries_attention.cuh).
inline constexpr int64_t kMostFewQueries = 8, kLeastKeysOfQuery = 16;
std::string AgainstFewQueries(const AttentionShape& shape);

}  // namespace sinter::ir::cuda

#endif  // SINTER_IR_TARGET_CUDA_LIBRARIES_H_
