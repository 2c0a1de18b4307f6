#include "sinter/ir/target/cuda_libraries.h"

#include <algorithm>

namespace sinter::ir::cuda {

std::string_view AgainstCublas(mlir::Type element, Activation activation, bool has_bias) {
  if (!llvm::isa<mlir::FloatType>(element)) return "cuBLASLt computes floating-point types only";
  if (element.isF64() && (has_bias || activation != Activation::none))
    return "cuBLASLt has no epilogues in f64";
  if (activation == Activation::relu) return "cuBLASLt's relu may turn NaN into 0";
  const bool is_known = activation == Activation::none || activation == Activation::gelu_tanh;
  return is_known ? "" : "cuBLASLt applies gelu_tanh only";
}

std::string_view AgainstCublasIntegers(MatmulOp matmul) {
  if (!matmul.getA().getType().getElementType().isSignlessInteger(8) ||
      !matmul.getType().getElementType().isSignlessInteger(32)) {
    return "cuBLASLt multiplies integers of 8 bits, to 32 bits";
  }
  if (matmul.getBias() || matmul.getActivation() != Activation::none) {
    return "cuBLASLt has no epilogues for integers";
  }
  const MatmulSizes sizes = MatmulSizes::Of(matmul);
  if (matmul.getTransposeA() || !matmul.getTransposeB()) return "cuBLASLt takes rows of i8 along k";
  if (std::min({sizes.batch, sizes.m, sizes.n, sizes.k}) == 0) return "a dimension is 0";
  return sizes.n % 4 == 0 && sizes.k % 4 == 0 ? "" : "cuBLASLt takes rows of a multiple of 4 elements of i8";
}

std::string_view AgainstCublasFloat8(ScaledMatmulOp matmul) {
  const mlir::RankedTensorType a = matmul.getA().getType(), b = matmul.getB().getType();
  const int64_t m = a.getDimSize(0), n = b.getDimSize(0), k = a.getDimSize(1);
  if (llvm::isa<mlir::Float8E5M2Type>(a.getElementType()) &&
      llvm::isa<mlir::Float8E5M2Type>(b.getElementType())) {
    return "cuBLASLt takes one operand of f8e5m2 at most";
  }
  if (std::min({m, n, k}) == 0) return "a dimension is 0";
  return n % 16 == 0 && k % 16 == 0 ? "" : "cuBLASLt takes rows of a multiple of 16 elements of 8 bits";
}

std::string_view AgainstCublasGradient(const MatmulSizes& sizes, mlir::Type element, mlir::Type result,
                                       Activation activation) {
  if (!element.isBF16() && !element.isF16()) return "cuBLASLt does it for matmuls of bf16 and f16";
  if (std::min({sizes.m, sizes.n, sizes.k}) == 0) return "a dimension is 0";
  if (activation != Activation::gelu_tanh) return "cuBLASLt has the gradient of gelu_tanh only";
  if (result != element) return "cuBLASLt has what gelu_tanh is applied to in 16 bits";
  if (sizes.n % 8 != 0) return "cuBLASLt takes rows of a multiple of 8 elements here";
  return sizes.batch == 1 ? "" : "cuBLASLt does it for a single matmul";
}

std::string_view AgainstCudnnActivation(Activation activation) {
  if (activation == Activation::relu) return "cuDNN's relu turns NaN into 0";
  return activation == Activation::none ? "" : "cuDNN applies no activation";
}

std::string AgainstCudnnAttention(const AttentionShape& s, double scale) {
  if (!s.element.isBF16() && !s.element.isF16()) return "cuDNN computes attention in bf16 and f16 only";
  if (s.width % 8 != 0 || s.width > 256) {
    return "cuDNN takes heads of a width that is a multiple of 8 and at most 256, and this is " +
           std::to_string(s.width);
  }
  if (!(scale > 0)) return "cuDNN takes a scale above 0, and this is " + std::to_string(scale);
  return std::min(s.queries, s.keys) < 2 ? "cuDNN takes two positions and more" : "";
}

std::string AgainstFewQueries(const AttentionShape& s) {
  if (!s.element.isF32() && !s.element.isBF16() && !s.element.isF16()) {
    return "the kernel of few queries takes f32, bf16 and f16";
  }
  if (s.width % 8 != 0 || s.width > 256) {
    return "the kernel of few queries takes heads of a width that is a multiple of 8 and at most 256, and "
           "this is " +
           std::to_string(s.width);
  }
  if (s.queries > kMostFewQueries) {
    return "the kernel of few queries takes at most " + std::to_string(kMostFewQueries) + ", and these are " +
           std::to_string(s.queries);
  }
  if (s.queries > 1 && s.keys < kLeastKeysOfQuery * s.queries) {
    return "the kernel of few queries takes " + std::to_string(kLeastKeysOfQuery) +
           " keys and more for each of several queries, and there are " + std::to_string(s.keys);
  }
  return s.batch == 0 || s.queries == 0 ? "there is no query" : "";
}

}  // namespace sinter::ir::cuda
