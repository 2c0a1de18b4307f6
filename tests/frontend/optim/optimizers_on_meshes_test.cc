// Rules, hooks and averages that need whole parameters, on meshes that cut them: the same as on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int64_t kMeshRows = 8, kMeshWidth = 16, kMeshHidden = 32;

using MeshUpdate = std::function<void(const Tensor& loss, const nn::Module& net)>;

// Trains an MLP by `update`; "eval" reads averages if there are any.
Graph MeshMlp(const MeshUpdate& update, bool averages) {
  Graph graph("net", {.seed = 3});
  const nn::Module net = nn::Residual{nn::Linear(kMeshHidden, {.out_dim = "mlp"}), nn::Relu(),
                                      nn::Linear(kMeshWidth, {.in_dim = "mlp"})};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    update(Mean(Square(net(b.Input("x", F32, {kMeshRows, kMeshWidth})))), net);
  });
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {kMeshRows, kMeshWidth});
    if (averages) {
      optim::UseAverages use(b);
      b.Output("y", net(x));
    } else {
      b.Output("y", net(x));
    }
  });
  return graph;
}

// Returns the outputs of "eval" after three steps.
std::vector<float> TrainedOn(const Graph& graph, const CompileOptions& options) {
  Session session = MustStart(graph, options);
  std::vector<float> x;
  for (int i = 0; i < kMeshRows * kMeshWidth; ++i) x.push_back(0.1f * static_cast<float>(i * i % 17));
  const HostTensor input = *HostTensor::FromVector<float>({kMeshRows, kMeshWidth}, x);
  for (int step = 0; step < 3; ++step) SINTER_CHECK(session.Run("train", {{"x", input}}).ok());
  return Floats(session, "eval", {{"x", input}}, "y");
}

void ExpectSameOnMeshes(const MeshUpdate& update, bool averages = false) {
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  const Graph graph = MeshMlp(update, averages);
  const std::vector<float> expected = TrainedOn(graph, {});
  CompileOptions zero, tensor;
  zero.mesh.axes = {{"data", 2}};
  tensor.mesh.axes = {{"data", 2}, {"tensor", 2}};
  tensor.parallel = {parallel::Data{}, parallel::Tensor{}};
  EXPECT_THAT(TrainedOn(graph, tensor), ::testing::Pointwise(::testing::FloatNear(1e-4f), expected));
  for (const int level : {1, 3}) {
    SCOPED_TRACE(level);
    zero.parallel = {parallel::Data{}, parallel::Zero{.level = level, .least_bytes = 1024}};
    EXPECT_THAT(TrainedOn(graph, zero), ::testing::Pointwise(::testing::FloatNear(1e-4f), expected));
  }
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(OptimizersOnMeshesTest, HooksSeeWholeGradients) {
  ExpectSameOnMeshes([](const Tensor& loss, const nn::Module&) {
    const auto center = [](optim::Gradients& g) {
      for (size_t i = 0; i < g.size(); ++i) g.Set(i, g[i] - Mean(g[i]));
    };
    optim::Momentum{.learning_rate = 0.05}.Minimize(
        loss, {.hooks = {center, optim::Lars({.trust = 0.5}), optim::Lasso(0.01), optim::ClipNorm(0.5),
                         optim::ClipValue(0.05)}});
  });
}

TEST(OptimizersOnMeshesTest, RulesOfMatrices) {
  ExpectSameOnMeshes([](const Tensor& loss, const nn::Module& net) {
    optim::Muon{}.Minimize(loss, {.parameters = net.parameters(Glob("*weight"))});
    optim::Adafactor{}.Minimize(loss, {.parameters = net.parameters(Glob("*bias"))});
  });
  ExpectSameOnMeshes([](const Tensor& loss, const nn::Module&) { optim::Adafactor{}.Minimize(loss); });
}

TEST(OptimizersOnMeshesTest, Averages) {
  ExpectSameOnMeshes(
      [](const Tensor& loss, const nn::Module&) {
        optim::Adam{.learning_rate = optim::LinearDecay(0.05, 3)}.Minimize(
            loss, {.average = optim::Ema{.decay = 0.5}});
      },
      /*averages=*/true);
}

}  // namespace
}  // namespace sinter
