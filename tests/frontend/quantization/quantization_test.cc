// Quantisation against its formulas, products against dense ones, gradients, and errors.
#include "sinter/frontend/quantization/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/pointwise.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Random(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = normal(random);
  return values;
}

Tensor I32Of(const Tensor& x) { return Cast(x, I32); }

using QuantizationTest = DeviceTest;

// torch.quantize_per_tensor(x, 0.5, 3, torch.quint8).int_repr() and torch.quantize_per_channel.
TEST_F(QuantizationTest, RoundsTiesToEvenAndLimits) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {-100, -0.75, -0.25, 0, 0.25, 0.75, 1.3, 200}, {2, 4}, F32);
    const Tensor half = Vector(b, {0.5}, {1}, F32), zero = Cast(Whole(b, {3}), DType::kU8);
    const Tensor q = Quantize(x, half, {.dtype = DType::kU8, .zero_point = zero});
    b.Output("u8", I32Of(q));
    b.Output("back", Dequantize(q, half, {.zero_point = zero}));
    b.Output("i8", I32Of(Quantize(x, half)));
    b.Output("rows", I32Of(Quantize(x, Vector(b, {0.25, 2}, {2, 1}, F32), {.dtype = DType::kI16})));
  });
  EXPECT_THAT(got["u8"], ElementsAre(0, 1, 3, 3, 3, 5, 6, 255));
  EXPECT_THAT(got["back"], ElementsAre(-1.5, -1, 0, 0, 0, 1, 1.5, 126));
  EXPECT_THAT(got["i8"], ElementsAre(-128, -2, 0, 0, 0, 2, 3, 127));
  EXPECT_THAT(got["rows"], ElementsAre(-400, -3, -1, 0, 0, 0, 1, 100));
}

// torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -128, 127).
TEST_F(QuantizationTest, FakeQuantizePassesGradientsInsideTheRange) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {-100, -0.3, 0.2, 1.3, 63.5, 64}, {}, F32);
    const Tensor scale = Vector(b, {0.5}, {1}, F32);
    const Tensor y = FakeQuantize(x, scale);
    b.Output("y", y);
    b.Output("g", Gradients(Sum(y * Vector(b, {1, 2, 3, 4, 5, 6}, {}, F32)), {x})[0]);
  });
  EXPECT_THAT(got["y"], ElementsAre(-64, -0.5, 0, 1.5, 63.5, 63.5));
  EXPECT_THAT(got["g"], ElementsAre(0, 2, 3, 4, 5, 0));
}

// torch.fake_quantize_per_tensor_affine(x, 0.5, 3, 0, 255).
TEST_F(QuantizationTest, FakeQuantizeWithAZeroPoint) {
  Values got = Compute([](Builder& b) {
    const Tensor x = Vector(b, {-2, -1.4, 0.2, 126, 130}, {}, F32);
    const Tensor y = FakeQuantize(x, Vector(b, {0.5}, {1}, F32),
                                  {.dtype = DType::kU8, .zero_point = Cast(Whole(b, {3}), DType::kU8)});
    b.Output("y", y);
    b.Output("g", Gradients(Sum(y), {x})[0]);
  });
  EXPECT_THAT(got["y"], ElementsAre(-1.5, -1.5, 0, 126, 126));
  EXPECT_THAT(got["g"], ElementsAre(0, 1, 1, 1, 0));
}

TEST_F(QuantizationTest, RowsHaveTheirLargestMagnitude) {
  Values got = Compute([](Builder& b) {
    const QuantizedRows rows = QuantizeRows(Vector(b, {1, -2, 0.5, 0, 0, 0}, {2, 3}, F32));
    b.Output("values", I32Of(rows.values));
    b.Output("scales", rows.scales);
  });
  EXPECT_THAT(got["values"], ElementsAre(64, -127, 32, 0, 0, 0));
  EXPECT_THAT(got["scales"], ElementsAre(static_cast<double>(static_cast<float>(2.0 * (1.0 / 127))), 0));
}

