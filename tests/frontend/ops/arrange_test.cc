// Ops that join, copy and move elements: what they make of small tensors, their gradients and errors.
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

using ::testing::ElementsAre;

using ArrangeTest = DeviceTest;

// Returns tensors of the numbers from 0 on.
Tensor Numbers(Builder& b, const Shape& shape) {
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return Reshape(b.Iota(F32, {count}), shape);
}

struct Made {
  Shape shape;
  std::vector<float> values;
};

Made Of(const std::function<Tensor(Builder& b)>& make) {
  Graph graph("g");
  Shape shape;
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor y = make(b);
    shape = y.shape();
    b.Output("y", y);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  return {shape, Floats(session, "f", {}, "y")};
}

#define EXPECT_MAKES(made_by, expected_shape, ...)             \
  {                                                            \
    const Made made = Of([&](Builder& b) { return made_by; }); \
    EXPECT_EQ(made.shape, (Shape expected_shape));             \
    EXPECT_THAT(made.values, ElementsAre(__VA_ARGS__));        \
  }

TEST_F(ArrangeTest, Stacks) {
  EXPECT_MAKES(Stack({Numbers(b, {2}), Numbers(b, {2}) + 5}), ({2, 2}), 0, 1, 5, 6);
  EXPECT_MAKES(Stack({Numbers(b, {2}), Numbers(b, {2}) + 5}, -1), ({2, 2}), 0, 5, 1, 6);
  EXPECT_MAKES(Unbind(Numbers(b, {2, 3}))[1], ({3}), 3, 4, 5);
  EXPECT_MAKES(Unbind(Numbers(b, {2, 3}), -1)[2], ({2}), 2, 5);
  EXPECT_MAKES(Stack(Unbind(Numbers(b, {2, 2}), 1), 1), ({2, 2}), 0, 1, 2, 3);
}

TEST_F(ArrangeTest, Copies) {
  EXPECT_MAKES(Tile(Numbers(b, {2}), {3}), ({6}), 0, 1, 0, 1, 0, 1);
  EXPECT_MAKES(Tile(Numbers(b, {2, 2}), {2}), ({2, 4}), 0, 1, 0, 1, 2, 3, 2, 3);
  EXPECT_MAKES(Tile(Numbers(b, {2}), {2, 1}), ({2, 2}), 0, 1, 0, 1);
  EXPECT_MAKES(Tile(Numbers(b, {2}), {0}), ({0}));
  EXPECT_MAKES(Repeat(Numbers(b, {2}), 3, 0), ({6}), 0, 0, 0, 1, 1, 1);
  EXPECT_MAKES(Repeat(Numbers(b, {2, 2}), 2, 0), ({4, 2}), 0, 1, 0, 1, 2, 3, 2, 3);
  EXPECT_MAKES(Meshgrid({Numbers(b, {2}), Numbers(b, {3}) + 5})[0], ({2, 3}), 0, 0, 0, 1, 1, 1);
  EXPECT_MAKES(Meshgrid({Numbers(b, {2}), Numbers(b, {3}) + 5})[1], ({2, 3}), 5, 6, 7, 5, 6, 7);
}

TEST_F(ArrangeTest, Rolls) {
  EXPECT_MAKES(Roll(Numbers(b, {5}), 2, 0), ({5}), 3, 4, 0, 1, 2);
  EXPECT_MAKES(Roll(Numbers(b, {5}), -6, 0), ({5}), 1, 2, 3, 4, 0);
  EXPECT_MAKES(Roll(Numbers(b, {2, 3}), 1, -1), ({2, 3}), 2, 0, 1, 5, 3, 4);
  EXPECT_MAKES(Roll(Numbers(b, {3}), 3, 0), ({3}), 0, 1, 2);
  EXPECT_MAKES(Roll(Numbers(b, {0}), 3, 0), ({0}));
}

// Returns the place in a dimension of n that place i of its padded one takes its element from; i counts from
// the dimension's first element.
int64_t SourceOf(PadMode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case PadMode::kReflect:
      return i < 0 ? -i : 2 * (n - 1) - i;
    case PadMode::kSymmetric:
      return i < 0 ? -1 - i : 2 * n - 1 - i;
    case PadMode::kReplicate:
      return i < 0 ? 0 : n - 1;
    case PadMode::kCircular:
      return i < 0 ? i + n : i - n;
  }
  return 0;
}

constexpr PadMode kPadModes[] = {PadMode::kReflect, PadMode::kSymmetric, PadMode::kReplicate,
                                 PadMode::kCircular};

