// Initialisers: properties of the values that sessions start with, and errors.
#include "sinter/frontend/nn/initializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "sinter/frontend/nn/layers.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"
#include "sinter/tests/moments.h"

namespace sinter {
namespace {

using InitializerTest = DeviceTest;

// The values of a variable with these fans, at the start of a session of a compiled plan.
std::vector<double> StartOf(const nn::Initializer& initializer, const Shape& shape, double fan_in = 1,
                            DType dtype = DType::kF32,
                            const CompileOptions& options = {.device = TestDevice()}) {
  Graph graph("g", {.seed = 11});
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Variable w = b.MakeVariable("w", dtype, shape, {.init = initializer.Resolve(fan_in, 1)});
    b.Output("y", Sum(Cast(b.Read(w), F32)));
  });
  Session session = MustStart(graph, options);
  return Doubles(*session.ReadVariable("w"));
}

TEST_F(InitializerTest, TruncatedNormalsKeepToTheirRange) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const std::vector<double> x = StartOf(nn::TruncatedNormal(0.5, 3, -1, 2), {200, 200}, 1, dtype);
    for (const double value : x) {
      ASSERT_GE(value, 2.5);
      ASSERT_LE(value, 4);
    }
    // Moments of a normal distribution cut to [-1, 2]: 0.2296 and 0.7215 of its deviation.
    EXPECT_NEAR(MeanOf(x), 3 + 0.5 * 0.22964, 0.006);
    EXPECT_NEAR(std::sqrt(VarianceOf(x)), 0.5 * 0.72148, 0.006);
  }
}

TEST_F(InitializerTest, VarianceScalingOfTruncatedNormalsHasTheVariance) {
  const std::vector<double> x = StartOf(
      nn::VarianceScaling(2, nn::Initializer::Fan::kIn, nn::Spread::kTruncatedNormal), {300, 200}, 50);
  EXPECT_NEAR(MeanOf(x), 0, 0.004);
  EXPECT_NEAR(std::sqrt(VarianceOf(x)), std::sqrt(2.0 / 50), 0.003);
  for (const double value : x) ASSERT_LE(std::fabs(value), 2 * std::sqrt(2.0 / 50) / 0.8796 + 1e-6);
}

TEST_F(InitializerTest, OrthogonalMatrices) {
  constexpr size_t kRows = 12, kColumns = 20;
  const std::vector<double> q = StartOf(nn::Orthogonal(3), {kRows, kColumns});
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t j = 0; j < kRows; ++j) {
      double dot = 0;
      for (size_t c = 0; c < kColumns; ++c) dot += q[i * kColumns + c] * q[j * kColumns + c];
      EXPECT_NEAR(dot, i == j ? 9 : 0, 1e-5);
    }
  }
}