// The integer product of MatMul is exact: sums beyond 2^15, and wrapping in the type of the operands.
TEST_F(QuantizationTest, MatMulOfI8ReturnsI32) {
  const int64_t m = 5, n = 8, k = 700;
  std::vector<int32_t> x(static_cast<size_t>(m * k)), y(static_cast<size_t>(n * k));
  std::mt19937_64 random(7);
  for (auto* values : {&x, &y}) {
    for (int32_t& v : *values) v = static_cast<int32_t>(random() % 256) - 128;
  }
  Values got = Compute([&](Builder& b) {
    const Tensor a = Cast(Whole(b, x, {m, k}), DType::kI8), w = Cast(Whole(b, y, {n, k}), DType::kI8);
    b.Output("wide", MatMul(a, w, {.transpose_b = true, .result = DType::kI32}));
    b.Output("narrow", I32Of(MatMul(a, w, {.transpose_b = true})));
  });
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += x[i * k + l] * y[j * k + l];
      EXPECT_EQ(got["wide"][i * n + j], sum);
      EXPECT_EQ(got["narrow"][i * n + j], static_cast<int8_t>(sum));
    }
  }
}

// The matrix that quantised weights stand for, by the words of the header.
std::vector<double> Dense(const QuantizedWeights& w) {
  const int64_t n = w.values.shape()[0], bytes = w.values.shape()[1], groups = w.scales.shape()[1];
  const bool in_pairs = w.values.dtype() == DType::kU8;
  const int64_t k = in_pairs ? bytes * 2 : bytes;
  const auto* const values = static_cast<const uint8_t*>(w.values.data());
  std::vector<double> dense(static_cast<size_t>(n * k));
  for (int64_t i = 0; i < n * k; ++i) {
    const int64_t row = i / k, at = i % k;
    int number = static_cast<int8_t>(values[row * bytes + (in_pairs ? 0 : at)]);
    if (in_pairs) {
      const int pair = values[row * bytes + at / 32 * 16 + at % 16];
      number = (at % 32 < 16 ? pair & 15 : pair >> 4) - 8;
    }
    const auto* const scales = static_cast<const float*>(w.scales.data());
    dense[i] = number * static_cast<double>(scales[row * groups + at / (k / groups)]);
  }
  return dense;
}

struct Kind {
  int bits;
  int64_t group;
};
const Kind kKinds[] = {{8, 0}, {8, 64}, {4, 0}, {4, 32}, {4, 128}};

TEST_F(QuantizationTest, WeightsAreWithinHalfAStep) {
  const int64_t n = 6, k = 256;
  const std::vector<float> w = Random(n * k, 3);
  for (const auto& [bits, group] : kKinds) {
    SCOPED_TRACE(testing::Message() << bits << " bits, groups of " << group);
    const auto quantized = QuantizeWeights(*HostTensor::FromVector<float>({n, k}, w), {bits, group});
    ASSERT_TRUE(quantized.ok()) << quantized.status();
    const std::vector<double> dense = Dense(*quantized);
    const int64_t size = group == 0 ? k : group;
    for (int64_t first = 0; first < n * k; first += size) {
      float largest = 0;
      for (int64_t i = first; i < first + size; ++i) {
        if (std::fabs(w[i]) > std::fabs(largest)) largest = w[i];
      }
      const double step = std::fabs(largest) / (bits == 8 ? 127 : 8);
      for (int64_t i = first; i < first + size; ++i) {
        // Numbers of 4 bits reach 7 on the side that the largest magnitude is not on.
        const bool is_limited = bits == 4 && w[i] / largest < 0 && std::fabs(w[i]) > 7.5 * step;
        EXPECT_LE(std::fabs(dense[i] - w[i]), is_limited ? 1.01 * step : 0.501 * step);
        if (w[i] == largest) EXPECT_NEAR(dense[i], w[i], 1e-6);
      }
    }
  }
}

