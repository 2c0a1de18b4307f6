// A Fourier neural operator (Li et al., arXiv 2010.08895) learns the flow of heat from examples.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sinter/frontend/sinter.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int64_t kBatch = 16, kPoints = 32, kChannels = 8, kModes = 5;

// The lowest frequencies of x [batch, channels, points], mixed by complex weights.
Tensor SpectralLayer(Builder& b, const std::string& name, const Tensor& x) {
  const Variable weights = b.MakeVariable(name, F32, {kChannels, kChannels, kModes, 2},
                                          {.init = nn::Normal(1.0 / kChannels).Resolve(0, 0)});
  const Tensor spectrum = SliceDim(Rfft(x), 2, 0, kModes);
  const Tensor products = ComplexMul(ExpandDims(spectrum, 1), b.Read(weights));
  return Irfft(Sum(products, {2}), {.n = x.dim(-1)});
}

// Waves, and what heat leaves of each after a while: less of those of higher frequencies.
struct Heat {
  std::vector<float> before, after;
};
Heat MakeHeat() {
  Heat heat;
  for (int64_t example = 0; example < kBatch; ++example) {
    for (int64_t i = 0; i < kPoints; ++i) {
      double before = 0, after = 0;
      for (int k = 1; k < kModes; ++k) {
        const double angle = 2 * std::numbers::pi * k * static_cast<double>(i) / kPoints;
        const double wave = std::sin(angle + static_cast<double>(example * k)) *
                            std::cos(static_cast<double>(3 * example + k));
        before += wave, after += wave * std::exp(-0.1 * k * k);
      }
      heat.before.push_back(static_cast<float>(before));
      heat.after.push_back(static_cast<float>(after));
    }
  }
  return heat;
}

using FourierOperatorTest = DeviceTest;

TEST_F(FourierOperatorTest, Learns) {
  Graph graph("operator", {.seed = 3});
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Tensor before = b.Input("before", F32, {kBatch, kPoints}),
                 after = b.Input("after", F32, {kBatch, kPoints});
    nn::Linear lift(kChannels), project(1);
    lift.Named("lift");
    project.Named("project");
    Tensor x = Transpose(lift(ExpandDims(before, -1)), {0, 2, 1});
    x = x + SpectralLayer(b, "first", x);
    x = Gelu(x);
    x = x + SpectralLayer(b, "second", x);
    const Tensor loss = Mean(Square(Squeeze(project(Transpose(x, {0, 2, 1})), -1) - after));
    optim::Adam{.learning_rate = 0.01}.Minimize(loss);
    b.Output("loss", loss);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const Heat heat = MakeHeat();
  const HostTensor before = *HostTensor::FromVector<float>({kBatch, kPoints}, heat.before);
  const HostTensor after = *HostTensor::FromVector<float>({kBatch, kPoints}, heat.after);
  std::vector<double> losses;
  for (int step = 0; step < 200; ++step) {
    const auto outputs = session.Run("train", {{"before", before}, {"after", after}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    losses.push_back((*(*outputs)["loss"].Span<float>())[0]);
  }
  EXPECT_LT(losses.back(), 0.02 * losses.front()) << losses.front();
}

}  // namespace
}  // namespace sinter
