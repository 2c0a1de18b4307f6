#include "sinter/tests/runtime/emulated/library_steps.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cpu/catalog/catalog.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/float8.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/runtime/plan/matmul_slots.h"
#include "sinter/tests/runtime/image_steps_reference.h"

namespace sinter {
namespace {

double LoadFloat(fb::DType dtype, const void* from, int64_t i) {
  switch (dtype) {
    case fb::DType::F64:
      return static_cast<const double*>(from)[i];
    case fb::DType::F32:
      return static_cast<const float*>(from)[i];
    case fb::DType::BF16:
      return static_cast<const BFloat16*>(from)[i].ToFloat();
    case fb::DType::F16:
      return static_cast<const Float16*>(from)[i].ToFloat();
    case fb::DType::F8E4M3:
      return static_cast<const Float8E4M3*>(from)[i].ToFloat();
    case fb::DType::F8E5M2:
      return static_cast<const Float8E5M2*>(from)[i].ToFloat();
    case fb::DType::I32:
      return static_cast<const int32_t*>(from)[i];
    case fb::DType::I8:
      return static_cast<const int8_t*>(from)[i];
    default:
      SINTER_CHECK(false) << "no type of products: " << static_cast<int>(dtype);
  }
}

void StoreFloat(fb::DType dtype, double value, void* to, int64_t i) {
  switch (dtype) {
    case fb::DType::F64:
      static_cast<double*>(to)[i] = value;
      return;
    case fb::DType::F32:
      static_cast<float*>(to)[i] = static_cast<float>(value);
      return;
    case fb::DType::BF16:
      static_cast<BFloat16*>(to)[i] = BFloat16::FromFloat(static_cast<float>(value));
      return;
    case fb::DType::F16:
      static_cast<Float16*>(to)[i] = Float16::FromFloat(static_cast<float>(value));
      return;
    case fb::DType::I32:
      // Exact: tests sum fewer than 2^39 products of i8.
      static_cast<int32_t*>(to)[i] = static_cast<int32_t>(static_cast<int64_t>(value));
      return;
    default:
      SINTER_CHECK(false) << "no type of products: " << static_cast<int>(dtype);
  }
}

// Returns [batch, columns, rows] of [batch, rows, columns].
std::vector<double> Transposed(const std::vector<double>& x, int64_t batch, int64_t rows, int64_t columns) {
  std::vector<double> y(x.size());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        y[(b * columns + c) * rows + r] = x[(b * rows + r) * columns + c];
      }
    }
  }
  return y;
}

// Returns the matmuls of [batch, m, k] and [batch, k, n].
std::vector<double> Multiply(const std::vector<double>& a, const std::vector<double>& b, int64_t batch,
                             int64_t m, int64_t n, int64_t k) {
  std::vector<double> result(batch * m * n);
  for (int64_t i = 0; i < batch * m; ++i) {
    double* const row = &result[i * n];
    const double* const of_b = b.data() + i / m * k * n;
    for (int64_t p = 0; p < k; ++p) {
      const double x = a[i * k + p];
      for (int64_t j = 0; j < n; ++j) row[j] += x * of_b[p * n + j];
    }
  }
  return result;
}

// gelu_tanh: x s(2 z) with z = sqrt(2 / pi) (x + 0.044715 x^3), s the logistic function (Hendrycks and
// Gimpel, "Gaussian Error Linear Units", 2016).
constexpr double kCubic = 0.044715;
double GeluTanhArgument(double x) { return std::sqrt(2 / std::numbers::pi) * (x + kCubic * x * x * x); }

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

std::vector<double> LoadFloats(fb::DType dtype, const void* from, int64_t count) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = LoadFloat(dtype, from, i);
  return values;
}

void StoreFloats(fb::DType dtype, const std::vector<double>& values, void* to) {
  for (size_t i = 0; i < values.size(); ++i) StoreFloat(dtype, values[i], to, static_cast<int64_t>(i));
}

double Activate(fb::Activation activation, double x) {
  switch (activation) {
    case fb::Activation::None:
      return x;
    case fb::Activation::Relu:
      return x < 0 ? 0 : x;  // Keeps NaN.
    case fb::Activation::Gelu:
      return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2);
    case fb::Activation::GeluTanh:
      return 0.5 * x * (1 + std::tanh(GeluTanhArgument(x)));
    case fb::Activation::Sigmoid:
      return Logistic(x);
    case fb::Activation::Tanh:
      return std::tanh(x);
    case fb::Activation::Silu:
      return x * Logistic(x);
  }
  SINTER_CHECK(false) << "activation " << static_cast<int>(activation);
}

double ActivationSlope(fb::Activation activation, double x) {
  switch (activation) {
    case fb::Activation::None:
      return 1;
    case fb::Activation::Relu:
      return x > 0 ? 1 : 0;
    case fb::Activation::Gelu:
      return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2) +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case fb::Activation::GeluTanh: {
      const double t = std::tanh(GeluTanhArgument(x));
      const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * kCubic * x * x);
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
    }
    case fb::Activation::Sigmoid:
      return Logistic(x) * (1 - Logistic(x));
    case fb::Activation::Tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case fb::Activation::Silu:
      return Logistic(x) * (1 + x * (1 - Logistic(x)));
  }
  SINTER_CHECK(false) << "activation " << static_cast<int>(activation);
}