TEST_F(QuantizationTest, ProductsOfQuantizedWeightsAreThoseOfTheDenseMatrix) {
  const int64_t n = 10, k = 256;
  const HostTensor w = *HostTensor::FromVector<float>({n, k}, Random(n * k, 4));
  for (const auto& [bits, group] : kKinds) {
    const QuantizedWeights q = *QuantizeWeights(w, {bits, group});
    const std::vector<double> dense = Dense(q);
    for (const int64_t m : {1, 3, 16, 40}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, groups of " << group << ", " << m << " rows");
      const std::vector<float> x = Random(m * k, 5), g = Random(m * n, 6);
      Values got = Compute([&](Builder& b) {
        const Tensor in = b.Constant(*HostTensor::FromVector<float>({m, k}, x));
        const Tensor scales = b.Constant(q.scales);
        const Tensor y = QuantizedMatMul(in, b.Constant(q.values), scales);
        const Tensor loss = Sum(y * b.Constant(*HostTensor::FromVector<float>({m, n}, g)));
        const std::vector<Tensor> gradients = Gradients(loss, {in, scales});
        b.Output("y", y);
        b.Output("dx", gradients[0]);
        b.Output("ds", gradients[1]);
      });
      const auto* const scales = static_cast<const float*>(q.scales.data());
      const int64_t groups = q.scales.shape()[1];
      std::vector<double> ds(static_cast<size_t>(n * groups)), dx(static_cast<size_t>(m * k));
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) {
            sum += x[i * k + l] * dense[j * k + l];
            dx[i * k + l] += g[i * n + j] * dense[j * k + l];
            const int64_t at = j * groups + l / (k / groups);
            ds[at] += g[i * n + j] * x[i * k + l] * dense[j * k + l] / scales[at];
          }
          EXPECT_NEAR(got["y"][i * n + j], sum, 2e-4);
        }
      }
      EXPECT_THAT(got["dx"], testing::Pointwise(testing::DoubleNear(2e-4), dx));
      ASSERT_EQ(got["ds"].size(), ds.size());
      for (size_t i = 0; i < ds.size(); ++i)
        EXPECT_NEAR(got["ds"][i], ds[i], 1e-5 * (100 + std::fabs(ds[i])));
    }
  }
}

TEST_F(QuantizationTest, Int8ProductsAreExactForQuantizedInputs) {
  const int64_t m = 4, n = 12, k = 64;
  const std::vector<float> x = Random(m * k, 8);
  const QuantizedWeights w = *QuantizeWeights(*HostTensor::FromVector<float>({n, k}, Random(n * k, 9)));
  Values got = Compute([&](Builder& b) {
    const Tensor in = b.Constant(*HostTensor::FromVector<float>({2, 2, k}, x));
    const QuantizedRows rows = QuantizeRows(in);
    b.Output("y", Int8MatMul(in, b.Constant(w.values), b.Constant(w.scales)));
    b.Output("row", Int8MatMul(Reshape(Slice(in, {0, 0, 0}, {1, 1, k}), {k}), b.Constant(w.values),
                               Reshape(b.Constant(w.scales), {n})));
    b.Output("inputs", Dequantize(rows.values, rows.scales));
    const Tensor scales = b.Constant(w.scales);
    b.Output("ds", Gradients(Sum(Int8MatMul(in, b.Constant(w.values), scales)), {scales})[0]);
  });
  const std::vector<double> dense = Dense(w);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += got["inputs"][i * k + l] * dense[j * k + l];
      EXPECT_NEAR(got["y"][i * n + j], sum, 1e-5);
      if (i == 0) EXPECT_NEAR(got["row"][j], sum, 1e-5);
    }
  }
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < m; ++i) sum += got["y"][i * n + j];
    EXPECT_NEAR(got["ds"][j] * static_cast<const float*>(w.scales.data())[j], sum, 1e-4);
  }
}

