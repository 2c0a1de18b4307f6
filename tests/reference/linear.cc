// Matmuls, convolutions and pooling.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

double Activate(ir::Activation activation, double x) {
  switch (activation) {
    case ir::Activation::none:
      return x;
    case ir::Activation::relu:
      return x > 0 ? x : std::isnan(x) ? x : 0;
    case ir::Activation::gelu:
      return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
    case ir::Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case ir::Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ir::Activation::tanh:
      return std::tanh(x);
    case ir::Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

double ActivationSlope(ir::Activation activation, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (activation) {
    case ir::Activation::none:
      return 1;
    case ir::Activation::relu:
      return x > 0 ? 1 : 0;
    case ir::Activation::gelu:
      return (1 + std::erf(x / std::numbers::sqrt2)) / 2 +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case ir::Activation::gelu_tanh: {
      const double scale = std::sqrt(2 / std::numbers::pi);
      const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
      return (1 + t) / 2 + x / 2 * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x);
    }
    case ir::Activation::sigmoid:
      return sigmoid * (1 - sigmoid);
    case ir::Activation::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case ir::Activation::silu:
      return sigmoid * (1 + x * (1 - sigmoid));
  }
  return 1;
}

// op(a) op(b) for each matrix of the batch, row-major, summed as doubles or modulo 2^64.
struct Products {
  int64_t rows = 0, columns = 0;  // Rows of all matrices, stacked; columns of one matrix.
  std::vector<double> reals;
  std::vector<uint64_t> integers;

  template <typename Op>
  Products(Op op, const Value& a, const Value& b) {
    const ir::MatmulSizes s = ir::MatmulSizes::Of(op);
    rows = s.batch * s.m, columns = s.n;
    reals.resize(rows * columns), integers.resize(rows * columns);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t batch = row / s.m, i = row % s.m;
      for (int64_t j = 0; j < s.n; ++j) {
        for (int64_t l = 0; l < s.k; ++l) {
          const int64_t at_a = batch * s.m * s.k + (op.getTransposeA() ? l * s.m + i : i * s.k + l);
          const int64_t at_b = batch * s.k * s.n + (op.getTransposeB() ? j * s.k + l : l * s.n + j);
          if (a.is_real()) {
            reals[row * s.n + j] += a.reals[at_a] * b.reals[at_b];
          } else {
            integers[row * s.n + j] +=
                static_cast<uint64_t>(a.ints[at_a]) * static_cast<uint64_t>(b.ints[at_b]);
          }
        }
      }
    }
  }
};

std::vector<Value> Matmul(const Call& call) {
  auto op = llvm::cast<ir::MatmulOp>(call.op);
  const Products products(op, call.in[0], call.in[1]);
  size_t next = 2;
  const Value* bias = op.getBias() ? &call.in[next++] : nullptr;
  const Value* addend = op.getAddend() ? &call.in[next++] : nullptr;
  const double scale = op.getScale() ? call.in[next].reals[0] : 1;
  Value r = call.Result();
  for (int64_t i = 0; i < products.rows * products.columns; ++i) {
    const int64_t j = i % products.columns;
    if (r.is_real()) {
      const double sum =
          products.reals[i] * scale + (bias ? bias->reals[j] : 0) + (addend ? addend->reals[i] : 0);
      r.reals[i] = Activate(op.getActivation(), sum);
    } else {
      r.ints[i] = static_cast<int64_t>(products.integers[i]) + (bias ? bias->ints[j] : 0);
    }
  }
  return {r};
}

std::vector<Value> MatmulGrad(const Call& call) {
  auto op = llvm::cast<ir::MatmulGradOp>(call.op);
  const Products products(op, call.in[0], call.in[1]);
  Value r = call.Result();
  for (size_t i = 0; i < r.reals.size(); ++i) {
    r.reals[i] = products.reals[i] * ActivationSlope(op.getActivation(), call.in[2].reals[i]);
  }
  return {r};
}

