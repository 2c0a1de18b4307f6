#include "sinter/frontend/ops/scatter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using ScatterTest = DeviceTest;

HostTensor CountedUp(const Shape& shape) {
  HostTensor tensor = HostTensor::Empty(F32, shape).value();
  std::span<float> values = tensor.MutableSpan<float>().value();
  std::iota(values.begin(), values.end(), 0.0f);
  return tensor;
}

HostTensor IntTensor(const std::vector<int32_t>& values) {
  return HostTensor::FromVector<int32_t>({static_cast<int64_t>(values.size())}, values).value();
}

// Returns the elements of `y` as f32, of [3, 4] with the elements 0 to 11 and of an input p = 1, i32[].
std::vector<float> ResultOf(const std::function<Tensor(Builder& b, const Tensor& x, const Tensor& p)>& y) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    b.Output("y", Cast(y(b, b.Input("x", F32, {3, 4}), b.Input("p", I32, {})), F32));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor one = HostTensor::FromVector<int32_t>({}, {1}).value();
  return Floats(session, "f", {{"x", CountedUp({3, 4})}, {"p", one}}, "y");
}

#define EXPECT_GIVES(y, ...)                                                             \
  EXPECT_THAT(ResultOf([&](Builder& b, const Tensor& x, const Tensor& p) { return y; }), \
              ElementsAre(__VA_ARGS__))

Tensor ConstantIds(Builder& b, const std::vector<int32_t>& ids) { return b.Constant(IntTensor(ids)); }

