// Programs whose linear layers multiply in 8-bit floats: they train almost as in bf16, and what cannot be
// compiled is an error.
//
// SINTER_TEST_DEVICE=gpu:0 runs the tests on this GPU, which needs compute capability 9.0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "sinter/runtime/host/float8.h"
#include "sinter/runtime/host/half.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 4, kTime = 16, kWidth = 32, kWords = 48, kSteps = 20;

Graph SmallGpt(Precision precision, const Float8& float8) {
  Graph graph("gpt", {.seed = 3, .precision = precision, .float8 = float8});
  nn::Embedding embedding(kWords, kWidth);
  nn::Module net = nn::Sequential{
      nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(2, {.causal = true})},
      nn::Residual{nn::LayerNorm(), nn::Linear(4 * kWidth), nn::GeluTanh(), nn::Linear(kWidth)},
      nn::LayerNorm(), nn::Linear(kWords)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", I32, {kBatch, kTime}), y = b.Input("y", I32, {kBatch, kTime});
    Tensor loss = SoftmaxCrossEntropy(net(embedding(x)), y);
    optim::AdamW{.learning_rate = 3e-3}.Minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

HostTensor Words(int64_t first) {
  HostTensor tensor = *HostTensor::Zeros(DType::kI32, {kBatch, kTime});
  int64_t i = first;
  for (int32_t& x : *tensor.MutableSpan<int32_t>()) x = static_cast<int32_t>(i++ * 37 % kWords);
  return tensor;
}

Float8 Of(Float8Recipe recipe) { return {.recipe = recipe, .least_features = 16}; }

std::vector<float> Losses(Float8Recipe recipe) {
  Session session = MustStart(SmallGpt(Precision::kBf16, Of(recipe)), {.device = TestDevice()});
  const HostTensor x = Words(0), y = Words(1);
  std::vector<float> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    losses.push_back(Floats(session, "train", {{"x", x}, {"y", y}}, "loss")[0]);
  }
  return losses;
}

struct Matrix {
  int64_t rows, columns;
  std::vector<float> values;

  float at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};

enum class Scales { kAll, kRows, kColumns };

// Returns x with each element rounded to 8 bits and scaled back. `to_power`: scales are powers of two.
template <typename Float>
Matrix Rounded(const Matrix& x, Scales scales, bool to_power) {
  const float largest = std::is_same_v<Float, Float8E5M2> ? 57344.0f : 448.0f;
  std::vector<float> most(static_cast<size_t>(std::max(x.rows, x.columns)));
  const auto group = [&](int64_t i, int64_t j) {
    return static_cast<size_t>(scales == Scales::kAll ? 0 : scales == Scales::kRows ? i : j);
  };
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j)
      most[group(i, j)] = std::max(most[group(i, j)], std::abs(x.at(i, j)));
  }
  Matrix result = x;
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      float scale = largest / most[group(i, j)];
      if (to_power) scale = std::exp2(std::floor(std::log2(scale)));
      const float scaled = std::clamp(x.at(i, j) * scale, -largest, largest);
      result.values[static_cast<size_t>(i * x.columns + j)] = Float::FromFloat(scaled).ToFloat() / scale;
    }
  }
  return result;
}

Matrix Transposed(const Matrix& x) {
  Matrix result = {x.columns, x.rows, {}};
  for (int64_t j = 0; j < x.columns; ++j) {
    for (int64_t i = 0; i < x.rows; ++i) result.values.push_back(x.at(i, j));
  }
  return result;
}

Matrix Product(const Matrix& x, const Matrix& y) {
  Matrix result = {x.rows, y.columns, {}};
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < y.columns; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < x.columns; ++l) sum += x.at(i, l) * y.at(l, j);
      result.values.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

Matrix RoundedToBf16(int64_t rows, int64_t columns, std::vector<float> values) {
  for (float& x : values) x = BFloat16::FromFloat(x).ToFloat();
  return {rows, columns, std::move(values)};
}

// Returns the norm of the difference divided by the norm of `want`.
double Distance(const std::vector<float>& got, const Matrix& want) {
  EXPECT_EQ(got.size(), want.values.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(got[i] - want.values[i], 2), norm += std::pow(want.values[i], 2);
  }
  return std::sqrt(difference / norm);
}

class Float8ProductsTest : public DeviceTest, public testing::WithParamInterface<Float8Recipe> {};

TEST_P(Float8ProductsTest, TrainsAlmostAsInBf16) {
  const std::vector<float> bf16 = Losses(Float8Recipe::kNone), float8 = Losses(GetParam());
  double most = 0;
  for (size_t i = 0; i < bf16.size(); ++i) {
    EXPECT_NEAR(float8[i], bf16[i], 0.03 * bf16[i]) << "step " << i;
    most = std::max<double>(most, std::abs(float8[i] - bf16[i]));
  }
  EXPECT_LT(float8.back(), 0.8 * float8.front());
  EXPECT_GT(most, 1e-6) << "nothing was rounded to 8 bits";
}