// Number `l` of a row of a quantised matrix.
int64_t QuantizedNumber(const Value& weights, int64_t row, int64_t l) {
  const int64_t bytes = weights.shape[1];
  if (weights.dtype == DType::kI8) return weights.ints[row * bytes + l];
  const int64_t pair = weights.ints[row * bytes + l / 32 * 16 + l % 16];
  return (l % 32 < 16 ? pair % 16 : pair / 16) - 8;
}

std::vector<Value> QuantizedMatmul(const Call& call) {
  const Value &x = call.in[0], &weights = call.in[1], &scales = call.in[2];
  const int64_t m = x.shape[0], k = x.shape[1], n = weights.shape[0], groups = scales.shape[1];
  Value r = call.Result();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double scale = scales.reals[j * groups + l / (k / groups)];
        sum += x.reals[i * k + l] * scale * static_cast<double>(QuantizedNumber(weights, j, l));
      }
      r.reals[i * n + j] = sum;
    }
  }
  return {r};
}

std::vector<Value> ScaledMatmul(const Call& call) {
  const Value &a = call.in[0], &b = call.in[1], &scale_a = call.in[2], &scale_b = call.in[3];
  const int64_t m = a.shape[0], k = a.shape[1], n = b.shape[0];
  const bool by_row = !scale_a.shape.empty();
  Value r = call.Result();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a.reals[i * k + l] * b.reals[j * k + l];
      r.reals[i * n + j] = sum * scale_a.reals[by_row ? i : 0] * scale_b.reals[by_row ? j : 0];
    }
  }
  return {r};
}

// An operand of a float8_matmul as [rows, k], rounded to 8 bits and scaled back.
struct Rounded {
  int64_t rows = 0, k = 0;
  std::vector<double> reals;

  Rounded(const Value& x, bool k_is_first, DType dtype, bool by_row, bool to_power) {
    rows = x.shape[k_is_first ? 1 : 0], k = x.shape[k_is_first ? 0 : 1];
    reals.resize(x.reals.size());
    std::vector<double> largest(rows, 0);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t l = 0; l < k; ++l) {
        reals[i * k + l] = x.reals[k_is_first ? l * rows + i : i * k + l];
        largest[i] = std::max(largest[i], std::abs(reals[i * k + l]));
      }
    }
    if (!by_row) largest.assign(rows, *std::max_element(largest.begin(), largest.end()));
    const double limit = dtype == DType::kF8E5M2 ? 57344 : 448;
    for (int64_t i = 0; i < rows; ++i) {
      double scale = reference::Round(DType::kF32, limit / std::max(largest[i], 1e-12));
      if (to_power) scale = std::exp2(std::floor(std::log2(scale)));
      for (int64_t l = 0; l < k; ++l) {
        double& number = reals[i * k + l];
        number = reference::Round(DType::kF32, number * scale);
        number = reference::Round(dtype, std::clamp(number, -limit, limit)) / scale;
      }
    }
  }
};

std::vector<Value> Float8Matmul(const Call& call) {
  auto op = llvm::cast<ir::Float8MatmulOp>(call.op);
  const bool tensorwise = op.getRecipe() == ir::Float8Recipe::tensorwise;
  const bool one_of_weights = op.getRecipe() == ir::Float8Recipe::rowwise_with_bf16_weight_gradient;
  const auto gradient = static_cast<int64_t>(op.getGradient());
  const auto rounded = [&](int64_t operand, bool k_is_first) {
    const bool is_gradient = gradient == operand, is_weights_of_gradient = gradient >= 0 && !is_gradient;
    const bool by_row = !tensorwise && !(is_weights_of_gradient && one_of_weights);
    return Rounded(call.in[operand], k_is_first, tensorwise && is_gradient ? DType::kF8E5M2 : DType::kF8E4M3,
                   by_row, /*to_power=*/!tensorwise);
  };
  const Rounded a = rounded(0, op.getTransposeA()), b = rounded(1, !op.getTransposeB());
  Value r = call.Result();
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.rows; ++j) {
      for (int64_t l = 0; l < a.k; ++l)
        r.reals[i * b.rows + j] += a.reals[i * a.k + l] * b.reals[j * a.k + l];
    }
  }
  return {r};
}

