// Averages of the weights, and functions that read them.
#include "sinter/frontend/optim/averages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

// A graph whose function "train" adds "x" to "w", which begins at 8, and whose function "eval" outputs the
// average.
Graph Adding(const optim::Average& average, const optim::UpdateOptions<optim::Sgd>& more = {},
             DType dtype = F32) {
  Graph graph("g");
  const Variable w = graph.Variable("w", dtype, {2}, {.init = {.a = 8}});
  const Variable other = graph.Variable("other", F32, {}, {.init = {.a = 3}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::UpdateOptions<optim::Sgd> options = more;
    options.average = average;
    optim::Sgd{.learning_rate = 1}.Minimize(Sum(Cast(b.Read(w), F32)) * -b.Scalar("x"), options);
  });
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    {
      optim::UseAverages averages(b);
      b.Output("average", Cast(b.Read(w), F32));
      b.Output("other", b.Read(other));
    }
    b.Output("w", Cast(b.Read(w), F32));
  });
  return graph;
}

float Average(Session& session) { return Floats(session, "eval", {}, "average")[1]; }

using AveragesTest = DeviceTest;

TEST_F(AveragesTest, EmaFollowsItsFormula) {
  Session session = MustStart(Adding(optim::Ema{.decay = 0.75}), {.device = TestDevice()});
  EXPECT_EQ(Average(session), 8);  // There is no average yet.
  double w = 8, average = 0;
  for (int step = 0; step < 30; ++step) {
    const float x = step % 3 == 0 ? 1 : -0.25f;
    ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
    w += x;
    average = step == 0 ? w : 0.75 * average + 0.25 * w;
    EXPECT_NEAR(Average(session), average, 2e-5) << step;
  }
  EXPECT_NEAR(Floats(session, "eval", {}, "w")[0], w, 1e-5);
  EXPECT_EQ(Floats(session, "eval", {}, "other")[0], 3);
  EXPECT_NEAR(VariableFloats(session, "sgd/average/w")[0], average, 2e-5);
}

TEST_F(AveragesTest, EmaMayHaveASchedule) {
  Session session = MustStart(Adding(optim::Ema{.decay = optim::PiecewiseRate({{0, 0.5}, {2, 0.0}})}),
                              {.device = TestDevice()});
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(session.Run("train", {{"x", 1.0f}}).ok());
  EXPECT_EQ(Average(session), 9.5f);
  ASSERT_TRUE(session.Run("train", {{"x", 1.0f}}).ok());
  EXPECT_EQ(Average(session), 11);
}

TEST_F(AveragesTest, SwaIsTheMeanOfItsUpdates) {
  Session session = MustStart(Adding(optim::Swa{.start = 2, .every = 3}), {.device = TestDevice()});
  double w = 8, sum = 0;
  int count = 0;
  for (int step = 1; step <= 12; ++step) {
    ASSERT_TRUE(session.Run("train", {{"x", static_cast<float>(step)}}).ok());
    w += step;
    if (step == 3 || step == 6 || step == 9 || step == 12) {
      sum += w;
      ++count;
    }
    EXPECT_NEAR(Average(session), count == 0 ? w : sum / count, 1e-5) << step;
  }
}

TEST_F(AveragesTest, DroppedUpdatesAreNotAveraged) {
  Session session =
      MustStart(Adding(optim::Ema{.decay = 0.5}, {.loss_scale = optim::LossScale{.initial = 2}}),
                {.device = TestDevice()});
  for (const float x : {INFINITY, 1.0f, NAN, 1.0f}) ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  EXPECT_EQ(Average(session), 9.5f);
  EXPECT_EQ((*session.ReadVariable("sgd/averaged")->Span<int64_t>())[0], 2);
}

TEST_F(AveragesTest, OfBf16AreF32) {
  Session session = MustStart(Adding(optim::Ema{.decay = 0.5}, {}, BF16), {.device = TestDevice()});
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(session.Run("train", {{"x", 0.0625f}}).ok());
  EXPECT_EQ(VariableFloats(session, "sgd/average/w")[0], 8.09375f);
}

