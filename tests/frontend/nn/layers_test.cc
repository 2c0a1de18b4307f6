// Options of layers: norms without scale and offset, and embeddings whose padding gets no gradient.
#include "sinter/frontend/nn/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using LayerOptionsTest = DeviceTest;

// Returns x less its mean, divided by the root of its variance and epsilon.
std::vector<double> Standard(const std::vector<double>& x, double epsilon) {
  double mean = 0, variance = 0;
  for (const double element : x) mean += element / static_cast<double>(x.size());
  for (const double element : x)
    variance += (element - mean) * (element - mean) / static_cast<double>(x.size());
  std::vector<double> y;
  for (const double element : x) y.push_back((element - mean) / std::sqrt(variance + epsilon));
  return y;
}

TEST_F(LayerOptionsTest, NormsMayHaveNoScaleAndOffset) {
  const nn::NormLayerOptions options = {.epsilon = 0.01, .affine = false};
  const std::vector<double> x = Waves(24);
  std::vector<std::string> names;
  ModuleRun run([&](Builder& b) {
    const Tensor in = Vector(b, x, {2, 4, 3});
    const std::map<std::string, nn::Module> norms = {{"layer", nn::LayerNorm(options)},
                                                     {"rms", nn::RmsNorm(options)},
                                                     {"group", nn::GroupNorm(2, options)},
                                                     {"instance", nn::InstanceNorm(options)}};
    for (const auto& [name, norm] : norms) {
      b.Output(name, norm(in));
      EXPECT_THAT(norm.parameters(), IsEmpty());
      EXPECT_THAT(norm.state(), IsEmpty());
    }
    b.Output("plain", nn::LayerNorm(0.01)(in));
  });
  const auto expect = [&](const std::string& name, size_t size) {
    for (size_t from = 0; from < x.size(); from += size) {
      const auto at = static_cast<ptrdiff_t>(from), end = static_cast<ptrdiff_t>(from + size);
      const std::vector<double>& got = run.outputs[name];
      ExpectNear({got.begin() + at, got.begin() + end}, Standard({x.begin() + at, x.begin() + end}, 0.01));
    }
  };
  expect("layer", 3);
  expect("plain", 3);
  expect("group", 6);
  expect("instance", 3);
  for (size_t row = 0; row < 8; ++row) {
    double square = 0;
    for (size_t i = 0; i < 3; ++i) square += x[row * 3 + i] * x[row * 3 + i] / 3;
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(run.outputs["rms"][row * 3 + i], x[row * 3 + i] / std::sqrt(square + 0.01), 1e-11);
  }
}

TEST_F(LayerOptionsTest, NormsWithoutScaleHaveTheGradientsOfDifferences) {
  const nn::NormLayerOptions options = {.affine = false};
  ExpectGradient(Waves(12), {2, 2, 3}, [&](Builder& b, const Tensor& x) {
    const Tensor factors = Vector(b, Waves(12, 3), {2, 2, 3});
    return Sum((nn::LayerNorm(options)(x) + nn::GroupNorm(1, options)(x)) * factors) +
           Sum((nn::RmsNorm(options)(x) + nn::BatchNorm({.affine = false})(x)) * factors);
  });
}

TEST_F(LayerOptionsTest, BatchNormsWithoutScaleKeepStatistics) {
  const std::vector<double> x = Waves(12);
  nn::BatchNorm norm({.epsilon = 0.01, .momentum = 0.5, .affine = false});
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) { b.Output("y", norm(Vector(b, x, {4, 3}))); });
  graph.Function("predict", Mode::kEval, [&](Builder& b) { b.Output("y", norm(Vector(b, x, {4, 3}))); });
  EXPECT_THAT(norm.parameters(), IsEmpty());
  ASSERT_EQ(norm.state().size(), 2u);
  Session session = MustStart(graph, {.device = TestDevice()});
  const std::vector<double> trained = Doubles((*session.Run("train", {}))["y"]);
  const std::vector<double> mean = Doubles(*session.ReadVariable("running_mean"));
  const std::vector<double> variance = Doubles(*session.ReadVariable("running_variance"));
  const std::vector<double> predicted = Doubles((*session.Run("predict", {}))["y"]);
  for (size_t c = 0; c < 3; ++c) {
    const std::vector<double> want = Standard({x[c], x[c + 3], x[c + 6], x[c + 9]}, 0.01);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(trained[i * 3 + c], want[i], 1e-11);
      EXPECT_NEAR(predicted[i * 3 + c], (x[i * 3 + c] - mean[c]) / std::sqrt(variance[c] + 0.01), 1e-11);
    }
  }
}