// Sizes of an image tensor and offsets of its elements, in any layout.
struct Image {
  int64_t n, c, h, w;
  ir::ImageLayout layout;

  Image(const Shape& shape, ir::ImageLayout layout) : layout(layout) {
    bool last = layout == ir::ImageLayout::nhwc;
    n = shape[0], c = shape[last ? 3 : 1], h = shape[last ? 1 : 2], w = shape[last ? 2 : 3];
    if (layout == ir::ImageLayout::nchw16n) n *= 16;
  }
  int64_t At(int64_t in, int64_t ic, int64_t ih, int64_t iw) const {
    if (layout == ir::ImageLayout::nhwc) return ((in * h + ih) * w + iw) * c + ic;
    if (layout == ir::ImageLayout::nchw) return ((in * c + ic) * h + ih) * w + iw;
    return (((in / 16 * c + ic) * h + ih) * w + iw) * 16 + in % 16;
  }
  bool Inside(int64_t ih, int64_t iw) const { return ih >= 0 && ih < h && iw >= 0 && iw < w; }
};

// Calls visit(image element, weight element, output element) for every multiplication of a convolution.
template <typename Op>
void ForEachProduct(Op op, const Shape& images, const Shape& weights, const Shape& outputs,
                    const std::function<void(int64_t, int64_t, int64_t)>& visit) {
  Image x(images, op.getLayout()), y(outputs, op.getLayout());
  int64_t outputs_a_group = weights[0] / static_cast<int64_t>(op.getGroups());
  for (int64_t n = 0; n < y.n; ++n) {
    ForEachIndex({y.c, y.h, y.w}, [&](const Shape& to) {
      ForEachIndex({weights[1], weights[2], weights[3]}, [&](const Shape& tap) {
        int64_t h = to[1] * op.getStrides()[0] - op.getPadding()[0] + tap[1] * op.getDilations()[0];
        int64_t w = to[2] * op.getStrides()[1] - op.getPadding()[2] + tap[2] * op.getDilations()[1];
        if (!x.Inside(h, w)) return;
        int64_t channel = to[0] / outputs_a_group * weights[1] + tap[0];
        visit(x.At(n, channel, h, w), Offset(weights, {to[0], tap[0], tap[1], tap[2]}),
              y.At(n, to[0], to[1], to[2]));
      });
    });
  }
}

std::vector<Value> Conv2d(const Call& call) {
  auto op = llvm::cast<ir::Conv2dOp>(call.op);
  const Value &x = call.in[0], &weights = call.in[1];
  Value r = call.Result();
  ForEachProduct(op, x.shape, weights.shape, r.shape,
                 [&](int64_t xi, int64_t wi, int64_t yi) { r.reals[yi] += x.reals[xi] * weights.reals[wi]; });
  Image y(r.shape, op.getLayout());
  ForEachIndex({y.n, y.c, y.h, y.w}, [&](const Shape& at) {
    double& element = r.reals[y.At(at[0], at[1], at[2], at[3])];
    element = Activate(op.getActivation(), op.getBias() ? element + call.in[2].reals[at[1]] : element);
  });
  return {r};
}

std::vector<Value> Conv2dInputGrad(const Call& call) {
  const Value &g = call.in[0], &weights = call.in[1];
  Value r = call.Result();
  ForEachProduct(llvm::cast<ir::Conv2dInputGradOp>(call.op), r.shape, weights.shape, g.shape,
                 [&](int64_t xi, int64_t wi, int64_t yi) { r.reals[xi] += g.reals[yi] * weights.reals[wi]; });
  return {r};
}

std::vector<Value> Conv2dWeightGrad(const Call& call) {
  const Value &x = call.in[0], &g = call.in[1];
  Value r = call.Result();
  ForEachProduct(llvm::cast<ir::Conv2dWeightGradOp>(call.op), x.shape, r.shape, g.shape,
                 [&](int64_t xi, int64_t wi, int64_t yi) { r.reals[wi] += g.reals[yi] * x.reals[xi]; });
  return {r};
}

