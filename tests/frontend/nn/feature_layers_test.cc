// Layers of features against loops over their formulas.
#include "sinter/frontend/nn/feature_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sinter/frontend/nn/image_layers.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using FeatureLayersTest = DeviceTest;

TEST_F(FeatureLayersTest, MaxoutTakesTheLargestPiece) {
  const std::vector<double> x = Waves(8);
  ModuleRun run([&](Builder& b) { b.Output("y", nn::Maxout(3, 2)(Vector(b, x, {2, 4}))); });
  const std::vector<double> all = Product(x, run.variables["linear.weight"], 4, 6);
  std::vector<double> want;
  for (size_t i = 0; i < all.size(); i += 2) want.push_back(std::max(all[i], all[i + 1]));
  ExpectNear(run.outputs["y"], want);
}

TEST_F(FeatureLayersTest, HighwayMixesWithItsInput) {
  const std::vector<double> x = Waves(6);
  for (const bool tanh : {false, true}) {
    ModuleRun run([&](Builder& b) {
      nn::HighwayOptions options{.gate_bias = -0.5};
      if (tanh) options.activation = [](const Tensor& t) { return Tanh(t); };
      b.Output("y", nn::Highway(options)(Vector(b, x, {2, 3})));
    });
    const std::vector<double> plain = Product(x, run.variables["plain.weight"], 3, 3),
                              gate = Product(x, run.variables["gate.weight"], 3, 3);
    std::vector<double> want;
    for (size_t i = 0; i < 6; ++i) {
      const double open = 1 / (1 + std::exp(0.5 - gate[i]));
      want.push_back(open * (tanh ? std::tanh(plain[i]) : std::max(0.0, plain[i])) + (1 - open) * x[i]);
    }
    ExpectNear(run.outputs["y"], want);
  }
}

TEST_F(FeatureLayersTest, BilinearSumsOverPairs) {
  const std::vector<double> x = Waves(12), y = Waves(8, 3);
  ModuleRun run([&](Builder& b) {
    const nn::Bilinear layer(5, {.bias_init = nn::Constant(0.25)});
    b.Output("z", layer(Vector(b, x, {2, 2, 3}), Vector(b, y, {2, 2, 2})));
  });
  std::vector<double> want;
  const std::vector<double>& w = run.variables["weight"];
  for (size_t r = 0; r < 4; ++r)
    for (size_t o = 0; o < 5; ++o) {
      double sum = 0.25;
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 2; ++j) sum += x[r * 3 + i] * w[(o * 3 + i) * 2 + j] * y[r * 2 + j];
      want.push_back(sum);
    }
  ExpectNear(run.outputs["z"], want);
}

TEST_F(FeatureLayersTest, EmbeddingBags) {
  const std::vector<int32_t> ids = {1, 4, 4, 2, 0, 0, 0, 3, 0};  // 3 bags; 0 is padding.
  for (const nn::Pooling pooling : {nn::Pooling::kSum, nn::Pooling::kMean, nn::Pooling::kMax}) {
    for (const bool padded : {false, true}) {
      ModuleRun run([&](Builder& b) {
        nn::EmbeddingBagOptions options{.pooling = pooling, .dtype = F64};
        if (padded) options.padding_id = 0;
        b.Output("y", nn::EmbeddingBag(5, 2, options)(Whole(b, ids, {3, 3})));
      });
      const std::vector<double>& w = run.variables["weight"];
      std::vector<double> want;
      for (size_t bag = 0; bag < 3; ++bag)
        for (size_t d = 0; d < 2; ++d) {
          double sum = 0, largest = -1e9;
          int count = 0;
          for (size_t i = 0; i < 3; ++i) {
            const int32_t id = ids[bag * 3 + i];
            if (padded && id == 0) continue;
            const double value = w[static_cast<size_t>(id) * 2 + d];
            sum += value;
            largest = std::max(largest, value);
            ++count;
          }
          want.push_back(count == 0                      ? 0
                         : pooling == nn::Pooling::kSum  ? sum
                         : pooling == nn::Pooling::kMean ? sum / count
                                                         : largest);
        }
      ExpectNear(run.outputs["y"], want);
    }
  }
}