TEST_P(Float8ProductsTest, ReportsEachProduct) {
  CompileReport report;
  const absl::StatusOr<Plan> plan =
      Compile(SmallGpt(Precision::kBf16, Of(GetParam())), {.device = TestDevice(), .report = true}, &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(report.casts, Contains(HasSubstr("product of 64x32 by 32x128 in float8")));
  EXPECT_THAT(report.casts,
              Contains(HasSubstr("product of 64x32 by 32x48 stays in 'bf16': it computes logits")));
}

// A layer's three products are those of the rounded operands. Results are rounded to bf16.
TEST_P(Float8ProductsTest, MultipliesRoundedOperandsForwardAndBackward) {
  constexpr int64_t kRows = 48, kIn = 64, kOut = 32;
  const auto bf16_of = [](const HostTensor& x, int64_t rows, int64_t columns) {
    return RoundedToBf16(rows, columns, ToFloats(x));
  };
  Graph graph("layer", {.precision = Precision::kBf16, .float8 = Of(GetParam())});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kRows, kIn}), slope = b.Input("slope", F32, {kRows, kOut});
    Tensor w = b.Read(b.MakeVariable("w", F32, {kIn, kOut}, {.init = nn::Normal(1).Resolve(0, 0)}));
    Tensor y = Cast(MatMul(x, w), F32);
    const std::vector<Tensor> gradients = Gradients(Sum(y * slope), {x, w});
    b.Output("y", y), b.Output("dx", gradients[0]), b.Output("dw", gradients[1]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor given_x = RandomFloats({kRows, kIn}, 1), given_g = RandomFloats({kRows, kOut}, 2);
  const Matrix x = bf16_of(given_x, kRows, kIn), g = bf16_of(given_g, kRows, kOut),
               w = RoundedToBf16(kIn, kOut, VariableFloats(session, "w"));

  const bool tensorwise = GetParam() == Float8Recipe::kTensorwise;
  const bool wide = GetParam() == Float8Recipe::kRowwiseWithWeightGradientInBf16;
  const Scales rows = tensorwise ? Scales::kAll : Scales::kRows,
               columns = tensorwise ? Scales::kAll : Scales::kColumns;
  const auto gradient = [&](Scales scales) {
    return tensorwise ? Rounded<Float8E5M2>(g, scales, false) : Rounded<Float8E4M3>(g, scales, true);
  };
  const Matrix of_w = Rounded<Float8E4M3>(w, wide ? Scales::kAll : rows, !tensorwise);
  const struct {
    std::string name;
    Matrix want, unrounded;
  } products[] = {
      {"y", Product(Rounded<Float8E4M3>(x, rows, !tensorwise), Rounded<Float8E4M3>(w, columns, !tensorwise)),
       Product(x, w)},
      {"dx", Product(gradient(rows), Transposed(of_w)), Product(g, Transposed(w))},
      {"dw",
       wide ? Product(Transposed(x), g)
            : Product(Transposed(Rounded<Float8E4M3>(x, columns, !tensorwise)), gradient(columns)),
       Product(Transposed(x), g)}};
  for (const auto& product : products) {
    SCOPED_TRACE(product.name);
    const std::vector<float> got =
        Floats(session, "train", {{"x", given_x}, {"slope", given_g}}, product.name);
    EXPECT_LT(Distance(got, product.want), 0.004);
    if (product.name != "dw" || !wide) EXPECT_GT(Distance(got, product.unrounded), 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, Float8ProductsTest,
                         ::testing::Values(Float8Recipe::kTensorwise, Float8Recipe::kRowwise,
                                           Float8Recipe::kRowwiseWithWeightGradientInBf16),
                         [](const auto& info) {
                           return std::string(info.param == Float8Recipe::kTensorwise ? "Tensorwise"
                                              : info.param == Float8Recipe::kRowwise  ? "Rowwise"
                                                                                      : "WithBf16");
                         });

std::string ErrorOf(Precision precision, const Float8& float8, const CompileOptions& options) {
  return std::string(Compile(SmallGpt(precision, float8), options).status().message());
}

TEST(Float8ErrorsTest, NoProductOfBf16) {
  EXPECT_THAT(
      ErrorOf(Precision::kF32, Of(Float8Recipe::kTensorwise), {}),
      HasSubstr("GraphOptions::float8 applies to no product: it takes matmuls of bf16 by a variable of at "
                "least 16 rows and columns, whose sizes are multiples of 16; set precision to bf16, or "
                "lower Float8::least_features"));
}

TEST(Float8ErrorsTest, NamesOfVariablesLeaveLayersOut) {
  Float8 float8 = Of(Float8Recipe::kTensorwise);
  float8.exclude = {""};  // A part of every name.
  EXPECT_THAT(ErrorOf(Precision::kBf16, float8, {}), HasSubstr("float8 applies to no product"));
}

TEST(Float8ErrorsTest, LeastFeaturesBelowZero) {
  const Float8 float8 = {.recipe = Float8Recipe::kTensorwise, .least_features = -1};
  EXPECT_THAT(ErrorOf(Precision::kBf16, float8, {}), HasSubstr("expected least_features of at least 0"));
}

TEST(Float8ErrorsTest, GpusWithoutFloat8) {
  EXPECT_THAT(
      ErrorOf(Precision::kBf16, Of(Float8Recipe::kTensorwise),
              {.device = Device::Gpu(0), .gpu_architectures = {"sm_80", "sm_90"}}),
      HasSubstr("GraphOptions::float8 asks for products of 8-bit floats, which GPUs of sm_80 lack: set "
                "CompileOptions::gpu_architectures to sm_89, sm_90 or newer, or leave float8 out"));
  EXPECT_THAT(
      ErrorOf(Precision::kBf16, Of(Float8Recipe::kRowwise),
              {.device = Device::Gpu(0), .gpu_architectures = {"sm_89"}}),
      HasSubstr("which GPUs of sm_89 lack: set CompileOptions::gpu_architectures to sm_90, or the recipe "
                "to kTensorwise"));
}

}  // namespace
}  // namespace sinter
