#include "sinter/frontend/ops/indexing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using IndexingTest = DeviceTest;

// The numbers from 0 on.
HostTensor Numbers(const Shape& shape) {
  HostTensor tensor = HostTensor::Empty(F32, shape).value();
  std::span<float> values = tensor.MutableSpan<float>().value();
  std::iota(values.begin(), values.end(), 0.0f);
  return tensor;
}

struct Taken {
  Shape shape;
  std::vector<float> values;
};

// Returns what `part` takes of [3, 4], whose elements are 0 to 11.
Taken Of(const std::function<Tensor(Builder& b, const Tensor& x)>& part) {
  Graph graph("g");
  Shape shape;
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor y = part(b, b.Input("x", F32, {3, 4}));
    shape = y.shape();
    b.Output("y", y);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  return {shape, Floats(session, "f", {{"x", Numbers({3, 4})}}, "y")};
}

#define EXPECT_TAKES(part, expected_shape, ...)                                \
  {                                                                            \
    const Taken taken = Of([&](Builder& b, const Tensor& x) { return part; }); \
    EXPECT_EQ(taken.shape, (Shape expected_shape));                            \
    EXPECT_THAT(taken.values, ElementsAre(__VA_ARGS__));                       \
  }

TEST_F(IndexingTest, NumbersAndRanges) {
  EXPECT_TAKES(x[1], ({4}), 4, 5, 6, 7);
  EXPECT_TAKES(x[-1], ({4}), 8, 9, 10, 11);
  EXPECT_TAKES((x[{1, 2}]), ({}), 6);
  EXPECT_TAKES((x[{Range{}, 2}]), ({3}), 2, 6, 10);
  EXPECT_TAKES((x[{Ellipsis, 0}]), ({3}), 0, 4, 8);
  EXPECT_TAKES((x[Range{1, {}}]), ({2, 4}), 4, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_TAKES((x[Range{{}, -2}]), ({1, 4}), 0, 1, 2, 3);
  EXPECT_TAKES((x[{-1, Range{-3, -1}}]), ({2}), 9, 10);
  EXPECT_TAKES((x[{0, Range{1, {}, 2}}]), ({2}), 1, 3);
  EXPECT_TAKES(x[std::initializer_list<Index>{}], ({3, 4}), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_TAKES(x[Ellipsis], ({3, 4}), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  EXPECT_TAKES((x[{0, Range{2, 2}}]), ({0}));
}

TEST_F(IndexingTest, RangesGoDown) {
  EXPECT_TAKES((x[{0, Range{.step = -1}}]), ({4}), 3, 2, 1, 0);
  EXPECT_TAKES((x[{0, Range{.step = -2}}]), ({2}), 3, 1);
  EXPECT_TAKES((x[{0, Range{2, {}, -2}}]), ({2}), 2, 0);
  EXPECT_TAKES((x[{0, Range{-1, 0, -1}}]), ({3}), 3, 2, 1);
  EXPECT_TAKES((x[{0, Range{3, 0, -2}}]), ({2}), 3, 1);
  EXPECT_TAKES((x[{Range{.step = -1}, Range{.step = -3}}]), ({3, 2}), 11, 8, 7, 4, 3, 0);
  EXPECT_TAKES((x[{0, Range{1, 1, -1}}]), ({0}));
  EXPECT_TAKES((x[{0, Range{.step = INT64_MIN}}]), ({1}), 3);
  EXPECT_TAKES((x[{0, Range{1, {}, INT64_MAX}}]), ({1}), 1);
}

TEST_F(IndexingTest, NewAxes) {
  EXPECT_TAKES((x[{NewAxis, 1}]), ({1, 4}), 4, 5, 6, 7);
  EXPECT_TAKES((x[{0, Ellipsis, NewAxis}]), ({4, 1}), 0, 1, 2, 3);
  EXPECT_TAKES((x[{Range{1, 2}, NewAxis, Range{.step = -1}}]), ({1, 1, 4}), 7, 6, 5, 4);
}

Tensor Ids(Builder& b, const std::vector<int32_t>& ids, const Shape& shape) {
  return Reshape(b.Constant(*HostTensor::View(I32, {static_cast<int64_t>(ids.size())}, ids.data())), shape);
}

TEST_F(IndexingTest, IndexTensors) {
  EXPECT_TAKES(x[Ids(b, {2, 0}, {2})], ({2, 4}), 8, 9, 10, 11, 0, 1, 2, 3);
  EXPECT_TAKES((x[{1, Ids(b, {3, 3, 0, 1}, {2, 2})}]), ({2, 2}), 7, 7, 4, 5);
  EXPECT_TAKES(x[Ids(b, {2}, {})], ({4}), 8, 9, 10, 11);
  EXPECT_TAKES((x[{Range{.step = -1}, Ids(b, {0, 2}, {2})}]), ({3, 2}), 8, 10, 4, 6, 0, 2);
  EXPECT_TAKES((x[{Ids(b, {1, 0}, {2}), NewAxis, Range{1, 3}}]), ({2, 1, 2}), 5, 6, 1, 2);
  // Several stand for one element each, and broadcast.
  EXPECT_TAKES((x[{b.Iota(I32, {3}), Ids(b, {3, 0, 1}, {3})}]), ({3}), 3, 4, 9);
  EXPECT_TAKES((x[{Ids(b, {2, 0}, {2, 1}), Ids(b, {1, 3}, {2})}]), ({2, 2}), 9, 11, 1, 3);
  EXPECT_TAKES((x[{Ids(b, {2, 0}, {2, 1}), Cast(Ids(b, {1}, {}), I64)}]), ({2, 1}), 9, 1);
}

// The dimensions of index tensors are adjacent once numbers have dropped theirs.
TEST_F(IndexingTest, IndexTensorsBesideOtherSubscripts) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 3, 4});
    const Tensor rows = Ids(b, {1, 0}, {2}), columns = Ids(b, {2, 1}, {2});
    b.Output("last", x[{Range{}, columns, Ids(b, {0, 3}, {2})}]);
    b.Output("first", x[{rows, columns, Range{1, 3}}]);
    b.Output("around", x[{rows, 1, Ids(b, {0, 3}, {2})}]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = Numbers({2, 3, 4});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "last"), ElementsAre(8, 7, 20, 19));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "first"), ElementsAre(21, 22, 5, 6));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "around"), ElementsAre(16, 7));
}