TEST_F(InitializerTest, EyeAndDirac) {
  EXPECT_EQ(StartOf(nn::Eye(2), {2, 3}), (std::vector<double>{2, 0, 0, 0, 2, 0}));
  EXPECT_EQ(StartOf(nn::Eye(), {2, 2}, 1, DType::kI32), (std::vector<double>{1, 0, 0, 1}));
  // A convolution with it returns its input.
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) {
    const Tensor x = b.Constant(*HostTensor::FromVector<float>({1, 4, 3, 5}, [] {
      std::vector<float> values;
      for (int i = 0; i < 60; ++i) values.push_back(static_cast<float>(i));
      return values;
    }()));
    nn::Module same = nn::Conv2d(4, 3, {.padding = {1, 1, 1, 1}, .groups = 2, .weight = nn::Dirac(2)});
    b.Output("difference", Max(Abs(same(x) - x)));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_EQ(Floats(session, "f", {}, "difference")[0], 0);
  const std::vector<double> line = StartOf(nn::Dirac(), {3, 2, 4});
  EXPECT_EQ(line,
            (std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(InitializerTest, SparseColumnsHaveAsManyZeros) {
  constexpr size_t kRows = 25, kColumns = 40;
  const std::vector<double> w = StartOf(nn::Sparse(0.3, 2), {kRows, kColumns});
  std::vector<double> others;
  std::vector<int> by_row(kRows, 0);
  for (size_t c = 0; c < kColumns; ++c) {
    int zeros = 0;
    for (size_t r = 0; r < kRows; ++r) {
      if (w[r * kColumns + c] == 0) {
        ++zeros, ++by_row[r];
      } else {
        others.push_back(w[r * kColumns + c]);
      }
    }
    EXPECT_EQ(zeros, 8) << c;  // 0.3 * 25, rounded up.
  }
  for (const int zeros : by_row) EXPECT_GT(zeros, 1);  // Not the same rows in all columns.
  EXPECT_NEAR(std::sqrt(VarianceOf(others)), 2, 0.2);
}

TEST_F(InitializerTest, DeltaOrthogonalKernelsKeepNorms) {
  constexpr size_t kOut = 6, kIn = 4;
  const std::vector<double> w = StartOf(nn::DeltaOrthogonal(2), {kOut, kIn, 3, 3});
  for (size_t i = 0; i < w.size(); ++i) {
    if (i % 9 != 4) {
      EXPECT_EQ(w[i], 0);
    }
  }
  for (size_t i = 0; i < kIn; ++i) {
    for (size_t j = 0; j < kIn; ++j) {
      double dot = 0;
      for (size_t o = 0; o < kOut; ++o) dot += w[(o * kIn + i) * 9 + 4] * w[(o * kIn + j) * 9 + 4];
      EXPECT_NEAR(dot, i == j ? 4 : 0, 1e-5);
    }
  }
}

TEST_F(InitializerTest, FromATensorAndAFunction) {
  const HostTensor some = *HostTensor::FromVector<float>({2, 2}, {1, -2, 3.5, 0});
  EXPECT_EQ(StartOf(nn::FromTensor(some), {2, 2}), (std::vector<double>{1, -2, 3.5, 0}));
  EXPECT_TRUE(StartOf(nn::FromFunction([](DType dtype, const Shape&, int64_t) {
                        return HostTensor::Zeros(dtype, {0, 3});
                      }),
                      {0, 3})
                  .empty());
  const auto seeds = nn::FromFunction(
      [](DType, const Shape&, int64_t seed) { return HostTensor::FromVector<int64_t>({1}, {seed}); });
  Graph graph("g");
  const VariableInit init = seeds.Resolve(1, 1);
  graph.Variable("a", I64, {1}, {.init = init});
  graph.Variable("b", I64, {1}, {.init = init});
  graph.Function("f", Mode::kEval, [](Builder& b) { b.Output("y", b.Full(F32, {}, 1)); });
  Session session = MustStart(graph);
  EXPECT_NE(session.ReadVariable("a")->Span<int64_t>()->front(),
            session.ReadVariable("b")->Span<int64_t>()->front());
}

// Ranks that hold parts of a variable start with their parts of the same values.
TEST(InitializerOnMeshesTest, PartsHaveTheValuesOfTheWhole) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  for (const bool truncated : {false, true}) {
    const nn::Initializer init = truncated ? nn::TruncatedNormal(1) : nn::Sparse(0.5, 1);
    const auto start = [&](const CompileOptions& options) {
      Graph graph("g", {.seed = 11});
      const nn::Module net = nn::Linear(64, {.weight = init});
      graph.Function("f", Mode::kTrain, [&](Builder& b) {
        optim::Sgd{}.Minimize(Mean(Square(net(b.Input("x", F32, {8, 32})))));
      });
      Session session = MustStart(graph, options);
      return VariableFloats(session, "weight");
    };
    CompileOptions cut;
    cut.mesh.axes = {{"data", 2}};
    cut.parallel = {parallel::Data{}, parallel::Zero{.level = 3, .least_bytes = 1024}};
    EXPECT_EQ(start(cut), start({}));
  }
  unsetenv("SINTER_CPU_DEVICES");
}

class InitializerErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(InitializerErrorTest, Says) { ExpectSays(GetParam(), "initializer_test.cc:"); }

ErrorCase Bad(const std::string& name, const nn::Initializer& init, const Shape& shape,
              const std::string& says) {
  return In(name, [=](Builder& b) { b.MakeVariable("w", F32, shape, {.init = init.Resolve(1, 1)}); }, {says});
}

INSTANTIATE_TEST_SUITE_P(
    Cases, InitializerErrorTest,
    ::testing::Values(
        Bad("Eye", nn::Eye(), {3},
            "cannot start as the identity, which takes rank 2; nn::Dirac is for kernels"),
        Bad("Dirac", nn::Dirac(2), {3, 2, 3}, "cannot start from Dirac(2), which takes kernels"),
        Bad("Sparse", nn::Sparse(2), {3, 3}, "cannot start from Sparse(2, 0.01), which takes rank 2"),
        Bad("Delta", nn::DeltaOrthogonal(), {2, 3, 3}, "with out >= in"),
        Bad("Range", nn::TruncatedNormal(1, 0, 2, -2), {3},
            "needs an initialiser with low < high, got 2 and -2"),
        Bad("Deviation", nn::TruncatedNormal(-1), {3}, "a deviation of at least 0"),
        Bad("Tensor", nn::FromTensor(*HostTensor::FromVector<float>({2}, {1, 2})), {3},
            "of f32[3] gets initial values of f32[2]; they must be of its type"),
        Bad("Function", nn::FromFunction([](DType, const Shape&, int64_t) -> absl::StatusOr<HostTensor> {
              return absl::NotFoundError("has no file");
            }),
            {3}, "has no file")),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
