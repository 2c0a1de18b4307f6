// The global norm of gradients in hand, and updates by two optimisers that share one limit of it.
#include "sinter/frontend/optim/global_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using GlobalNormTest = DeviceTest;

TEST_F(GlobalNormTest, IsThatOfAllTogether) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) {
    const Tensor x = b.Input("x", F32, {2}), y = Cast(b.Input("y", F32, {1, 2}), F64);
    b.Output("norm", Cast(optim::GlobalNorm({x, y}), F32));
    b.Output("norm of f32", optim::GlobalNorm({x}));
    const std::vector<Tensor> clipped = optim::ClipByGlobalNorm({x, y}, b.Scalar("most"));
    b.Output("x", clipped[0]);
    b.Output("y", Cast(clipped[1], F32));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, -2}),
                   y = *HostTensor::FromVector<float>({1, 2}, {4, -2});
  const auto run = [&](const HostTensor& a, const HostTensor& c, float most) {
    return *session.Run("f", {{"x", a}, {"y", c}, {"most", most}});
  };
  const Outputs clipped = run(x, y, 2.5f);
  EXPECT_EQ(ToFloats(clipped["norm"])[0], 5);
  EXPECT_NEAR(ToFloats(clipped["norm of f32"])[0], std::sqrt(5.0), 1e-6);
  EXPECT_THAT(ToFloats(clipped["x"]), ::testing::ElementsAre(0.5f, -1));
  EXPECT_THAT(ToFloats(clipped["y"]), ::testing::ElementsAre(2, -1));
  EXPECT_THAT(ToFloats(run(x, y, 6)["x"]), ::testing::ElementsAre(1, -2));
  const HostTensor zeros = *HostTensor::FromVector<float>({2}, {0, 0});
  EXPECT_THAT(ToFloats(run(zeros, *HostTensor::FromVector<float>({1, 2}, {0, 0}), 1)["x"]),
              ::testing::Each(0));
}

// Sgd and Momentum update different parameters; the limit is of the norm of both gradients.
TEST_F(GlobalNormTest, TwoOptimisersShareALimit) {
  Graph graph("g");
  const Variable u = graph.Variable("u", F32, {2}, {.init = {.a = 3}});
  const Variable v = graph.Variable("v", F32, {2}, {.init = {.a = -2}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Read(u), y = b.Read(v);
    const Tensor loss =
        Sum(Square(x * b.Constant(*HostTensor::FromVector<float>({2}, {1, 0.5f})))) + Sum(Square(y - x));
    const std::vector<Tensor> g = optim::ClipByGlobalNorm(Gradients(loss, {x, y}), 1.5);
    optim::Sgd{.learning_rate = 0.1}.Apply({u}, {g[0]});
    optim::Momentum{.learning_rate = 0.2, .momentum = 0.5}.Apply({v}, {g[1]});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  double a[2] = {3, 3}, c[2] = {-2, -2}, velocity[2] = {0, 0};
  bool was_free = false;
  for (int step = 0; step < 100; ++step) {
    ASSERT_TRUE(session.Run("train", {}).ok());
    double ga[2], gc[2], norm = 0;
    for (int i = 0; i < 2; ++i) {
      const double scale = i == 0 ? 1 : 0.25;
      ga[i] = 2 * scale * a[i] - 2 * (c[i] - a[i]);
      gc[i] = 2 * (c[i] - a[i]);
      norm += ga[i] * ga[i] + gc[i] * gc[i];
    }
    const double factor = std::min(1.0, 1.5 / std::sqrt(norm));
    was_free = was_free || factor == 1;
    for (int i = 0; i < 2; ++i) {
      a[i] -= 0.1 * factor * ga[i];
      velocity[i] = 0.5 * velocity[i] + factor * gc[i];
      c[i] -= 0.2 * velocity[i];
    }
    if (step == 3) {
      EXPECT_LT(factor, 1);
    }
  }
  EXPECT_TRUE(was_free);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(VariableFloats(session, "u")[i], a[i], 1e-5) << i;
    EXPECT_NEAR(VariableFloats(session, "v")[i], c[i], 1e-5) << i;
  }
}

class GlobalNormErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(GlobalNormErrorTest, Says) { ExpectSays(GetParam(), "global_norm_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, GlobalNormErrorTest,
    ::testing::Values(
        In("Nothing", [](Builder&) { optim::GlobalNorm({}); }, {"GlobalNorm"}),
        In("Integers", [](Builder& b) { optim::GlobalNorm({X(b), X(b, {2}, I32)}); },
           {"GlobalNorm(f32[2,3], i32[2]) takes gradients of floats, and number 1 from 0 is i32[2]"}),
        In("Limit", [](Builder& b) { optim::ClipByGlobalNorm({X(b)}, 0.0); },
           {"ClipByGlobalNorm(f32[2,3]) needs a norm above 0, got 0"}),
        In("LimitOfAVector", [](Builder& b) { optim::ClipByGlobalNorm({X(b)}, X(b, {2})); },
           {"takes a norm that is a number or a float of rank 0, got f32[2]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