TEST_F(IndexingTest, GradientsReachWhatWasTaken) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable w = graph.Variable("w", F32, {3, 4});
    const Tensor x = b.Read(w);
    const Tensor taken = Sum(x[{Range{.step = -2}, 1}]) + Sum(x[{Ids(b, {1, 1}, {2}), Ids(b, {2, 2}, {2})}]);
    b.Output("gradient", Gradients(taken, {x})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "train", {}, "gradient"), ElementsAre(0, 1, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0));
}

TEST_F(IndexingTest, IndicesAreCheckedIfAsked) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {3, 4}), row = b.Input("row", I32, {1}),
                 column = b.Input("column", I32, {1});
    b.Output("y", x[{row, column}]);
  });
  Session session = MustStart(graph, {.device = TestDevice(), .check_indices = true});
  const auto run = [&](int32_t row, int32_t column) {
    return session
        .Run("f", {{"x", Numbers({3, 4})},
                   {"row", *HostTensor::View(I32, {1}, &row)},
                   {"column", *HostTensor::View(I32, {1}, &column)}})
        .status();
  };
  EXPECT_TRUE(run(2, 3).ok());
  const auto expect = [&](int32_t row, int32_t column, const std::string& says) {
    const absl::Status status = run(row, column);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << row << ", " << column;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("indexing_test.cc:"), HasSubstr(says)));
  };
  expect(0, 4, "index 4 is outside of 0 to 3");
  expect(3, 0, "index 3 is outside of 0 to 2");
  expect(-1, 1, "index -1 is outside of 0 to 2");
}