TEST_F(ArrangeTest, PadsWithItsElements) {
  EXPECT_MAKES(Pad(Numbers(b, {3}) + 1, {2}, {2}, PadMode::kReflect), ({7}), 3, 2, 1, 2, 3, 2, 1);
  EXPECT_MAKES(Pad(Numbers(b, {3}) + 1, {2}, {2}, PadMode::kSymmetric), ({7}), 2, 1, 1, 2, 3, 3, 2);
  EXPECT_MAKES(Pad(Numbers(b, {3}) + 1, {2}, {2}, PadMode::kReplicate), ({7}), 1, 1, 1, 2, 3, 3, 3);
  EXPECT_MAKES(Pad(Numbers(b, {3}) + 1, {2}, {2}, PadMode::kCircular), ({7}), 2, 3, 1, 2, 3, 1, 2);
  EXPECT_MAKES(Pad(Numbers(b, {1}), {3}, {4}, PadMode::kReplicate), ({8}), 0, 0, 0, 0, 0, 0, 0, 0);
  EXPECT_MAKES(Cast(Pad(Numbers(b, {2}) > 0, {0}, {2}, PadMode::kCircular), F32), ({4}), 0, 1, 0, 1);
  EXPECT_MAKES(Pad(Numbers(b, {0, 2}), {0, 1}, {0, 0}, PadMode::kReflect), ({0, 3}));
  for (const PadMode mode : kPadModes) {
    const Made made =
        Of([&](Builder& b) { return Pad(Numbers(b, {2, 3, 4, 3}), {1, 0, 3, 2}, {0, 2, 1, 1}, mode); });
    ASSERT_EQ(made.shape, (Shape{3, 5, 8, 6}));
    size_t at = 0;
    for (int64_t i = -1; i < 2; ++i)
      for (int64_t j = 0; j < 5; ++j)
        for (int64_t k = -3; k < 5; ++k)
          for (int64_t l = -2; l < 4; ++l, ++at) {
            const int64_t source =
                ((SourceOf(mode, i, 2) * 3 + SourceOf(mode, j, 3)) * 4 + SourceOf(mode, k, 4)) * 3 +
                SourceOf(mode, l, 3);
            ASSERT_EQ(made.values[at], static_cast<float>(source)) << i << " " << j << " " << k << " " << l;
          }
  }
}

// An element's gradient is the sum of those of its copies.
TEST_F(ArrangeTest, PaddedElementsHaveTheGradientsOfTheirCopies) {
  for (const PadMode mode : kPadModes) {
    const Made made = Of([&](Builder& b) {
      const Tensor x = Numbers(b, {3, 4});
      const Tensor y = Pad(x, {2, 3}, {1, 2}, mode);
      return sinter::Gradients(Sum(y * Numbers(b, {6, 9})), {x})[0];
    });
    std::vector<float> want(12, 0);
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 9; ++j)
        want[static_cast<size_t>(SourceOf(mode, i - 2, 3) * 4 + SourceOf(mode, j - 3, 4))] +=
            static_cast<float>(i * 9 + j);
    EXPECT_EQ(made.values, want);
  }
}

TEST_F(ArrangeTest, Triangles) {
  EXPECT_MAKES(Tril(Numbers(b, {2, 3}) + 1), ({2, 3}), 1, 0, 0, 4, 5, 0);
  EXPECT_MAKES(Tril(Numbers(b, {2, 3}) + 1, -1), ({2, 3}), 0, 0, 0, 4, 0, 0);
  EXPECT_MAKES(Triu(Numbers(b, {2, 3}) + 1, 1), ({2, 3}), 0, 2, 3, 0, 0, 6);
  EXPECT_MAKES(Triu(Numbers(b, {2, 1, 2}), INT64_MIN), ({2, 1, 2}), 0, 1, 2, 3);
  EXPECT_MAKES(Cast(Tril(Numbers(b, {2, 2}) >= 0), F32), ({2, 2}), 1, 0, 1, 1);
}

TEST_F(ArrangeTest, Diagonals) {
  EXPECT_MAKES(Diagonal(Numbers(b, {2, 3})), ({2}), 0, 4);
  EXPECT_MAKES(Diagonal(Numbers(b, {2, 3}), 1), ({2}), 1, 5);
  EXPECT_MAKES(Diagonal(Numbers(b, {3, 2}), -1), ({2}), 2, 5);
  EXPECT_MAKES(Diagonal(Numbers(b, {2, 3}), 3), ({0}));
  EXPECT_MAKES(Diagonal(Numbers(b, {2, 2, 2})), ({2, 2}), 0, 3, 4, 7);
  EXPECT_MAKES(DiagEmbed(Numbers(b, {2}) + 1), ({2, 2}), 1, 0, 0, 2);
  EXPECT_MAKES(DiagEmbed(Numbers(b, {2}) + 1, 1), ({3, 3}), 0, 1, 0, 0, 0, 2, 0, 0, 0);
  EXPECT_MAKES(DiagEmbed(Numbers(b, {2, 1}) + 1, -1), ({2, 2, 2}), 0, 0, 1, 0, 0, 0, 2, 0);
  EXPECT_MAKES(Diagonal(DiagEmbed(Numbers(b, {3}), -2), -2), ({3}), 0, 1, 2);
}