// Calls visit(output element, image element, position in the window) for every window element outside the
// padding. Windows and positions come in row-major order.
template <typename Op>
void ForEachWindowElement(Op op, const Shape& images, const Shape& outputs,
                          const std::function<void(int64_t, int64_t, int64_t)>& visit) {
  Image x(images, op.getLayout()), y(outputs, op.getLayout());
  ForEachIndex({y.n, y.c, y.h, y.w}, [&](const Shape& to) {
    ForEachIndex({op.getWindow()[0], op.getWindow()[1]}, [&](const Shape& tap) {
      int64_t h = to[2] * op.getStrides()[0] - op.getPadding()[0] + tap[0];
      int64_t w = to[3] * op.getStrides()[1] - op.getPadding()[2] + tap[1];
      if (!x.Inside(h, w)) return;
      visit(y.At(to[0], to[1], to[2], to[3]), x.At(to[0], to[1], h, w), tap[0] * op.getWindow()[1] + tap[1]);
    });
  });
}

std::vector<Value> MaxPool2d(const Call& call) {
  const Value& x = call.in[0];
  Value r = call.Result(0), position = call.Result(1);
  std::vector<bool> seen(r.reals.size(), false);
  ForEachWindowElement(llvm::cast<ir::MaxPool2dOp>(call.op), x.shape, r.shape,
                       [&](int64_t yi, int64_t xi, int64_t at) {
                         double v = x.reals[xi], best = r.reals[yi];
                         if (seen[yi] && !(v > best) && !(std::isnan(v) && !std::isnan(best))) return;
                         seen[yi] = true;
                         r.reals[yi] = v;
                         position.ints[yi] = at;
                       });
  return {r, position};
}

std::vector<Value> MaxPool2dGrad(const Call& call) {
  const Value &g = call.in[0], &position = call.in[1];
  Value r = call.Result();
  ForEachWindowElement(llvm::cast<ir::MaxPool2dGradOp>(call.op), r.shape, g.shape,
                       [&](int64_t yi, int64_t xi, int64_t at) {
                         if (at == position.ints[yi]) r.reals[xi] += g.reals[yi];
                       });
  return {r};
}

std::vector<Value> AvgPool2d(const Call& call) {
  auto op = llvm::cast<ir::AvgPool2dOp>(call.op);
  double count = static_cast<double>(op.getWindow()[0] * op.getWindow()[1]);
  Value r = call.Result();
  ForEachWindowElement(op, call.in[0].shape, r.shape,
                       [&](int64_t yi, int64_t xi, int64_t) { r.reals[yi] += call.in[0].reals[xi] / count; });
  return {r};
}

std::vector<Value> AvgPool2dGrad(const Call& call) {
  auto op = llvm::cast<ir::AvgPool2dGradOp>(call.op);
  double count = static_cast<double>(op.getWindow()[0] * op.getWindow()[1]);
  Value r = call.Result();
  ForEachWindowElement(op, r.shape, call.in[0].shape,
                       [&](int64_t yi, int64_t xi, int64_t) { r.reals[xi] += call.in[0].reals[yi] / count; });
  return {r};
}

}  // namespace

void AddLinearOps(OpTable& table) {
  table["sinter.matmul"] = Matmul;
  table["sinter.matmul_grad"] = MatmulGrad;
  table["sinter.quantized_matmul"] = QuantizedMatmul;
  table["sinter.scaled_matmul"] = ScaledMatmul;
  table["sinter.float8_matmul"] = Float8Matmul;
  table["sinter.conv2d"] = Conv2d;
  table["sinter.conv2d_input_grad"] = Conv2dInputGrad;
  table["sinter.conv2d_weight_grad"] = Conv2dWeightGrad;
  table["sinter.max_pool2d"] = MaxPool2d;
  table["sinter.max_pool2d_grad"] = MaxPool2dGrad;
  table["sinter.avg_pool2d"] = AvgPool2d;
  table["sinter.avg_pool2d_grad"] = AvgPool2dGrad;
}

}  // namespace sinter::reference