// Without a check, each index is clamped to its own dimension.
TEST_F(IndexingTest, IndicesAreClamped) {
  EXPECT_TAKES((x[{Ids(b, {0, 7, -1}, {3}), Ids(b, {9, 1, -2}, {3})}]), ({3}), 3, 9, 0);
  EXPECT_TAKES((x[{Ids(b, {5}, {1}), Range{0, 1}}]), ({1, 1}), 8);
}

class IndexingErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(IndexingErrorTest, Says) { ExpectSays(GetParam(), "indexing_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, IndexingErrorTest,
    ::testing::Values(
        In("TooMany", [](Builder& b) { (void)X(b)[{0, 1, 2}]; },
           {"Index(f32[2,3]) has 3 subscripts for 2 dimensions"}),
        In("OfAScalar", [](Builder& b) { (void)X(b, {})[0]; }, {"has 1 subscript for 0 dimensions"}),
        In("TwoEllipses", [](Builder& b) { (void)X(b)[{Ellipsis, 0, Ellipsis}]; },
           {"has more than one Ellipsis"}),
        In("Number", [](Builder& b) { (void)X(b)[{0, 3}]; },
           {"has no position 3 in dimension 1, whose size is 3"}),
        In("NegativeNumber", [](Builder& b) { (void)X(b)[-3]; },
           {"has no position -3 in dimension 0, whose size is 2"}),
        In("Range", [](Builder& b) { (void)X(b)[{0, Range{1, 4}}]; },
           {"Range{1, 4} of dimension 1, whose size is 3: it leaves the dimension"}),
        In("RangeBelow", [](Builder& b) { (void)X(b)[Range{-3, {}}]; },
           {"Range{-3, {}} of dimension 0, whose size is 2: it leaves"}),
        In("RangeDown", [](Builder& b) { (void)X(b)[Range{2, {}, -1}]; },
           {"Range{2, {}, -1} of dimension 0", "it leaves"}),
        In("RangeDownBelow", [](Builder& b) { (void)X(b)[Range{-3, {}, -1}]; },
           {"Range{-3, {}, -1}", "it leaves"}),
        In("RangeDownLimitBelow", [](Builder& b) { (void)X(b)[Range{{}, -3, -1}]; },
           {"Range{{}, -3, -1}", "it leaves"}),
        In("RangeDownLimitFar", [](Builder& b) { (void)X(b)[Range{{}, INT64_MAX, -1}]; }, {"it leaves"}),
        In("RangeBackwards", [](Builder& b) { (void)X(b)[{0, Range{2, 1}}]; }, {"it begins above its limit"}),
        In("RangeDownBackwards", [](Builder& b) { (void)X(b)[{0, Range{0, 2, -1}}]; },
           {"it begins below its limit"}),
        In("NoStep", [](Builder& b) { (void)X(b)[Range{.step = 0}]; }, {"the step is 0"}),
        In("Mask", [](Builder& b) { (void)X(b)[X(b, {2}, I1)]; }, {"takes no mask", "use Select"}),
        In("Floats", [](Builder& b) { (void)X(b)[X(b, {2})]; },
           {"takes i32 or i64 indices; Cast(indices, I32) first"}),
        In("Apart", [](Builder& b) { (void)X(b, {2, 3, 4})[{X(b, {2}, I32), Range{}, X(b, {2}, I32)}]; },
           {"has index tensors with other subscripts between them: Transpose first"}),
        In("Shapes", [](Builder& b) { (void)X(b)[{X(b, {2}, I32), X(b, {3}, I32)}]; },
           {"has index tensors that do not broadcast together"}),
        In("Empty", [](Builder& b) { (void)X(b, {0, 3})[X(b, {2}, I32)]; },
           {"takes from dimension 0, whose size is 0"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
