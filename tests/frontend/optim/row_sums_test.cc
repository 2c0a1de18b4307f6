// Sums of gradients of touched rows, between Accumulate and ApplyAccumulated.
#include "sinter/frontend/optim/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSumRows = 30, kSumWidth = 2, kSumReads = 4;

template <typename R>
optim::UpdateOptions<R> OfRows(int64_t room, const optim::UpdateOptions<R>& more = {}) {
  optim::UpdateOptions<R> options = more;
  options.groups.push_back({.of = Glob("table"), .touched_rows_only = true, .accumulated_rows = room});
  return options;
}

// Functions "sum", which accumulates, and "update", each with options of its own, over a table and a weight.
template <typename R>
Graph Summing(const R& rule, const optim::UpdateOptions<R>& sum, const optim::UpdateOptions<R>& update) {
  Graph graph("g", {.seed = 3});
  const Variable table =
      graph.Variable("table", F32, {kSumRows, kSumWidth}, {.init = {VariableInit::Kind::kNormal, 0, 1}});
  const Variable weight = graph.Variable("weight", F32, {kSumWidth}, {.init = {.a = 0.5}});
  graph.Function("sum", Mode::kTrain, [&](Builder& b) {
    const Tensor x = Gather(b.Read(table), b.Input("ids", I32, {kSumReads}), 0);
    rule.Accumulate(Mean(Square(Tanh(x * b.Read(weight)) - b.Input("y", F32, {kSumReads, kSumWidth}))), sum);
  });
  graph.Function("update", Mode::kTrain, [&](Builder& b) {
    b.Output("applied", Cast(rule.ApplyAccumulated(b, update).Applied(), F32));
  });
  if (update.average) {
    graph.Function("average", Mode::kEval, [&](Builder& b) {
      const optim::UseAverages averages(b);
      b.Output("table", b.Read(table));
    });
  }
  return graph;
}

// Returns the rows that batch `part` of update `step` reads. Some are read twice, in a batch or in several.
std::vector<int32_t> IdsOf(int step, int part) {
  return {3, 5 + part, 5 + part, 10 + (7 * step + part) % 20};
}

void Sum(Session& session, const std::vector<int32_t>& ids, int seed) {
  ASSERT_TRUE(session
                  .Run("sum", {{"ids", *HostTensor::FromVector<int32_t>({kSumReads}, ids)},
                               {"y", RandomFloats({kSumReads, kSumWidth}, static_cast<unsigned>(seed))}})
                  .ok());
}

void ExpectClose(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << what << " " << i;
}

// Compares updates of accumulated touched rows with those of all rows, over updates of 3, 1 and 2 batches.
template <typename R>
void ExpectTheSame(const R& rule, const optim::UpdateOptions<R>& more, const CompileOptions& options) {
  optim::UpdateOptions<R> only_scale;
  only_scale.loss_scale = more.loss_scale;
  Session all = MustStart(Summing(rule, only_scale, more), options);
  Session rows = MustStart(Summing(rule, OfRows(12, only_scale), OfRows(0, more)), options);
  for (int step = 0; step < 6; ++step) {
    for (int part = 0; part <= (2 - step % 3); ++part) {
      Sum(all, IdsOf(step, part), 10 * step + part);
      Sum(rows, IdsOf(step, part), 10 * step + part);
    }
    ASSERT_TRUE(all.Run("update", {}).ok());
    ASSERT_TRUE(rows.Run("update", {}).ok());
    if (more.average) {
      ExpectClose(Floats(rows, "average", {}, "table"), Floats(all, "average", {}, "table"), "average");
    }
  }
  for (const char* name : {"table", "weight"})
    ExpectClose(VariableFloats(rows, name), VariableFloats(all, name), name);
}

using RowSumsTest = DeviceTest;

TEST_F(RowSumsTest, UpdatesAreThoseOfAllRows) {
  const CompileOptions here{.device = TestDevice()};
  ExpectTheSame(optim::Sgd{.learning_rate = 0.5}, {}, here);
  ExpectTheSame(optim::Sgd{.learning_rate = 0.5}, {.hooks = {optim::ClipNorm(0.1)}}, here);
  ExpectTheSame(optim::Sgd{.learning_rate = 0.5}, {.loss_scale = optim::LossScale{}}, here);
  ExpectTheSame(optim::AdaGrad{.learning_rate = 0.1}, {.average = optim::Ema{.decay = 0.5}}, here);
}

TEST(RowSumsOnTwoDevicesTest, UpdatesAreThoseOfAllRows) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  CompileOptions options;
  options.mesh.axes = {{"data", 2}};
  options.parallel = {parallel::Data{}};
  ExpectTheSame(optim::AdaGrad{.learning_rate = 0.1}, {.hooks = {optim::ClipNorm(0.1)}}, options);
  unsetenv("SINTER_CPU_DEVICES");
}