TEST_F(ScatterTest, NumbersAndRanges) {
  EXPECT_GIVES(x.At({1}).Set(-1), 0, 1, 2, 3, -1, -1, -1, -1, 8, 9, 10, 11);
  EXPECT_GIVES(x.At({-1, 2}).Add(0.5), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5, 11);
  EXPECT_GIVES((x.At({Range{}, Range{0, {}, 2}}).Mul(2)), 0, 1, 4, 3, 8, 5, 12, 7, 16, 9, 20, 11);
  EXPECT_GIVES((x.At({Range{1, {}}, 0}).Max(6)), 0, 1, 2, 3, 6, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_GIVES((x.At({Ellipsis}).Min(3)), 0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3);
  // The first value goes to the last position.
  EXPECT_GIVES((x.At({0, Range{.step = -1}}).Set(x[1])), 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_GIVES((x.At({Range{0, 2}, Range{1, 3}}).Set(x[{2, Range{0, 2}}])), 0, 8, 9, 3, 4, 8, 9, 7, 8, 9, 10,
               11);
  EXPECT_GIVES((x.At({0, Range{2, 2}}).Set(5)), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
}

TEST_F(ScatterTest, IndexTensors) {
  // The last of several updates of an element stays; the others sum up.
  EXPECT_GIVES(
      x.At({ConstantIds(b, {2, 0, 2})}).Set(x[{Range{}, NewAxis, 1}][{Range{}, 0}][{Range{}, NewAxis}]), 5, 5,
      5, 5, 4, 5, 6, 7, 9, 9, 9, 9);
  EXPECT_GIVES((x.At({0, ConstantIds(b, {1, 1, 3})}).Add(10)), 0, 21, 2, 13, 4, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_GIVES((x.At({ConstantIds(b, {0, 1, 2}), ConstantIds(b, {3, 0, 1})}).Set(-1)), 0, 1, 2, -1, -1, 5, 6,
               7, 8, -1, 10, 11);
  // An index out of range changes nothing, also beside one in range.
  EXPECT_GIVES((x.At({ConstantIds(b, {0, 1, 3}), ConstantIds(b, {4, -1, 0})}).Set(-1)), 0, 1, 2, 3, 4, 5, 6,
               7, 8, 9, 10, 11);
  EXPECT_GIVES((x.At({p}).Set(0)), 0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11);
  EXPECT_GIVES((x.At({Range{}, p}).Mul(x[{Range{}, 2}])), 0, 2, 2, 3, 4, 30, 6, 7, 8, 90, 10, 11);
}

TEST_F(ScatterTest, Windows) {
  EXPECT_GIVES((x[{Window{p, 2}}]), 4, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_GIVES((x[{Window{p + 5, 2}, 0}]), 4, 8);
  EXPECT_GIVES((x[{NewAxis, Window{p - 9, 1}, Window{p + 1, 2}}]), 2, 3);
  EXPECT_GIVES((x[{0, Window{3, 2}}]), 2, 3);
  EXPECT_GIVES((x.At({Range{}, Window{p, 2}}).Set(x[{Range{}, Range{0, 2}}])), 0, 0, 1, 3, 4, 4, 5, 7, 8, 8,
               9, 11);
  EXPECT_GIVES((x.At({Window{p + 7, 2}, Window{p, 1}}).Add(100)), 0, 1, 2, 3, 4, 105, 6, 7, 8, 109, 10, 11);
  EXPECT_GIVES(DynamicSlice(x, {p, p * 2}, {2, 2}), 6, 7, 10, 11);
  EXPECT_GIVES(DynamicUpdateSlice(x, x[{Range{0, 2}, Range{0, 2}}], {p, p * 2}), 0, 1, 2, 3, 4, 5, 0, 1, 8, 9,
               4, 5);
}

TEST_F(ScatterTest, Bools) {
  EXPECT_GIVES(((x > 5).At({0, Range{2, {}}}).Set(true)), 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1);
}

TEST_F(ScatterTest, Sorts) {
  const auto sorted = [](const Tensor& x, SortOptions options) {
    const SortResult result = Sort(x, options);
    return Concat({result.values, Cast(result.positions, F32)}, 0);
  };
  EXPECT_GIVES(sorted(-x[0], {}), -3, -2, -1, -0.0f, 3, 2, 1, 0);
  EXPECT_GIVES((sorted(x[{Range{}, Range{1, 2}}], {.dim = 0, .descending = true})), 9, 5, 1, 2, 1, 0);
  EXPECT_GIVES(ArgSort(Mod(x[2] * 3, 4), {.dim = 0}), 0, 3, 2, 1);
  EXPECT_GIVES(SearchSorted(x[1], x[{1, Range{.step = -1}}] + 0.5), 4, 3, 2, 1);
  EXPECT_GIVES(SearchSorted(x[1], x[1]), 0, 1, 2, 3);
  EXPECT_GIVES(SearchSorted(x[1], x[1], /*right=*/true), 1, 2, 3, 4);
  EXPECT_GIVES(BinCount(Cast(Mod(x, 5), I32), 4), 3, 3, 2, 2);
  EXPECT_GIVES(BinCount(Cast(Mod(x, 5), I32), x, 5), 15, 18, 9, 11, 13);
}

TEST_F(ScatterTest, Gradients) {
  // The values are -(8 + j), -(4 + j) and -j in column j.
  EXPECT_GIVES(Gradients(Sum(Sort(-x, {.dim = 0}).values * x), {x})[0], -16, -18, -20, -22, -8, -10, -12, -14,
               0, -2, -4, -6);
  // The new row hands its gradient on, and the old one gets none through the part.
  EXPECT_GIVES(Gradients(Sum(x.At({0}).Set(2 * x[1]) * x), {x})[0], 8, 10, 12, 14, 8, 12, 16, 20, 16, 18, 20,
               22);
}

// An assigned variable changes in place: a run needs no memory for another table.
TEST_F(ScatterTest, VariablesChangeInPlace) {
  constexpr int64_t kRows = 100'000, kWidth = 16;
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Variable table = b.MakeVariable("table", F32, {kRows, kWidth});
    Variable grid = b.MakeVariable("grid", F32, {kRows / 10, 10, kWidth});
    const Tensor at = b.Input("at", I32, {3}), first = at[0];
    b.Assign(table, b.Read(table).At({at}).Set(1));
    b.Assign(grid, b.Read(grid).At({Window{first, 2}, Window{at[1], 1}}).Add(b.Input("v", F32, {kWidth})));
  });
  absl::StatusOr<Plan> plan = Compile(graph, {.device = TestDevice()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LT(plan->Functions()[0].arena_bytes, kRows);
  Session session = Session::Create(*std::move(plan)).value();
  ASSERT_TRUE(session.Run("f", {{"at", IntTensor({7, 3, 99'999})}, {"v", CountedUp({kWidth})}}).ok());
  const std::vector<float> table = VariableFloats(session, "table"), grid = VariableFloats(session, "grid");
  EXPECT_EQ(std::accumulate(table.begin(), table.end(), 0.0), 3 * kWidth);
  EXPECT_EQ(table[7 * kWidth], 1);
  EXPECT_EQ(std::accumulate(grid.begin(), grid.end(), 0.0), 2 * kWidth * (kWidth - 1) / 2);
  EXPECT_EQ(grid[(7 * 10 + 3) * kWidth + 5], 5);
  EXPECT_EQ(grid[(8 * 10 + 3) * kWidth + 5], 5);
}

class ScatterErrorTest : public testing::TestWithParam<ErrorCase> {};
TEST_P(ScatterErrorTest, Says) { ExpectSays(GetParam(), "scatter_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, ScatterErrorTest,
    testing::Values(
        In("Scalar", [](Builder& b) { X(b, {}).At({}).Set(1); }, {"Set(f32[])", "of rank 1 or more"}),
        In("NewAxis", [](Builder& b) { X(b).At({NewAxis, 0}).Set(1); }, {"has a NewAxis"}),
        In("Many", [](Builder& b) { X(b).At({0, 0, 0}).Add(1); }, {"Add(f32[2,3]) has 3 subscripts for 2"}),
        In("Bools", [](Builder& b) { X(b, {2}, I1).At({0}).Add(1); }, {"takes numbers; Cast(x, I32) first"}),
        In("Position", [](Builder& b) { X(b).At({2}).Set(1); }, {"has no position 2 in dimension 0"}),
        In("Types", [](Builder& b) { X(b).At({0}).Set(X(b, {3}, I32)); }, {"takes values of f32; Cast"}),
        In("Shapes", [](Builder& b) { X(b).At({0}).Set(X(b, {2})); },
           {"takes values that broadcast to f32[3], not f32[2]"}),
        In("Number", [](Builder& b) { X(b, {2}, I32).At({0}).Set(0.5); },
           {"0.5 is not a number of type i32"}),
        In("Mask", [](Builder& b) { X(b, {2}).At({X(b, {2}, I1)}).Set(0); }, {"takes no mask", "use Select"}),
        In("Window",
           [](Builder& b) {
             X(b)[{Window{0, 3}}];
           },
           {"has a window of 3 positions in dimension 0"}),
        In("WindowStart",
           [](Builder& b) {
             X(b)[{Window{X(b, {1}, I32), 1}}];
           },
           {"starts at i32[1]; a start is a number, i32[] or i64[]"}),
        In("WindowFloat",
           [](Builder& b) {
             X(b)[{Window{0.5, 1}}];
           },
           {"starts at 0.5; a start is a whole number"}),
        In("Starts", [](Builder& b) { DynamicSlice(X(b), {0}, {1, 1}); },
           {"DynamicSlice(f32[2,3]) has 1 starts and 2 sizes for 2 dimensions"}),
        In("Updates", [](Builder& b) { Scatter(X(b), X(b, {4}, I32), X(b), 0, ScatterKind::kMax); },
           {"Scatter(f32[2,3], i32[4], f32[2,3]) needs updates of type f32[4,3]"}),
        In("ScatterIndices", [](Builder& b) { Scatter(X(b), X(b, {2}), X(b), 0, ScatterKind::kMin); },
           {"takes i32 or i64 indices"}),
        In("SortScalar", [](Builder& b) { Sort(X(b, {})); },
           {"Sort(f32[]) takes elements of rank 1 or more"}),
        In("SortBools", [](Builder& b) { Sort(X(b, {2}, I1)); }, {"takes numbers; Cast(x, I32) first"}),
        In("SortDim", [](Builder& b) { ArgSort(X(b), {.dim = 2}); }, {"Sort(f32[2,3])", "dimension 2"}),
        In("Search", [](Builder& b) { SearchSorted(X(b), X(b)); }, {"takes sorted numbers of rank 1"}),
        In("Bins", [](Builder& b) { BinCount(X(b, {2}, I32), -1); }, {"has -1 bins"}),
        In("BinWeights", [](Builder& b) { BinCount(X(b, {2}, I32), X(b, {3}), 4); },
           {"takes weights that are numbers, of the shape of i32[2]"}),
        In("BinFloats", [](Builder& b) { BinCount(X(b, {2}), 4); }, {"takes i32 or i64 numbers"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