constexpr int64_t kIds = 6, kVector = 3, kPadding = 2;

// Values of an embedding before and after some updates, and of its results.
struct TrainedEmbedding {
  std::vector<float> first, last, read;
};
TrainedEmbedding TrainEmbedding(std::optional<int64_t> padding, bool touched_rows_only) {
  nn::Embedding embedding(kIds, kVector, {.padding_id = padding});
  Graph graph("g", {.seed = 8});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor y = embedding(Whole(b, {2, 0, 5, 2, 1, 0}, {2, 3}));
    const Tensor loss = Sum(Square(y - 0.5) * Cast(b.Iota(I32, {2, 3, 1}, 1) + 1, F32));
    optim::UpdateOptions<optim::Adam> options;
    options.groups.push_back({.of = Glob("weight"), .touched_rows_only = touched_rows_only});
    optim::Adam{.learning_rate = 0.1}.Minimize(loss, options);
    b.Output("y", y);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  TrainedEmbedding trained;
  trained.first = VariableFloats(session, "weight");
  for (int step = 0; step < 3; ++step) trained.read = Floats(session, "train", {}, "y");
  trained.last = VariableFloats(session, "weight");
  return trained;
}

TEST_F(LayerOptionsTest, PaddingStartsAsZerosAndGetsNoGradient) {
  const TrainedEmbedding plain = TrainEmbedding(std::nullopt, false);
  for (const bool touched_rows_only : {false, true}) {
    const TrainedEmbedding padded = TrainEmbedding(kPadding, touched_rows_only);
    for (int64_t row = 0; row < kIds; ++row) {
      for (int64_t d = 0; d < kVector; ++d) {
        const auto i = static_cast<size_t>(row * kVector + d);
        EXPECT_EQ(padded.first[i], row == kPadding ? 0 : plain.first[i]);
        EXPECT_NEAR(padded.last[i], row == kPadding ? 0 : plain.last[i], row == kPadding ? 0 : 1e-6);
      }
    }
    EXPECT_NE(plain.last[kPadding * kVector], plain.first[kPadding * kVector]);
    for (const size_t position : {0, 3}) {
      for (size_t d = 0; d < kVector; ++d) EXPECT_EQ(padded.read[position * kVector + d], 0);
    }
  }
}

// The vector of the padding is one like others, but for its first values and its gradient.
TEST_F(LayerOptionsTest, PaddingMayBeWritten) {
  nn::Embedding embedding(3, 2, {.weight = nn::Ones(), .padding_id = 1});
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor y = embedding(Whole(b, {0, 1, 2}));
    b.Output("y", y);
    b.Output("gradient", Gradients(Sum(Square(y)), {b.Read(embedding.parameters()[0])})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "f", {}, "y"), ElementsAre(1, 1, 0, 0, 1, 1));
  ASSERT_TRUE(
      session.WriteVariable("weight", *HostTensor::FromVector<float>({3, 2}, {1, 2, 3, 4, 5, 6})).ok());
  EXPECT_THAT(Floats(session, "f", {}, "y"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Floats(session, "f", {}, "gradient"), ElementsAre(2, 4, 0, 0, 10, 12));
}

class LayerOptionsErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(LayerOptionsErrorTest, Says) { ExpectSays(GetParam(), "layers_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, LayerOptionsErrorTest,
    ::testing::Values(In("PaddingBehind",
                         [](Builder& b) { nn::Embedding(4, 2, {.padding_id = 4})(X(b, {2}, I32)); },
                         {"has a padding_id of 4; expected an id from 0 to 3"}),
                      In("PaddingBelow",
                         [](Builder& b) { nn::Embedding(4, 2, {.padding_id = -1})(X(b, {2}, I32)); },
                         {"has a padding_id of -1"}),
                      In("Projection", [](Builder& b) { nn::Lstm(4, {.projection = 4})(X(b, {1, 2, 3})); },
                         {"has a projection to 4; expected less than its 4 units"}),
                      In("ProjectedGru", [](Builder& b) { nn::Gru(4, {.projection = 2})(X(b, {1, 2, 3})); },
                         {"has a projection, which is of Lstm alone"}),
                      In("ProjectedState",
                         [](Builder& b) {
                           nn::LstmState first = {X(b, {1, 1, 4}), X(b, {1, 1, 4})};
                           nn::Lstm(4, {.projection = 2})(X(b, {1, 2, 3}), {.first = first});
                         },
                         {"is given a state of f32[1,1,4]; expected [1,1,2]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