// Each element of a gradient counts how often its element was taken.
TEST_F(ArrangeTest, Gradients) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable w = graph.Variable("w", F32, {2, 2});
    const Tensor x = b.Read(w);
    const Tensor all = Sum(Tile(x, {2, 1})) + Sum(Repeat(x, 3, 1)) + 10 * Sum(Tril(x)) +
                       100 * Sum(Diagonal(x)) + 1000 * Sum(Roll(x, 1, 0)[0]) +
                       10000 * Sum(DiagEmbed(x)[{0, Range{}, 1}]);
    b.Output("gradient", sinter::Gradients(all, {x})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "train", {}, "gradient"), ElementsAre(115, 10005, 1015, 1115));
}

class ArrangeErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ArrangeErrorTest, Says) { ExpectSays(GetParam(), "arrange_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, ArrangeErrorTest,
    ::testing::Values(
        In("StackTypes", [](Builder& b) { Stack({X(b), X(b, {2, 3}, F64)}); },
           {"Stack(f32[2,3], f64[2,3])", "one type"}),
        In("StackDim", [](Builder& b) { Stack({X(b), X(b)}, 3); }, {"no dimension 3"}),
        In("StackNone", [](Builder&) { Stack({}); }, {"Stack"}),
        In("UnbindDim", [](Builder& b) { Unbind(X(b), 2); }, {"no dimension 2"}),
        In("TileNegative", [](Builder& b) { Tile(X(b), {2, -1}); }, {"Tile(f32[2,3]) makes -1 copies"}),
        In("TileLarge", [](Builder& b) { Tile(X(b), {INT64_MAX}); },
           {"has more than 2^47 elements in its shape"}),
        In("RepeatNegative", [](Builder& b) { Repeat(X(b), -2, 0); }, {"makes -2 copies"}),
        In("PadEntries", [](Builder& b) { Pad(X(b), {1}, {1, 1}, PadMode::kReflect); },
           {"Pad(f32[2,3])", "needs one entry of low and high a dimension: 2, got 1 and 2"}),
        In("PadAway", [](Builder& b) { Pad(X(b), {0, 0}, {0, -1}, PadMode::kReplicate); },
           {"needs paddings of at least 0; Slice takes elements away"}),
        In("PadReflect", [](Builder& b) { Pad(X(b), {2, 0}, {0, 0}, PadMode::kReflect); },
           {"reflects 2 elements of a dimension of size 2, which must be larger"}),
        In("PadSymmetric", [](Builder& b) { Pad(X(b), {0, 0}, {0, 4}, PadMode::kSymmetric); },
           {"repeats 4 elements of a dimension of size 3"}),
        In("PadCircular", [](Builder& b) { Pad(X(b), {0, 0}, {3, 0}, PadMode::kCircular); },
           {"repeats 3 elements of a dimension of size 2"}),
        In("PadReplicate", [](Builder& b) { Pad(X(b, {0}), {1}, {0}, PadMode::kReplicate); },
           {"repeats the edge of a dimension of size 0"}),
        In("RollDim", [](Builder& b) { Roll(X(b), 1, 2); }, {"no dimension 2"}),
        In("TrilOfALine", [](Builder& b) { Tril(X(b, {3})); }, {"Tril(f32[3]) needs matrices"}),
        In("TriuOfALine", [](Builder& b) { Triu(X(b, {3})); }, {"Triu(f32[3]) needs matrices"}),
        In("DiagonalFar", [](Builder& b) { Diagonal(X(b), -3); },
           {"has no diagonal -3 of 2 rows and 3 columns"}),
        In("DiagonalOfALine", [](Builder& b) { Diagonal(X(b, {3})); }, {"needs matrices"}),
        In("DiagEmbedOfANumber", [](Builder& b) { DiagEmbed(X(b, {})); }, {"needs a dimension"}),
        In("DiagEmbedLarge", [](Builder& b) { DiagEmbed(X(b), INT64_MAX); },
           {"has more than 2^47 elements in its shape"}),
        In("DiagEmbedFar", [](Builder& b) { DiagEmbed(X(b), INT64_MIN); }, {"DiagEmbed(f32[2,3])"}),
        In("MeshgridOfMatrices", [](Builder& b) { Meshgrid({X(b)}); }, {"needs tensors of one dimension"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
