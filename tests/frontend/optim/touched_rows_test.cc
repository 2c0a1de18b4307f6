// Updates of the rows that a loss read (Group::touched_rows_only).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

using TouchedRowsTest = DeviceTest;

constexpr int64_t kRows = 50, kWidth = 3, kCount = 8;

using MinimizeRows = std::function<void(const Tensor& loss, bool touched_rows_only)>;

// Reads of one table, and a weight that is no table.
Graph BuildTable(const MinimizeRows& minimize, bool touched_rows_only, bool reads_twice = true) {
  Graph graph("g", {.seed = 2});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable table =
        b.MakeVariable("table", F32, {kRows, kWidth}, {.init = {VariableInit::Kind::kNormal, 0, 1}});
    const Variable weight =
        b.MakeVariable("weight", F32, {kWidth}, {.init = {VariableInit::Kind::kNormal, 0, 1}});
    const Tensor rows = b.Read(table), x = Gather(rows, b.Input("ids", I32, {kCount / 2, 2}), 0);
    const Tensor more = b.Input("more", I64, {kCount});
    const Tensor y = reads_twice ? Gather(rows, more, 0) : Cast(Reshape(more, {kCount, 1}), F32);
    const Tensor loss = Sum(Square(Tanh(Reshape(x, {kCount, kWidth}) * b.Read(weight) - y)));
    minimize(loss, touched_rows_only);
    b.Output("loss", loss);
  });
  return graph;
}

struct Trained {
  std::vector<float> losses;
  std::map<std::string, std::vector<float>> variables;
};

Trained Train(const MinimizeRows& minimize, bool touched_rows_only, int steps = 5, bool reads_twice = true) {
  Session session = MustStart(BuildTable(minimize, touched_rows_only, reads_twice), {.device = TestDevice()});
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    // Rows are read twice by one read and by both; -1 and 70 are clamped.
    std::vector<int32_t> ids = {7, 7, 1 + step, 40, 7, -1, 70, 12};
    std::vector<int64_t> more = {3, 7, 3, 3 + step, 49, 0, 20, 21};
    trained.losses.push_back(Floats(session, "train",
                                    {{"ids", *HostTensor::FromVector<int32_t>({kCount / 2, 2}, ids)},
                                     {"more", *HostTensor::FromVector<int64_t>({kCount}, more)}},
                                    "loss")[0]);
  }
  for (const VariableInfo& variable : session.variables()) {
    if (variable.dtype == F32) trained.variables[variable.name] = VariableFloats(session, variable.name);
  }
  return trained;
}

template <typename R>
MinimizeRows By(const R& rule, std::vector<optim::Hook> hooks = {}, bool has_scale = false) {
  return [=](const Tensor& loss, bool touched_rows_only) {
    optim::UpdateOptions<R> options{.hooks = hooks};
    options.groups.push_back({.of = Glob("table"), .touched_rows_only = touched_rows_only});
    if (has_scale) options.loss_scale = optim::LossScale{};
    rule.Minimize(loss, options);
  };
}

// Sums of several reads may have another order.
void ExpectNear(const Trained& got, const Trained& want) {
  ASSERT_EQ(got.variables.size(), want.variables.size());
  for (const auto& [name, values] : want.variables) {
    const std::vector<float>& others = got.variables.at(name);
    ASSERT_EQ(others.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(others[i], values[i], 1e-5 * (1 + std::abs(values[i]))) << name << " " << i;
    }
  }
}

// The rules change no row whose gradient is zero. On a GPU the order of a sum depends on what shares its
// launch, which differs between the two programs.
TEST_F(TouchedRowsTest, OfOneReadTheBitsAreTheSame) {
  const MinimizeRows rules[] = {
      By(optim::Sgd{.learning_rate = 0.1}), By(optim::Sgd{.learning_rate = 0.1}, {optim::ClipValue(0.2)}),
      By(optim::Sgd{.learning_rate = 0.1}, {}, /*has_scale=*/true), By(optim::AdaGrad{.learning_rate = 0.1})};
  for (const MinimizeRows& minimize : rules) {
    const Trained all = Train(minimize, false, 5, /*reads_twice=*/false);
    const Trained touched = Train(minimize, true, 5, /*reads_twice=*/false);
    if (TestDevice().is_gpu()) {
      ExpectNear(touched, all);
      continue;
    }
    EXPECT_EQ(touched.losses, all.losses);
    EXPECT_EQ(touched.variables, all.variables);
  }
}

TEST_F(TouchedRowsTest, OfTwoReadsTheNumbersAreTheSame) {
  const MinimizeRows rules[] = {By(optim::Sgd{.learning_rate = 0.1}),
                                By(optim::Sgd{.learning_rate = 0.1}, {optim::ClipNorm(0.5)}),
                                By(optim::AdaGrad{.learning_rate = 0.1})};
  for (const MinimizeRows& minimize : rules) ExpectNear(Train(minimize, true), Train(minimize, false));
}

