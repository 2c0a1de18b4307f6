// Quantisation: tensors as integers of few bits, with scales.
//
// Weights of 8 or 4 bits alone, for inference, where reading the weights takes the time:
//   absl::StatusOr<QuantizedWeights> w = QuantizeWeights(weights, {.bits = 4, .group = 128});  // [out, in].
//   Tensor y = QuantizedMatMul(x, values, scales);    // x [..., in]; values and scales are those of w.
// nn/quantized_weights.h does this for all nn::Linear of a module.
//
// Weights and inputs of 8 bits, with products in integers:
//   Tensor y = Int8MatMul(x, values, scales);
//
// Training with the rounding of a later quantisation:
//   Tensor w = FakeQuantize(weight, scale);
//
// Scales are floats, and x is about scale * (q - zero_point).
#ifndef SINTER_FRONTEND_QUANTIZATION_QUANTIZATION_H_
#define SINTER_FRONTEND_QUANTIZATION_QUANTIZATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

struct QuantizeOptions {
  DType dtype = DType::kI8;  // Type of the result: kI8, kU8, kI16, kU16 or kI32.
  Tensor zero_point = {};    // Has the result's type, and broadcasts to x. Absent: 0.
};
// round(x / scale) + zero_point, ties to even, limited to the range of the type. `scale` has x's type and
// broadcasts to x: [n, 1] is a scale for each row. No gradient. As torch.quantize_per_tensor.
Tensor Quantize(const Tensor& x, const Tensor& scale, QuantizeOptions options = {},
                Where where = Where::current());

// scale * (q - zero_point), of the type of `scale`; q holds integers. `scale` and zero_point broadcast to q.
struct DequantizeOptions {
  Tensor zero_point = {};  // Has q's type. Absent: 0.
};
Tensor Dequantize(const Tensor& q, const Tensor& scale, DequantizeOptions options = {},
                  Where where = Where::current());

// Dequantize of Quantize, of x's type. The gradient passes to those elements of x that were not limited, as
// if nothing were rounded (torch.fake_quantize_per_tensor_affine); scale has none.
Tensor FakeQuantize(const Tensor& x, const Tensor& scale, QuantizeOptions options = {},
                    Where where = Where::current());

// Quantises each row [..., k] to i8 from -127 to 127, by its largest magnitude: values [..., k] and scales
// [..., 1], of x's type. A row of zeros has the scale 0. No gradient.
struct QuantizedRows {
  Tensor values, scales;
};
QuantizedRows QuantizeRows(const Tensor& x, Where where = Where::current());

// x [..., k] times the transpose of weights of 8 bits, values i8 [n, k], or of 4 bits, values u8 [n, k / 2]
// as QuantizeWeights returns them: [..., n], of x's type (f32, bf16 or f16). Scales are [n, groups] floats:
// each of k / groups elements of a row. Sums are in f32. Up to 16 rows of x (8 of f32 on GPUs) read the
// weights as they are; more rows are a MatMul with weights of x's type that are made for it. Gradients to x
// and the scales.
Tensor QuantizedMatMul(const Tensor& x, const Tensor& values, const Tensor& scales,
                       Where where = Where::current());

// x [..., k] times the transpose of values i8 [n, k], whose rows have the scales [n] or [n, 1]: [..., n], of
// x's type. Each row of x is quantised by QuantizeRows; products and sums are exact, in i32. As torchao's
// int8_dynamic_activation_int8_weight. Gradients to the scales alone. On GPUs fastest for n and k that are
// multiples of 4.
Tensor Int8MatMul(const Tensor& x, const Tensor& values, const Tensor& scales,
                  Where where = Where::current());

struct WeightQuantization {
  int bits = 8;       // 8 or 4.
  int64_t group = 0;  // Elements of a row with one scale: a multiple of 32 that divides the row. 0: the row.
};
struct QuantizedWeights {
  HostTensor values;  // i8 [n, k], or u8 [n, k / 2] for 4 bits.
  HostTensor scales;  // f32 [n, k / group].
};
// Quantises weights [n, k] (f32, bf16 or f16), each group by its largest magnitude. 8 bits: to -127 to 127. 4
// bits: the largest magnitude becomes -8, and others -8 to 7, as in GGML's q4_0; k must be a multiple of 32.
// Byte j of a block of 16 bytes has number j of the block's 32 in its low bits and number j + 16 in its high
// bits, each with 8 added. InvalidArgument for other types, shapes and options, and for NaN and infinity.
absl::StatusOr<QuantizedWeights> QuantizeWeights(const HostTensor& weights,
                                                 const WeightQuantization& options = {});

// Says what is wrong with the options for rows of k elements; empty if nothing is. For Sinter's own sources.
std::string WeightQuantizationProblem(const WeightQuantization& options, int64_t k);

}  // namespace sinter

#endif  // SINTER_FRONTEND_QUANTIZATION_QUANTIZATION_H_
