#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/frontend/onnx/ops/windows.h"
#include "sinter/frontend/quantization/quantization.h"
#include "sinter/runtime/host/status.h"

// Quantised tensors. Products are those of the integers without their zero points, in f64, which holds their
// sums exactly below 2^53.
namespace sinter::onnx {
namespace {

// A scale or zero point of [n] along the axis of x.
Tensor AlongOf(const Tensor& parameter, int64_t axis, int64_t rank) {
  if (parameter.rank() == 0 || rank == 0) return parameter.size() == 1 ? Reshape(parameter, {}) : parameter;
  if (parameter.size() == 1) return Reshape(parameter, {});
  return AlongAxis(parameter, axis, rank);
}

// The axis of scales; irrelevant with one scale.
int64_t ScaleAxis(Node& node, size_t i, int64_t rank) {
  const Shape shape = node.shape(i);
  if (shape.empty() || (shape.size() == 1 && shape[0] == 1)) return 0;
  return node.Axis(node.Int("axis", 1), rank);
}

absl::StatusOr<Values> QuantizeOf(Node& node) {
  const Tensor x = node.In(0);
  if (node.Int("block_size", 0) != 0) return node.Unsupported("OP_FORM", "scales of blocks");
  const int64_t axis = ScaleAxis(node, 1, x.rank());
  const DType dtype = node.Has(2) ? node.dtype(2) : DType::kU8;
  const Tensor scale = Cast(AlongOf(node.In(1), axis, x.rank()), x.dtype());
  QuantizeOptions options{.dtype = dtype};
  if (node.Has(2)) options.zero_point = AlongOf(node.In(2), axis, x.rank());
  return Values(Quantize(x, scale, options));
}

absl::StatusOr<Values> DequantizeOf(Node& node) {
  const Tensor x = node.In(0);
  if (node.Int("block_size", 0) != 0) return node.Unsupported("OP_FORM", "scales of blocks");
  const int64_t axis = ScaleAxis(node, 1, x.rank());
  DequantizeOptions options;
  if (node.Has(2)) options.zero_point = AlongOf(node.In(2), axis, x.rank());
  return Values(Dequantize(x, AlongOf(node.In(1), axis, x.rank()), options));
}

absl::StatusOr<Values> DynamicQuantizeOf(Node& node) {
  const Tensor x = node.In(0);
  const Tensor high = Maximum(Max(x), 0), low = Minimum(Min(x), 0);
  const Tensor scale = (high - low) / 255;
  const Tensor zero = Cast(Clamp(Round(-low / scale), 0, 255), DType::kU8);
  return Values{Quantize(x, scale, {.dtype = DType::kU8, .zero_point = zero}), scale, zero};
}

// x without its zero point, in f64.
Tensor Centred(Node& node, size_t x, size_t zero, int64_t axis) {
  const Tensor value = Cast(node.In(x), DType::kF64);
  if (!node.Has(zero)) return value;
  return value - AlongOf(Cast(node.In(zero), DType::kF64), axis, value.rank());
}

absl::StatusOr<Values> MatMulIntegerOf(Node& node) {
  const Tensor a = Centred(node, 0, 2, std::max<int64_t>(0, node.In(0).rank() - 2));
  const Tensor b = Centred(node, 1, 3, std::max<int64_t>(0, node.In(1).rank() - 1));
  return Values(Cast(MatMul(a, b), DType::kI32));
}

absl::StatusOr<Tensor> CentredConvolution(Node& node, size_t x, size_t x_zero, size_t w, size_t w_zero) {
  const Shape shape = node.shape(x), of_weights = node.shape(w);
  if (shape.size() < 3 || of_weights.size() != shape.size()) return node.Bad("weights and x differ in rank");
  SINTER_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(node, Shape(shape.begin() + 2, shape.end()),
                                                           Shape(of_weights.begin() + 2, of_weights.end())));
  return Convolve(node, Centred(node, x, x_zero, 1), Centred(node, w, w_zero, 0), windows,
                  node.Int("group", 1));
}

absl::StatusOr<Values> ConvIntegerOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Tensor y, CentredConvolution(node, 0, 2, 1, 3));
  return Values(Cast(y, DType::kI32));
}

// Rounds a product of scaled integers to the type of the result's zero point.
Tensor Requantized(Node& node, const Tensor& product, const Tensor& factor, size_t scale, size_t zero) {
  const Tensor y_scale = Cast(Reshape(node.In(scale), {}), DType::kF64);
  return Quantize(product * factor, y_scale,
                  {.dtype = node.dtype(zero), .zero_point = Reshape(node.In(zero), {})});
}

absl::StatusOr<Values> QLinearMatMulOf(Node& node) {
  if (node.num_inputs() < 8) return node.Bad("has fewer than 8 operands");
  const int64_t rows = std::max<int64_t>(0, node.In(0).rank() - 2),
                columns = std::max<int64_t>(0, node.In(3).rank() - 1);
  const Tensor product = MatMul(Centred(node, 0, 2, rows), Centred(node, 3, 5, columns));
  const Tensor factor =
      AlongOf(Cast(node.In(1), DType::kF64), std::max<int64_t>(0, product.rank() - 2), product.rank()) *
      AlongOf(Cast(node.In(4), DType::kF64), std::max<int64_t>(0, product.rank() - 1), product.rank());
  return Values(Requantized(node, product, factor, 6, 7));
}

absl::StatusOr<Values> QLinearConvOf(Node& node) {
  if (node.num_inputs() < 8) return node.Bad("has fewer than 8 operands");
  SINTER_ASSIGN_OR_RETURN(Tensor product, CentredConvolution(node, 0, 2, 3, 5));
  if (node.Has(8)) product = product + AlongAxis(Cast(node.In(8), DType::kF64), 1, product.rank());
  const Tensor factor =
      Cast(Reshape(node.In(1), {}), DType::kF64) * AlongOf(Cast(node.In(4), DType::kF64), 1, product.rank());
  return Values(Requantized(node, product, factor, 6, 7));
}

constexpr OpRecord kQuantized[] = {
    {"ConvInteger", 10, ConvIntegerOf},
    {"DequantizeLinear", 10, DequantizeOf},
    {"DynamicQuantizeLinear", 11, DynamicQuantizeOf},
    {"MatMulInteger", 10, MatMulIntegerOf},
    {"QLinearConv", 10, QLinearConvOf},
    {"QLinearMatMul", 10, QLinearMatMulOf},
    {"QuantizeLinear", 10, QuantizeOf},
};

}  // namespace

std::span<const OpRecord> QuantizedOps() { return kQuantized; }

}  // namespace sinter::onnx