TEST_F(AveragesTest, ANetReadsItsAveragesByTheOptimisersName) {
  Graph graph("g");
  const nn::Module net = nn::Linear(1, {.weight = nn::Constant(1)});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor loss = Sum(net(b.Input("x", F32, {1, 2})));
    const optim::Sgd sgd{.learning_rate = 1};
    sgd.Minimize(loss, {.name = "fast", .average = optim::Ema{.decay = 0}});
    sgd.Minimize(loss, {.name = "slow", .average = optim::Ema{.decay = 0.5}});
  });
  for (const char* name : {"fast", "slow"}) {
    graph.Function(name, Mode::kEval, [&](Builder& b) {
      optim::UseAverages averages(b, name);
      b.Output("y", net(b.Input("x", F32, {1, 2})));
    });
  }
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({1, 2}, {1, 0});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  // The weight goes 1, 0, -1 (fast), -2, -3, and the bias as much, from 0.
  EXPECT_EQ(Floats(session, "fast", {{"x", x}}, "y")[0], -2 + -3);
  EXPECT_EQ(Floats(session, "slow", {{"x", x}}, "y")[0], (-1 + -3) / 2.0f + (-2 + -4) / 2.0f);
}

// The first read is in the body of a loop, and the second is not.
TEST_F(AveragesTest, LoopsReadThemToo) {
  Graph graph("g");
  const Variable w = graph.Variable("w", F32, {}, {.init = {.a = 8}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Repeat(3, [&](const Tensor&) {
      optim::Sgd{.learning_rate = 1}.Minimize(-b.Read(w), {.average = optim::Ema{.decay = 0.5}});
    });
  });
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    optim::UseAverages averages(b);
    const auto [sum, none] = Scan(b.Zeros(F32, {}), Steps{4}, [&](const Tensor& carry, const Tensor&) {
      return std::pair(carry + b.Read(w), None{});
    });
    b.Output("sum", sum + b.Read(w));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_EQ(Floats(session, "eval", {}, "sum")[0], 5 * (0.25f * 9 + 0.25f * 10 + 0.5f * 11));
}

class AveragesErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(AveragesErrorTest, Says) { ExpectSays(GetParam(), "averages_test.cc:"); }

Tensor AveragesLoss(Builder& b) { return Sum(Square(nn::Linear(2)(X(b)))); }

// A case of a function that trains, with these options, and then does `more`.
ErrorCase AfterMinimize(const std::string& name, const optim::UpdateOptions<optim::Adam>& options,
                        const std::function<void(Builder&)>& more, const std::vector<std::string>& says) {
  return In(
      name,
      [=](Builder& b) {
        optim::Adam{}.Minimize(AveragesLoss(b), options);
        if (more) more(b);
      },
      says);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AveragesErrorTest,
    ::testing::Values(
        AfterMinimize("None", {}, [](Builder& b) { optim::UseAverages averages(b); },
                      {"UseAverages finds no optimiser that keeps averages", "the option .average"}),
        AfterMinimize("OtherName", {.average = optim::Ema{}},
                      [](Builder& b) { optim::UseAverages averages(b, "fast"); },
                      {"finds no optimiser \"fast\" that keeps averages"}),
        AfterMinimize("Nested", {.average = optim::Ema{}},
                      [](Builder& b) {
                        optim::UseAverages outer(b);
                        optim::UseAverages inner(b);
                      },
                      {"UseAverages is inside the scope of another"}),
        AfterMinimize("Two", {.name = "one", .average = optim::Ema{}},
                      [](Builder& b) {
                        const Variable v = b.MakeVariable("v", F32, {});
                        optim::Sgd{}.Minimize(b.Read(v), {.average = optim::Swa{}});
                        optim::UseAverages averages(b);
                      },
                      {"finds two optimisers that keep averages, \"one\" at ", "\"sgd\" at ",
                       "the name of one"}),
        AfterMinimize(
            "Decay", {.average = optim::Ema{.decay = 1}}, nullptr,
            {"optim::Adam: Minimize(f32[]) needs a decay of averages of at least 0 and below 1, got 1"}),
        AfterMinimize(
            "Period", {.average = optim::Swa{.start = -1, .every = 0}}, nullptr,
            {"needs averages that start at 0 or later and have a period of at least 1, got -1 and 0"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
