// Averages of the weights, and functions that read them.
#include "sinter/frontend/optim/averages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

constexpr int64_t kAveragedRows = 5;

// A graph whose function "train" adds "x" to some rows of a table, which begins at 8.
Graph AddingToRows(const optim::Average& average, bool rows_only, bool is_scaled = false) {
  Graph graph("g");
  const Variable table = graph.Variable("table", F32, {kAveragedRows, 2}, {.init = {.a = 8}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor read = Gather(b.Read(table), b.Input("ids", I32, {2}), 0);
    optim::UpdateOptions<optim::Sgd> options{.average = average};
    if (rows_only) options.groups.push_back({.of = Glob("table"), .touched_rows_only = true});
    if (is_scaled) options.loss_scale = optim::LossScale{.initial = 2};
    optim::Sgd{.learning_rate = 1}.Minimize(Sum(read) * -b.Scalar("x"), options);
  });
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    optim::UseAverages averages(b);
    b.Output("average", b.Read(table));
  });
  return graph;
}

// The averages of touched rows are those of all rows over all updates, also if updates are dropped.
TEST_F(AveragesTest, OfTouchedRowsAreTheSame) {
  const optim::Average averages[] = {
      optim::Ema{.decay = 0.75}, optim::Ema{.decay = optim::PiecewiseRate({{0, 0.5}, {4, 0.0}, {6, 0.9}})},
      optim::Ema{.decay = 0}, optim::Swa{}, optim::Swa{.start = 3, .every = 4}};
  for (const optim::Average& average : averages) {
    for (const bool is_scaled : {false, true}) {
      Session all = MustStart(AddingToRows(average, false, is_scaled), {.device = TestDevice()});
      Session rows = MustStart(AddingToRows(average, true, is_scaled), {.device = TestDevice()});
      for (int step = 0; step < 40; ++step) {
        const auto expected = Floats(all, "eval", {}, "average"),
                   actual = Floats(rows, "eval", {}, "average");
        for (size_t i = 0; i < actual.size(); ++i)
          EXPECT_NEAR(actual[i], expected[i], 2e-5) << step << " " << i;
        // Row 3 is read rarely, and row 4 never.
        const std::vector<int32_t> list = {step % 3, step % 13 == 5 ? 3 : 0};
        const HostTensor ids = *HostTensor::FromVector<int32_t>({2}, list);
        const float x = is_scaled && step % 4 == 1 ? INFINITY : step % 5 == 0 ? 1 : -0.25f;
        ASSERT_TRUE(all.Run("train", {{"ids", ids}, {"x", x}}).ok());
        ASSERT_TRUE(rows.Run("train", {{"ids", ids}, {"x", x}}).ok());
      }
      // The update wrote no average of a row that was not read.
      EXPECT_EQ(VariableFloats(rows, "sgd/average/table")[2 * 4], 0);
      EXPECT_EQ((*rows.ReadVariable("sgd/average_log/table")->Span<double>())[4], 0);
    }
  }
}

TEST_F(AveragesTest, OfTouchedRowsFollowTheirFormula) {
  Session session = MustStart(AddingToRows(optim::Ema{.decay = 0.75}, true), {.device = TestDevice()});
  std::vector<double> row(kAveragedRows, 8), average(kAveragedRows, 0);
  for (int step = 0; step < 100; ++step) {
    const std::vector<int32_t> ids = {step % 3, step % 7 == 0 ? 3 : 0};
    const float x = step % 3 == 0 ? 1 : -0.5f;
    ASSERT_TRUE(session.Run("train", {{"ids", *HostTensor::FromVector<int32_t>({2}, ids)}, {"x", x}}).ok());
    for (const int32_t id : ids) row[id] += x;
    for (int64_t r = 0; r < kAveragedRows; ++r) {
      average[r] = step == 0 ? row[r] : 0.75 * average[r] + 0.25 * row[r];
    }
  }
  const std::vector<float> actual = Floats(session, "eval", {}, "average");
  for (int64_t r = 0; r < kAveragedRows; ++r) EXPECT_NEAR(actual[2 * r + 1], average[r], 1e-4) << r;
}

TEST(AveragesErrorTest, OneOptimiserAveragesATableInOneWay) {
  for (const bool first : {false, true}) {
    Graph graph("g");
    const Variable table = graph.Variable("table", F32, {kAveragedRows, 2});
    for (const bool rows_only : {first, !first}) {
      graph.Function(rows_only ? "rows" : "all", Mode::kTrain, [&](Builder& b) {
        optim::UpdateOptions<optim::Sgd> options{.average = optim::Ema{}};
        if (rows_only) options.groups.push_back({.of = Glob("table"), .touched_rows_only = true});
        optim::Sgd{}.Minimize(Sum(Gather(b.Read(table), b.Input("ids", I32, {2}), 0)), options);
      });
    }
    EXPECT_THAT(
        std::string(graph.status().message()),
        HasSubstr(first ? "keeps the average of \"table\" as a whole, and another call of this optimiser "
                          "by touched rows; give both the same groups"
                        : "keeps the average of \"table\" by touched rows, and another call of this "
                          "optimiser as a whole; give both the same groups"));
  }
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