TEST_F(QuantizationTest, WeightsThatCannotBeQuantized) {
  const auto error = [](const HostTensor& weights, WeightQuantization options) {
    const absl::Status status = QuantizeWeights(weights, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const HostTensor plain = *HostTensor::Zeros(DType::kF32, {2, 96});
  EXPECT_THAT(error(plain, {3, 0}), HasSubstr("has 3 bits; expected 8 or 4"));
  EXPECT_THAT(error(plain, {8, 20}), HasSubstr("has groups of 20 for rows of 96 elements"));
  EXPECT_THAT(error(plain, {8, 64}), HasSubstr("a multiple of 32 that divides 96"));
  EXPECT_THAT(error(*HostTensor::Zeros(DType::kF32, {2, 40}), {4, 0}),
              HasSubstr("has 4 bits for rows of 40 elements; expected a multiple of 32"));
  EXPECT_THAT(error(*HostTensor::Zeros(DType::kF64, {2, 32}), {8, 0}),
              HasSubstr("QuantizeWeights(f64[2,32]) takes weights [n, k] of f32, bf16 or f16"));
  std::vector<float> values(64);
  values[40] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error(*HostTensor::FromVector<float>({2, 32}, values), {8, 0}),
              HasSubstr("has inf in row 1, column 8"));
}

class QuantizationErrorsTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(QuantizationErrorsTest, Says) { ExpectSays(GetParam(), "quantization_test.cc:"); }

Tensor I8(Builder& b, const Shape& shape) { return X(b, shape, DType::kI8); }
Tensor U8(Builder& b, const Shape& shape) { return X(b, shape, DType::kU8); }

INSTANTIATE_TEST_SUITE_P(
    Quantization, QuantizationErrorsTest,
    ::testing::Values(
        In("Integers", [](Builder& b) { Quantize(X(b, {2}, I32), X(b, {1})); },
           {"Quantize(", "takes floats"}),
        In("Type", [](Builder& b) { Quantize(X(b, {2}), X(b, {1}), {.dtype = DType::kI64}); },
           {"has no results of i64; expected i8, u8, i16, u16 or i32"}),
        In("ScaleType", [](Builder& b) { Quantize(X(b, {2}), X(b, {1}, F64)); },
           {"has a scale of f64; expected f32 as the tensor has"}),
        In("ScaleShape", [](Builder& b) { Quantize(X(b, {2}), X(b, {3})); },
           {"has a scale that does not broadcast to the tensor"}),
        In("ZeroType", [](Builder& b) { Quantize(X(b, {2}), X(b, {1}), {.zero_point = X(b, {1}, I32)}); },
           {"has a zero point of i32; expected i8"}),
        In("ZeroShape", [](Builder& b) { FakeQuantize(X(b, {2}), X(b, {1}), {.zero_point = I8(b, {3})}); },
           {"FakeQuantize(", "has a zero point that does not broadcast to the tensor"}),
        In("DequantizeFloats", [](Builder& b) { Dequantize(X(b, {2}), X(b, {1})); },
           {"Dequantize(", "takes integers i8, u8, i16, u16 or i32"}),
        In("DequantizeScale", [](Builder& b) { Dequantize(I8(b, {2}), I8(b, {1})); },
           {"takes a scale of floats"}),
        In("RowsOfIntegers", [](Builder& b) { QuantizeRows(I8(b, {2})); },
           {"QuantizeRows(", "takes floats [..., k]"}),
        In("ProductOfF64",
           [](Builder& b) { QuantizedMatMul(X(b, {2, 32}, F64), I8(b, {4, 32}), X(b, {4, 1})); },
           {"QuantizedMatMul(", "takes x of f32, bf16 or f16"}),
        In("ProductOfANumber", [](Builder& b) { QuantizedMatMul(X(b, {}), I8(b, {4, 32}), X(b, {4, 1})); },
           {"takes x [..., k]"}),
        In("ProductOfFloats", [](Builder& b) { QuantizedMatMul(X(b, {2, 32}), X(b, {4, 32}), X(b, {4, 1})); },
           {"takes values i8 [n, k], or u8 [n, k / 2] for 4 bits"}),
        In("ProductColumns", [](Builder& b) { QuantizedMatMul(X(b, {2, 64}), U8(b, {4, 64}), X(b, {4, 1})); },
           {"has rows of 64 bytes for 64 columns of x; expected 32"}),
        In("ProductPairs", [](Builder& b) { QuantizedMatMul(X(b, {2, 40}), U8(b, {4, 20}), X(b, {4, 1})); },
           {"has rows of 40 numbers of 4 bits; expected a multiple of 32"}),
        In("ProductScaleType",
           [](Builder& b) { QuantizedMatMul(X(b, {2, 32}), I8(b, {4, 32}), X(b, {4, 1}, F64)); },
           {"takes scales [n, groups] of f32, bf16 or f16"}),
        In("ProductGroups", [](Builder& b) { QuantizedMatMul(X(b, {2, 96}), I8(b, {4, 96}), X(b, {4, 2})); },
           {"has scales f32[4,2]; expected [4, groups], for groups of a multiple of 32 of the 96 elements"}),
        In("Int8OfIntegers", [](Builder& b) { Int8MatMul(I8(b, {2, 8}), I8(b, {4, 8}), X(b, {4})); },
           {"Int8MatMul(", "takes floats x [..., k]"}),
        In("Int8Values", [](Builder& b) { Int8MatMul(X(b, {2, 8}), U8(b, {4, 8}), X(b, {4})); },
           {"takes values i8 [n, 8]"}),
        In("Int8Scales", [](Builder& b) { Int8MatMul(X(b, {2, 8}), I8(b, {4, 8}), X(b, {3})); },
           {"takes scales of floats [4] or [4, 1]"}),
        In("MatMulResult", [](Builder& b) { MatMul(I8(b, {2, 8}), I8(b, {8, 2}), {.result = F32}); },
           {"has no result of f32 from i8; it is I32 for I8, and F32 for BF16 and F16: Cast it"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