TEST_F(FeatureLayersTest, SpatialDropoutDropsChannels) {
  const auto body = [](Builder& b) {
    b.Output("y", nn::SpatialDropout(0.25)(b.Ones(F32, {50, 20, 3, 2})));
    b.Output("same", nn::Identity()(b.Full(F32, {2}, 3)));
  };
  ModuleRun train(body, Mode::kTrain), eval(body, Mode::kEval);
  EXPECT_EQ(eval.outputs["y"], std::vector<double>(6000, 1));
  EXPECT_EQ(eval.outputs["same"], (std::vector<double>{3, 3}));
  int dropped = 0;
  for (size_t c = 0; c < 1000; ++c) {
    const double first = train.outputs["y"][c * 6];
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(train.outputs["y"][c * 6 + i], first);
    if (first == 0) {
      ++dropped;
    } else {
      EXPECT_NEAR(first, 4.0 / 3, 1e-6);
    }
  }
  EXPECT_NEAR(dropped, 250, 55);
}

TEST_F(FeatureLayersTest, SignalsAndPixels) {
  ModuleRun run([](Builder& b) {
    const Tensor x = Vector(b, {1, 4, 2, 3, 0, -1}, {1, 1, 6});
    b.Output("max", nn::MaxPool1d(2)(x));
    b.Output("avg", nn::AvgPool1d(3)(x));
    b.Output("pixels", nn::PixelUnshuffle(2)(Vector(b, {1, 2, 3, 4}, {1, 1, 2, 2})));
  });
  EXPECT_EQ(run.outputs["max"], (std::vector<double>{4, 3, 0}));
  ExpectNear(run.outputs["avg"], {7.0 / 3, 2.0 / 3});
  EXPECT_EQ(run.outputs["pixels"], (std::vector<double>{1, 2, 3, 4}));
}

TEST_F(FeatureLayersTest, GradientsAreThoseOfDifferences) {
  ExpectGradient(Waves(6), {2, 3}, [](Builder&, const Tensor& x) {
    const nn::Maxout maxout = nn::Maxout(3, 2);
    const nn::Highway highway;
    const nn::Bilinear bilinear(2);
    nn::Module first = maxout, second = highway;
    return Sum(Square(second.Named("h")(first.Named("m")(x)))) + Sum(Square(bilinear(x, x * 0.5)));
  });
}

class FeatureErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(FeatureErrorTest, Says) { ExpectSays(GetParam(), "feature_layers_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, FeatureErrorTest,
    ::testing::Values(
        In("MaxoutPieces", [](Builder& b) { nn::Maxout(3, 0)(X(b)); },
           {"Maxout(3, 0)", "needs at least one output feature and one piece"}),
        In("HighwayRank", [](Builder& b) { nn::Highway()(X(b, {})); }, {"rank 1 or more"}),
        In("BilinearPairs", [](Builder& b) { nn::Bilinear(2)(X(b), X(b, {3, 3})); },
           {"Bilinear(2)",
            "takes pairs that differ only in their last dimension, got f32[2,3] and f32[3,3]"}),
        In("BilinearRank", [](Builder& b) { nn::Bilinear(2)(X(b, {}), X(b, {})); }, {"rank 1 or more"}),
        In("BilinearOut", [](Builder& b) { nn::Bilinear(0)(X(b), X(b)); },
           {"needs at least one output feature"}),
        In("BagType", [](Builder& b) { nn::EmbeddingBag(3, 2)(X(b)); },
           {"EmbeddingBag(3, 2)", "takes i32 or i64 ids [..., n]"}),
        In("BagSize", [](Builder& b) { nn::EmbeddingBag(0, 2)(X(b, {2, 3}, I32)); },
           {"needs at least one vector"}),
        In("SpatialProbability", [](Builder& b) { nn::SpatialDropout(1.5)(X(b)); }, {"a probability"}),
        In("SpatialRank", [](Builder& b) { nn::SpatialDropout(0.5)(X(b, {3})); },
           {"takes floats [N, C, ...]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