// A slot that the update did not touch is as it was, and the sums are empty after it.
TEST_F(RowSumsTest, OtherRowsAreNotTouched) {
  const optim::Momentum rule{.learning_rate = 0.5};
  Session session = MustStart(Summing(rule, OfRows<optim::Momentum>(8), OfRows<optim::Momentum>(0)),
                              {.device = TestDevice()});
  Sum(session, {1, 2, 2, 4}, 1);
  ASSERT_TRUE(session.Run("update", {}).ok());
  const std::vector<float> first = VariableFloats(session, "momentum/v/table");
  Sum(session, {7, 7, 4, 8}, 2);
  ASSERT_TRUE(session.Run("update", {}).ok());
  const std::vector<float> second = VariableFloats(session, "momentum/v/table");
  for (const int64_t row : {1, 2, 3}) EXPECT_EQ(second[row * kSumWidth], first[row * kSumWidth]) << row;
  EXPECT_NE(first[1 * kSumWidth], 0);
  EXPECT_NE(second[4 * kSumWidth], first[4 * kSumWidth]);
  EXPECT_THAT(VariableFloats(session, "momentum/accumulated_of_rows/table"), ::testing::Each(0));
  EXPECT_THAT(*session.ReadVariable("momentum/accumulated_rows/table")->Span<int32_t>(),
              ::testing::Each(kSumRows));
}

TEST_F(RowSumsTest, AnUpdateOfNothingChangesNothing) {
  Session session = MustStart(Summing(optim::Sgd{}, OfRows<optim::Sgd>(4), OfRows<optim::Sgd>(0)),
                              {.device = TestDevice()});
  const std::vector<float> before = VariableFloats(session, "table");
  EXPECT_EQ(Floats(session, "update", {}, "applied")[0], 0);
  EXPECT_EQ(VariableFloats(session, "table"), before);
}

// Rows without room do not vanish: all rows become NaN, or the loss scale drops the update.
TEST_F(RowSumsTest, MoreRowsThanRoomAreSeen) {
  Session session = MustStart(Summing(optim::Sgd{}, OfRows<optim::Sgd>(5), OfRows<optim::Sgd>(0)),
                              {.device = TestDevice()});
  Sum(session, {1, 2, 3, 4}, 1);
  Sum(session, {4, 5, 1, 1}, 1);  // Five different rows have room.
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_TRUE(std::isfinite(VariableFloats(session, "table")[1 * kSumWidth]));
  Sum(session, {1, 2, 3, 4}, 1);
  Sum(session, {5, 6, 7, 8}, 1);
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_TRUE(std::isnan(VariableFloats(session, "table")[1 * kSumWidth]));

  const optim::UpdateOptions<optim::Sgd> scale{.loss_scale = optim::LossScale{}};
  Session scaled =
      MustStart(Summing(optim::Sgd{}, OfRows(5, scale), OfRows(0, scale)), {.device = TestDevice()});
  Sum(scaled, {1, 2, 3, 4}, 1);
  Sum(scaled, {5, 6, 7, 8}, 1);
  EXPECT_EQ(Floats(scaled, "update", {}, "applied")[0], 0);
  Sum(scaled, {1, 2, 3, 4}, 1);
  EXPECT_EQ(Floats(scaled, "update", {}, "applied")[0], 1);
}

std::string ErrorOfSums(const optim::UpdateOptions<optim::Sgd>& sum,
                        const optim::UpdateOptions<optim::Sgd>& update) {
  return std::string(Summing(optim::Sgd{}, sum, update).status().message());
}

TEST(RowSumsErrorTest, BothCallsNeedTheSameGroups) {
  EXPECT_THAT(ErrorOfSums(OfRows<optim::Sgd>(0), OfRows<optim::Sgd>(0)),
              HasSubstr("accumulates the touched rows only of \"table\" and needs to know how many different "
                        "rows it reads at most until the update; set .accumulated_rows"));
  EXPECT_THAT(ErrorOfSums(OfRows<optim::Sgd>(-1), OfRows<optim::Sgd>(0)), HasSubstr("accumulated_rows"));
  EXPECT_THAT(
      ErrorOfSums(OfRows<optim::Sgd>(4), {}),
      HasSubstr("updates all rows of \"table\", but Accumulate sums the gradients of its touched rows"));
  EXPECT_THAT(
      ErrorOfSums({}, OfRows<optim::Sgd>(4)),
      HasSubstr("updates the touched rows only of \"table\", but Accumulate sums the gradients of all "
                "of its rows; give both calls the same group with touched_rows_only"));
}

TEST(RowSumsErrorTest, TwoAccumulatingFunctionsNeedTheSameGroups) {
  for (const bool first : {false, true}) {
    Graph graph("g");
    const Variable table = graph.Variable("table", F32, {kSumRows, kSumWidth});
    for (const bool rows : {first, !first}) {
      graph.Function(rows ? "rows" : "all", Mode::kTrain, [&](Builder& b) {
        const Tensor x = Gather(b.Read(table), b.Input("ids", I32, {kSumReads}), 0);
        optim::Sgd{}.Accumulate(Sum(Square(x)),
                                rows ? OfRows<optim::Sgd>(4) : optim::UpdateOptions<optim::Sgd>{});
      });
    }
    EXPECT_THAT(
        std::string(graph.status().message()),
        HasSubstr(first ? "sums the gradients of all rows of \"table\", and a call before it those of "
                          "the touched rows; give both the same groups"
                        : "sums the gradients of the touched rows of \"table\", and a call before it "
                          "those of all rows; give both the same groups"));
  }
}

}  // namespace
}  // namespace sinter
