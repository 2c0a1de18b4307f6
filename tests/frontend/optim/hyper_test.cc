// Hyper-parameters that are tensors or schedules, compared with numbers and with the program's schedules.
#include "sinter/frontend/optim/hyper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor HyperLoss(Builder& b) {
  const Variable w = b.MakeVariable("w", F32, {3}, {.init = {.a = 1}});
  return Sum(Square(b.Read(w) - b.Constant(*HostTensor::FromVector<float>({3}, {0.5, 3, -2}))));
}

using HyperTest = DeviceTest;

TEST_F(HyperTest, SchedulesOnTheDeviceAreThoseOfTheProgram) {
  const std::vector<optim::RateSchedule> schedules = {
      optim::ConstantRate(0.3),          optim::StepDecay(1.0, 0.5, 4),
      optim::ExponentialDecay(0.5, 0.9), optim::PiecewiseRate({{0, 1.0}, {3, 0.1}, {7, 0.25}}),
      optim::LinearDecay(1.0, 10, 0.25), optim::WarmupCosine(1.0, 4, 14, 0.1),
      optim::WarmupCosine(1.0, 0, 14)};
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    for (size_t i = 0; i < schedules.size(); ++i) {
      const Variable w = b.MakeVariable("w" + std::to_string(i), F32, {1}, {.init = {.a = 0}});
      b.Assign(w, b.Zeros(F32, {1}));
      optim::Sgd{.learning_rate = schedules[i]}.Apply({w}, {b.Full(F32, {1}, -1)});
    }
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int step = 0; step < 20; ++step) {
    ASSERT_TRUE(session.Run("train", {}).ok());
    for (size_t i = 0; i < schedules.size(); ++i) {
      EXPECT_NEAR(VariableFloats(session, "w" + std::to_string(i))[0], schedules[i](step), 1e-6)
          << i << " at " << step;
    }
  }
}

TEST_F(HyperTest, TensorsGiveWhatNumbersGive) {
  Graph graph("g");
  const auto build = [&](const std::string& name, const optim::AdamW& rule, double rate_scale) {
    graph.Function(name, Mode::kTrain, [&](Builder& b) {
      const Variable w = b.MakeVariable(name + ".w", F32, {3}, {.init = {.a = 1}});
      const Tensor target = b.Constant(*HostTensor::FromVector<float>({3}, {0.5, 3, -2}));
      rule.Minimize(Sum(Square(b.Read(w) - target)),
                    {.groups = {{.of = Glob("*"), .rate_scale = rate_scale}}, .hooks = {optim::ClipNorm(2)}});
    });
  };
  build("numbers", {.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.2},
        2);
  graph.Function("tensors", Mode::kTrain, [&](Builder& b) {
    const Variable w = b.MakeVariable("tensors.w", F32, {3}, {.init = {.a = 1}});
    const Tensor target = b.Constant(*HostTensor::FromVector<float>({3}, {0.5, 3, -2}));
    optim::AdamW{.learning_rate = b.Scalar("lr"),
                 .beta1 = b.Scalar("beta1"),
                 .beta2 = optim::ConstantRate(0.9),
                 .epsilon = b.Scalar("epsilon"),
                 .weight_decay = b.Scalar("decay")}
        .Minimize(Sum(Square(b.Read(w) - target)), {.groups = {{.of = Glob("*"), .rate_scale = 2}},
                                                    .hooks = {optim::ClipNorm(b.Scalar("most"))}});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int step = 0; step < 30; ++step) {
    ASSERT_TRUE(session.Run("numbers", {}).ok());
    ASSERT_TRUE(session
                    .Run("tensors",
                         {{"lr", 0.1f}, {"beta1", 0.8f}, {"epsilon", 1e-3f}, {"decay", 0.2f}, {"most", 2.0f}})
                    .ok());
  }
  EXPECT_THAT(VariableFloats(session, "tensors.w"),
              Pointwise(FloatNear(2e-5f), VariableFloats(session, "numbers.w")));
}

TEST_F(HyperTest, RectifiedAdamTakesABeta2OfTheRun) {
  Graph graph("g");
  const auto minimize = [](Builder& b, const std::string& name, const optim::Hyper& beta2) {
    const Variable w = b.MakeVariable(name, F32, {3}, {.init = {.a = 1}});
    const Tensor target = b.Constant(*HostTensor::FromVector<float>({3}, {0.5, 3, -2}));
    optim::RAdam{.learning_rate = 0.05, .beta2 = beta2}.Minimize(Sum(Square(b.Read(w) - target)));
  };
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    minimize(b, "number", 0.9);
    minimize(b, "tensor", b.Scalar("beta2"));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(session.Run("train", {{"beta2", 0.9f}}).ok());
  EXPECT_THAT(VariableFloats(session, "tensor"),
              Pointwise(FloatNear(2e-5f), VariableFloats(session, "number")));
  EXPECT_NE(VariableFloats(session, "tensor")[0], 1);
}

// The count of a schedule is that of the updates, and an update that is dropped does not count.
TEST_F(HyperTest, DroppedUpdatesDoNotAdvanceASchedule) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable w = b.MakeVariable("w", F32, {1});
    optim::Sgd{.learning_rate = optim::PiecewiseRate({{0, 1.0}, {1, 0.25}})}.Minimize(
        Sum(b.Read(w) * b.Scalar("x")), {.loss_scale = optim::LossScale{.initial = 2}});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (const float x : {INFINITY, 1.0f, NAN, 1.0f}) ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  EXPECT_EQ(VariableFloats(session, "w")[0], -1.25f);
  EXPECT_EQ((*session.ReadVariable("sgd/step")->Span<int64_t>())[0], 2);
}

class HyperErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(HyperErrorTest, Says) { ExpectSays(GetParam(), "hyper_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, HyperErrorTest,
    ::testing::Values(
        In("TensorShape", [](Builder& b) { optim::Adam{.beta1 = X(b, {2})}.Minimize(HyperLoss(b)); },
           {"optim::Adam: Minimize(f32[]) takes a beta1 that is a number, f32[] or a schedule, got f32[2]"}),
        In("TensorType", [](Builder& b) { optim::Adam{.epsilon = X(b, {}, I32)}.Minimize(HyperLoss(b)); },
           {"takes an epsilon that is a number, f32[] or a schedule, got i32[]"}),
        In("OfTheProgram",
           [](Builder& b) {
             const optim::RateSchedule own = [](int64_t step) { return 1.0f / static_cast<float>(step + 1); };
             optim::Sgd{.learning_rate = own}.Minimize(HyperLoss(b));
           },
           {"takes a learning rate from a function of the program", "b.Scalar(...)"}),
        In("WrongSchedule",
           [](Builder& b) { optim::Sgd{.learning_rate = optim::LinearDecay(1, 0)}.Minimize(HyperLoss(b)); },
           {"has a schedule with an error: ", "LinearDecay needs a number of steps of at least 1, got 0"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