LibraryCall EmulatedMatmul(const fb::MatmulStep& table) {
  fb::MatmulStepT t;
  table.UnPackTo(&t);
  return [t, slots = MatmulSlots(table), of_b = MatmulDTypeOfB(table),
          of_result = MatmulResultDType(table)](const std::vector<void*>& buffers) {
    std::vector<double> a = LoadFloats(t.dtype, buffers[slots.a], t.batch * t.m * t.k);
    std::vector<double> b = LoadFloats(of_b, buffers[slots.b], t.batch * t.k * t.n);
    if (t.transpose_a) a = Transposed(a, t.batch, t.k, t.m);
    if (t.transpose_b) b = Transposed(b, t.batch, t.n, t.k);
    std::vector<double> result = Multiply(a, b, t.batch, t.m, t.n, t.k);
    const void* const bias = slots.In(buffers.data(), slots.bias);
    const void* const addend = slots.In(buffers.data(), slots.addend);
    const void* const before = slots.In(buffers.data(), slots.preactivation);
    const fb::DType of_scale = t.dtype == fb::DType::F64 ? fb::DType::F64 : fb::DType::F32;
    const void* const scale_at = slots.In(buffers.data(), slots.scale);
    const double scale = scale_at == nullptr ? 1 : LoadFloat(of_scale, scale_at, 0);
    const void* const scale_a = slots.In(buffers.data(), slots.scale_a);
    const void* const scale_b = slots.In(buffers.data(), slots.scale_b);
    const bool by_row = t.scales == fb::MatmulScales::Rows;
    for (size_t i = 0; i < result.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      double x = scale * result[i];
      if (scale_a != nullptr) x *= LoadFloat(fb::DType::F32, scale_a, by_row ? at / t.n : 0);
      if (scale_b != nullptr) x *= LoadFloat(fb::DType::F32, scale_b, by_row ? at % t.n : 0);
      if (bias != nullptr) x += LoadFloat(of_result, bias, at % t.n);
      if (addend != nullptr) x += LoadFloat(of_result, addend, at);
      result[i] = before == nullptr ? Activate(t.activation, x)
                                    : x * ActivationSlope(t.activation, LoadFloat(of_result, before, at));
    }
    StoreFloats(of_result, result, slots.Out(buffers.data(), slots.result));
  };
}

LibraryCall EmulatedConv(const fb::ConvStep& table) {
  fb::ConvStepT t;
  table.UnPackTo(&t);
  return [t](const std::vector<void*>& buffers) {
    const int64_t of_x = t.batch * t.in_channels * t.in_size[0] * t.in_size[1];
    const int64_t pixels = t.out_size[0] * t.out_size[1], of_y = t.batch * t.out_channels * pixels;
    const int64_t of_w = t.out_channels * (t.in_channels / t.groups) * t.kernel[0] * t.kernel[1];
    const bool forward = t.kind == fb::ConvKind::Forward, input_grad = t.kind == fb::ConvKind::InputGrad;
    const std::vector<double> first = LoadFloats(t.dtype, buffers[0], input_grad ? of_y : of_x);
    const std::vector<double> second =
        LoadFloats(t.dtype, buffers[1], t.kind == fb::ConvKind::WeightGrad ? of_y : of_w);
    std::vector<double> result(forward ? of_y : input_grad ? of_x : of_w);
    ForConvProducts(t, [&](size_t x, size_t y, size_t w) {
      if (forward) {
        result[y] += first[x] * second[w];
      } else if (input_grad) {
        result[x] += first[y] * second[w];
      } else {
        result[w] += first[x] * second[y];
      }
    });
    for (size_t i = 0; forward && i < result.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t channel =
          t.layout == fb::ImageLayout::Nhwc ? at % t.out_channels : at / pixels % t.out_channels;
      const double bias = t.has_bias ? LoadFloat(t.dtype, buffers[2], channel) : 0;
      result[i] = Activate(t.activation, result[i] + bias);
    }
    StoreFloats(t.dtype, result, buffers.back());
  };
}

LibraryCall EmulatedCatalogCall(const fb::CatalogStep& table) {
  const kernels::CatalogKernel* const kernel = kernels::FindCatalogKernel(table.kernel()->string_view());
  SINTER_CHECK(kernel != nullptr) << "no kernel " << table.kernel()->str();
  const std::vector<int64_t> parameters(table.parameters()->begin(), table.parameters()->end());
  return [=](const std::vector<void*>& buffers) {
    std::vector<std::byte> workspace(static_cast<size_t>(kernel->workspace_bytes(parameters)));
    kernel->run({buffers.data(), parameters, workspace.data(), ParallelOf(ThreadPool(1))});
  };
}

absl::StatusOr<LibraryCall> MakeEmulatedLibraryCall(const fb::Step& step) {
  const fb::CatalogStep* const catalog = step.body_as_CatalogStep();
  if (catalog != nullptr && GpuLibraryComputes(catalog->kernel()->string_view())) {
    return EmulatedCatalogCall(*catalog);
  }
  if (const fb::AttentionStep* attention = step.body_as_AttentionStep(); attention != nullptr) {
    return EmulatedAttention(*attention);
  }
  const fb::MatmulStep* const matmul = step.body_as_MatmulStep();
  if (matmul != nullptr &&
      (IsFloat(static_cast<DType>(matmul->dtype())) || matmul->scales() != fb::MatmulScales::None)) {
    return EmulatedMatmul(*matmul);
  }
  const fb::ConvStep* const conv = step.body_as_ConvStep();
  if (conv != nullptr && conv->layout() != fb::ImageLayout::Nchw16n) return EmulatedConv(*conv);
  return absl::UnimplementedError(
      absl::StrCat("no library of GPUs computes the step ", step.name()->c_str(),
                   ": matmuls of integers are kernels, and layout nchw16n is for CPUs"));
}

}  // namespace sinter