// The moments of a row decay only in steps that read it: as Adam of the row alone would do, but for the
// number of the step.
TEST_F(TouchedRowsTest, AdamIsLazy) {
  const MinimizeRows minimize = By(optim::Adam{.learning_rate = 0.1});
  const Trained one = Train(minimize, true, 1), same = Train(minimize, false, 1);
  ExpectNear(one, same);
  const Trained five = Train(minimize, true, 5);
  // Row 2 is read in the second step alone; row 30 never.
  const auto row = [](const Trained& t, const std::string& name, int64_t r) {
    const std::vector<float>& all = t.variables.at(name);
    return std::vector<float>(all.begin() + r * kWidth, all.begin() + (r + 1) * kWidth);
  };
  const Trained two = Train(minimize, true, 2), three = Train(minimize, true, 3);
  for (const auto& [name, values] : five.variables) {
    if (values.size() != kRows * kWidth) continue;
    EXPECT_EQ(row(five, name, 2), row(two, name, 2)) << name;
    EXPECT_NE(row(two, name, 2), row(one, name, 2)) << name;
    EXPECT_EQ(row(five, name, 30), row(one, name, 30)) << name;
    EXPECT_NE(row(three, name, 7), row(two, name, 7)) << name;
  }
}

// The velocity of a row decays only in steps that read it.
TEST_F(TouchedRowsTest, MomentumIsLazy) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Variable table = b.MakeVariable("table", F32, {4, 2});
    By(optim::Momentum{.learning_rate = 0.5})(Sum(Gather(b.Read(table), b.Input("ids", I32, {3}), 0)), true);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  std::vector<double> velocity(4, 0), row(4, 0);
  for (int32_t step = 0; step < 100; ++step) {
    const std::vector<int32_t> ids = {0, step % 3, step % 2};
    ASSERT_TRUE(session.Run("train", {{"ids", *HostTensor::FromVector<int32_t>({3}, ids)}}).ok());
    for (int32_t r = 0; r < 4; ++r) {
      const auto times = std::count(ids.begin(), ids.end(), r);
      if (times == 0) continue;
      velocity[r] = 0.9 * velocity[r] + static_cast<double>(times);
      row[r] -= 0.5 * velocity[r];
    }
  }
  const std::vector<float> table = VariableFloats(session, "table");
  const std::vector<float> v = VariableFloats(session, "momentum/v/table");
  for (int32_t r = 0; r < 4; ++r) {
    EXPECT_NEAR(table[2 * r + 1], row[r], 1e-5 * (1 + std::abs(row[r]))) << r;
    EXPECT_NEAR(v[2 * r], velocity[r], 1e-5 * (1 + velocity[r])) << r;
  }
  EXPECT_EQ(table[6], 0);
}

std::string ErrorOf(const MinimizeRows& minimize) {
  return std::string(BuildTable(minimize, true).status().message());
}

// Rows that are read twice leave numbers of no row behind, which are no wrong indices of the program.
TEST_F(TouchedRowsTest, IndicesMayBeChecked) {
  Session session =
      MustStart(BuildTable(By(optim::Adam{}), true), {.device = TestDevice(), .check_indices = true});
  const auto run = [&](int32_t id) {
    const std::vector<int32_t> ids = {7, 7, 1, 40, 7, 3, 3, id};
    const std::vector<int64_t> more = {3, 7, 3, 3, 49, 0, 20, 21};
    return session
        .Run("train", {{"ids", *HostTensor::FromVector<int32_t>({kCount / 2, 2}, ids)},
                       {"more", *HostTensor::FromVector<int64_t>({kCount}, more)}})
        .status();
  };
  EXPECT_TRUE(run(12).ok()) << run(12);
  EXPECT_THAT(std::string(run(50).message()), HasSubstr("index 50 is outside of 0 to 49"));
}

// Without decay Lars changes touched rows alone, by the norm of the whole table.
TEST_F(TouchedRowsTest, LarsIsThatOfTheWholeTable) {
  const MinimizeRows minimize = By(optim::Sgd{.learning_rate = 0.5}, {optim::Lars({.trust = 0.1})});
  ExpectNear(Train(minimize, true), Train(minimize, false));
}

TEST(TouchedRowsErrorTest, RulesAndOptionsThatNeedAllRows) {
  EXPECT_THAT(ErrorOf(By(optim::Lamb{})),
              HasSubstr("has a rule whose step of a row depends on all rows of \"table\"; leave out "
                        "touched_rows_only, or update \"table\" by an optimiser of its own"));
  EXPECT_THAT(ErrorOf(By(optim::Muon{})), HasSubstr("depends on all rows of \"table\""));
  EXPECT_THAT(ErrorOf(By(optim::Adafactor{})), HasSubstr("depends on all rows of \"table\""));
  EXPECT_THAT(
      ErrorOf([](const Tensor& loss, bool) {
        optim::Sgd{}.Minimize(loss, {.groups = {{.of = Glob("table"), .touched_rows_only = true}},
                                     .lookahead = optim::Lookahead{}});
      }),
      HasSubstr("keeps slow weights (.lookahead), which move all rows of \"table\" that were read since "
                "they last moved; leave out touched_rows_only, or keep an average (.average)"));
  EXPECT_THAT(ErrorOf([](const Tensor& loss, bool) {
                optim::Sgd{}.Minimize(loss, {.groups = {{.of = Glob("weight"), .touched_rows_only = true}}});
              }),
              HasSubstr("updates the touched rows only of \"weight\", but the loss reads it by"));
}

TEST(TouchedRowsErrorTest, GradientsOfWholeTensors) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable table = b.MakeVariable("table", F32, {kRows, kWidth});
    const Tensor loss = Sum(Gather(b.Read(table), b.Input("ids", I32, {2}), 0));
    optim::Sgd{}.Apply({table}, Gradients(loss, {b.Read(table)}),
                       {.groups = {{.of = Glob("*"), .touched_rows_only = true}}});
  });
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("was given gradients of whole tensors"));
}

}  // namespace
}  // namespace sinter
