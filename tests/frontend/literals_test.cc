// Numbers and shapes at the limits of element types and 64 bits, and tensors of other functions and graphs.

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class NumberErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(NumberErrorTest, NamesLineNumberAndFix) { ExpectSays(GetParam(), "literals_test.cc:"); }

// Numbers that the element type cannot represent.
std::vector<ErrorCase> NumberCases() {
  return {
      In("HalfOfInts", [](Builder& b) { X(b, {2}, I32) * 0.5; },
         {"Mul(i32[2])", "0.5 is not a number of type i32", "Cast(x, F32)"}),
      In("IntsBelowHalf", [](Builder& b) { X(b, {2}, I32) < 0.5; }, {"Less(i32[2])", "Cast(x, F32)"}),
      In("IntsAndLarge", [](Builder& b) { X(b, {2}, I32) + 3e9; },
         {"3000000000 is not a number of type i32", "Cast(x, F32)"}),
      In("LongsAndUnsigned", [](Builder& b) { Maximum(X(b, {2}, I64), ~uint64_t{0}); },
         {"is not a number of type i64"}),
      In("BoolsAndTwo", [](Builder& b) { Equal(X(b, {2}, I1), 2); }, {"i1 holds 0 and 1"}),
      In("SelectFraction", [](Builder& b) { Select(X(b, {2}, I1), X(b, {2}, I8), 0.5); },
         {"Select(i1[2], i8[2])", "0.5 is not a number of type i8"}),
      In("ClampFraction", [](Builder& b) { Clamp(X(b, {2}, I32), 0, 2.5); }, {"2.5 is not a number of"}),
      In("ClampInfinite", [](Builder& b) { Clamp(X(b, {2}, I32), 0, INFINITY); }, {"inf is not a number"}),
      In("PadNegativeBytes", [](Builder& b) { Pad(X(b, {2}, U8), {1}, {1}, -1); }, {"-1 is not a number of"}),
      In("FullFraction", [](Builder& b) { b.Full(I32, {2}, 0.5); }, {"Full", "0.5 is not", "Cast(x, F32)"}),
      In("FullNegativeBytes", [](Builder& b) { b.Full(U8, {2}, -1); }, {"-1 is not a number of type u8"}),
      In("FullHalfBool", [](Builder& b) { b.Full(I1, {2}, 0.5); }, {"0.5 is not a number of type i1"}),
      In("FullNan", [](Builder& b) { b.Full(I32, {2}, NAN); }, {"nan is not a number of type i32"}),
      In("FullLargeByte", [](Builder& b) { b.Full(I8, {2}, 1e9); },
         {"1000000000 is not a number of type i8"}),
      In("FullLargeFloat", [](Builder& b) { b.Full(F32, {2}, 1e300); },
         {"1e+300 is not a number of type f32, whose largest is about 3.4e38"}),
      In("LargeHalf", [](Builder& b) { X(b, {2}, F16) * 1e9; }, {"type f16, whose largest is 65504"}),
      In("LargeAlpha", [](Builder& b) { LeakyRelu(X(b, {2}, F16), 1e9); }, {"type f16"}),
      In("LargeUniform", [](Builder& b) { b.RandomUniform(F16, {2}, 0, 1e9); }, {"type f16"}),
      In("IotaBytes", [](Builder& b) { b.Iota(I8, {300}); }, {"299 is not a number of type i8"}),
      In("IgnoredLabel",
         [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b, {2}, I32), {.ignore_label = int64_t{1} << 40}); },
         {"1099511627776 is not a number of type i32"}),
      In("NoTensor", [](Builder&) { Pow(Operand(2.0), Operand(3.0)); }, {"Pow is given no tensor"}),
      {"InitialFraction",
       [](Graph& g) { g.Variable("v", I32, {}, {.init = {.a = 0.5}}); },
       {"Variable \"v\"", "i32[] cannot start from its initial value: 0.5 is not a number of type i32"}},
      {"InitialNegativeByte", [](Graph& g) { g.Variable("v", U8, {}, {.init = {.a = -1}}); }, {"-1 is not"}},
      {"RandomName",
       [](Graph& g) { g.Variable("random/seed", F32, {}); },
       {"has a name that is the random numbers'", "does not begin with \"random/\""}},
      In("LargeLog", [](Builder& b) { b.Log("n", X(b, {}), {.capacity = int64_t{1} << 60}); },
         {"more than 2^47 elements"}),
      {"InitialNoDouble",
       [](Graph& g) { g.Variable("v", I64, {}, {.init = {.a = (int64_t{1} << 53) + 1}}); },
       {"cannot start from 9007199254740993", "Assign it in a function"}},
  };
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t k33 = int64_t{1} << 33, k40 = int64_t{1} << 40;
constexpr char kTooLarge[] = "more than 2^47 elements in its shape", kRank[] = "rank 9 (ranks go up to 8)";

// Explicit shapes that no tensor may have.
std::vector<ErrorCase> SizeCases() {
  return {
      In("DynamicBatch", [](Builder& b) { b.Input("x", F32, {-1, 5}); },
         {"negative size in its shape f32[-1,5]", "sizes are static: build a function for each batch size"}),
      In("Input", [](Builder& b) { b.Input("x", F32, {k40, k40}); },
         {kTooLarge, "f32[1099511627776,1099511627776]"}),
      {"Variable", [](Graph& g) { g.Variable("v", F32, {k40, k40}); }, {kTooLarge}},
      In("Full", [](Builder& b) { b.Full(F32, {k33, k33}, 1); }, {kTooLarge}),
      In("FullNegative", [](Builder& b) { b.Full(F32, {-3}, 1); }, {"negative size"}),
      In("Iota", [](Builder& b) { b.Iota(I64, {k40, k40}); }, {kTooLarge}),
      In("Random", [](Builder& b) { b.RandomNormal(F32, {k40, k40}); }, {kTooLarge}),
      In("Bernoulli", [](Builder& b) { b.RandomBernoulli({-2}, 0.5); }, {"negative size"}),
      In("Permutation", [](Builder& b) { b.RandomPermutation(I64, kMost); }, {kTooLarge}),
      In("BroadcastTo", [](Builder& b) { BroadcastTo(X(b, {1}), {k33, k33}); }, {kTooLarge}),
      In("SumOfOnes", [](Builder& b) { Sum(b.Ones(F32, {int64_t{1} << 62})); }, {kTooLarge}),
      In("OneHot", [](Builder& b) { OneHot(X(b, {4}, I32), int64_t{1} << 50); }, {kTooLarge}),
      In("ReshapeWraps", [](Builder& b) { Reshape(X(b, {0}), {k33, k33}); }, {kTooLarge}),
      In("ReshapeRank", [](Builder& b) { Reshape(X(b, {1}), Shape(9, 1)); }, {kRank}),
      In("ConvPadding",
         [](Builder& b) { Conv2d(X(b, {1, 1, 8, 8}), X(b, {1, 1, 3, 3}), {.padding = {kMost, kMost}}); },
         {"paddings from 0 to 2147483647"}),
      In("ConvDilation",
         [](Builder& b) { Conv2d(X(b, {1, 1, 8, 8}), X(b, {1, 1, 3, 3}), {.dilations = {kMost, 1}}); },
         {"dilations from 1 to 2147483647"}),
      In("PoolStride", [](Builder& b) { AvgPool2d(X(b, {1, 1, 8, 8}), {2, 2}, {.strides = {kMost, 1}}); },
         {"strides from 1 to 2147483647"}),
  };
}

// Computed shapes that no tensor may have. Some need sizes beyond 64 bits on the way.
std::vector<ErrorCase> ComputedSizeCases() {
  return {
      In("OuterSum", [](Builder& b) { X(b, {k40, 1}) + X(b, {1, k40}); }, {kTooLarge}),
      In("OuterProduct", [](Builder& b) { MatMul(X(b, {k40, 1}), X(b, {1, k40})); }, {kTooLarge}),
      In("MatMulBatch", [](Builder& b) { MatMul(X(b, {k33, 1, 1}), X(b, {1, 1, k33})); }, {kTooLarge}),
      In("PadWraps", [](Builder& b) { Pad(X(b, {4}), {kMost}, {kMost}); }, {kTooLarge}),
      In("PadToNothing", [](Builder& b) { Pad(X(b, {4}), {kMost - 1}, {kMost - 1}); }, {kTooLarge}),
      In("Concat",
         [](Builder& b) {
           auto x = X(b, {int64_t{1} << 47});
           Concat({x, x}, 0);
         },
         {kTooLarge}),
      In("SplitWraps", [](Builder& b) { Split(X(b, {4}), {kMost, kMost, 6}, 0); },
         {"of dimension 0 of size 4"}),
      In("ExpandRank", [](Builder& b) { ExpandDims(X(b, Shape(8, 1)), 0); }, {kRank}),
      In("OneHotRank", [](Builder& b) { OneHot(X(b, Shape(8, 1), I32), 2); }, {kRank}),
      In("Gather", [](Builder& b) { Gather(X(b, {1, k33}), X(b, {k33}, I32), 0); }, {kTooLarge}),
      In("Attention", [](Builder& b) { Attention(X(b, {1, 1 << 24, 3, 1, 8})); }, {kTooLarge}),
  };
}

INSTANTIATE_TEST_SUITE_P(Number, NumberErrorTest, ::testing::ValuesIn(NumberCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Size, NumberErrorTest, ::testing::ValuesIn(SizeCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(ComputedSize, NumberErrorTest, ::testing::ValuesIn(ComputedSizeCases()),
                         ErrorCaseName);

constexpr int64_t kNoDouble = (int64_t{1} << 53) + 1;

// Returns the 64-bit integers that `make` computes from 1 and 2.
std::vector<int64_t> Longs(const std::function<Tensor(Builder&, Tensor)>& make) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) { b.Output("y", make(b, b.Input("x", I64, {2}))); });
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<int64_t>({2}, {1, 2});
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}});
  EXPECT_TRUE(out.ok()) << out.status();
  const std::span<const int64_t> values = *(*out)["y"].Span<int64_t>();
  return {values.begin(), values.end()};
}

TEST(LiteralsTest, WholeNumbersOf64BitsAreExact) {
  EXPECT_THAT(Longs([](Builder&, Tensor x) { return x + kNoDouble; }),
              ElementsAre(kNoDouble + 1, kNoDouble + 2));
  EXPECT_THAT(Longs([](Builder& b, Tensor x) { return b.Full(I64, {2}, kNoDouble) - x; }),
              ElementsAre(kNoDouble - 1, kNoDouble - 2));
  EXPECT_THAT(Longs([](Builder&, Tensor x) { return Clamp(x, kNoDouble, kNoDouble + 2); }),
              ElementsAre(kNoDouble, kNoDouble));
  EXPECT_THAT(Longs([](Builder&, Tensor x) { return Pad(x, {1}, {0}, kNoDouble); }),
              ElementsAre(kNoDouble, 1, 2));
  EXPECT_THAT(Longs([](Builder&, Tensor x) { return Select(x > 1, kNoDouble, x); }),
              ElementsAre(1, kNoDouble));
  EXPECT_THAT(Longs([](Builder&, Tensor x) { return x + std::numeric_limits<int64_t>::min(); }),
              ElementsAre(std::numeric_limits<int64_t>::min() + 1, std::numeric_limits<int64_t>::min() + 2));
}

TEST(LiteralsTest, ConstantsMayBeInfinite) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    b.Output("quotient", 1.0 / b.Zeros(F32, {2}));
    b.Output("exp", Exp(b.Full(F32, {2}, 1000)));
    b.Output("log_sum", LogSumExp(b.Full(F32, {2, 3}, -INFINITY), {1}));
    b.Output("root", Sqrt(b.Full(F32, {2}, -1)));
    b.Output("literal", b.Input("x", F32, {2}) * -INFINITY);
  });
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, -1});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "quotient"), ElementsAre(INFINITY, INFINITY));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "exp"), ElementsAre(INFINITY, INFINITY));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "log_sum"), ElementsAre(-INFINITY, -INFINITY));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "root"), ElementsAre(::testing::IsNan(), ::testing::IsNan()));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "literal"), ElementsAre(-INFINITY, INFINITY));
}

TEST(LiteralsTest, SlicesOfLargestStrideTakeTheFirst) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain,
                 [](Builder& b) { b.Output("y", Slice(b.Input("x", F32, {16}), {3}, {16}, {kMost})); });
  Session session = MustStart(graph);
  const HostTensor x =
      *HostTensor::FromVector<float>({16}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "y"), ElementsAre(3));
}

TEST(LiteralsTest, LargeSeedsDiffer) {
  std::vector<std::vector<float>> draws;
  for (int64_t seed : {kNoDouble - 1, kNoDouble, std::numeric_limits<int64_t>::max()}) {
    Graph graph("g", {.seed = seed});
    graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("y", b.RandomUniform(F32, {4})); });
    Session session = MustStart(graph);
    draws.push_back(Floats(session, "f", {}, "y"));
  }
  EXPECT_NE(draws[0], draws[1]);
  EXPECT_NE(draws[1], draws[2]);
}

// Returns the error of a graph whose function "f" has the body `use`.
std::string Says(const std::function<void(Builder&)>& use) {
  Graph graph("uses");
  graph.Function("f", Mode::kTrain, use);
  EXPECT_EQ(Compile(graph).status(), graph.status());
  std::string message(graph.status().message());
  EXPECT_THAT(message, HasSubstr("literals_test.cc:"));
  return message;
}

TEST(HandlesTest, TensorsThatNoCallMade) {
  const std::string unmade = "takes a tensor that no call made, as `Tensor t;` declares one";
  Tensor t;
  EXPECT_THAT(Says([&](Builder& b) { b.Output("y", t + X(b)); }), HasSubstr("Add(?, f32[2,3]) " + unmade));
  EXPECT_THAT(Says([&](Builder& b) { b.Output("z", t); }), HasSubstr("Output \"z\"(?) " + unmade));
  EXPECT_THAT(Says([&](Builder&) { Exp(t); }), HasSubstr(unmade));
  EXPECT_THAT(Says([&](Builder&) { t * 2.0; }), HasSubstr(unmade));
  EXPECT_THAT(Says([&](Builder&) { Concat({t, t}, 0); }), HasSubstr(unmade));
  EXPECT_THAT(Says([](Builder&) { Concat({}, 0); }), HasSubstr("Concat is given no tensor"));
  EXPECT_THAT(Says([&](Builder&) { nn::Linear(3)(t); }), HasSubstr("Linear(3)(?) " + unmade));
  EXPECT_THAT(Says([&](Builder&) { optim::Sgd{}.Minimize(t); }), HasSubstr("optim::Sgd(?) " + unmade));
  EXPECT_THAT(Says([](Builder& b) { b.Read(Variable()); }), HasSubstr("takes a variable that no call made"));
}

TEST(HandlesTest, TensorsOfAnotherGraphAreErrorsOfTheGraphThatUsesThem) {
  Graph other("other");
  Tensor foreign;
  Variable variable = other.Variable("v", F32, {2, 3});
  other.Function("g", Mode::kTrain, [&](Builder& b) { foreign = X(b); });
  const std::string says = "takes a tensor of another graph, \"other\", from its function \"g\"";
  EXPECT_THAT(Says([&](Builder& b) { b.Output("y", X(b) + foreign); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder& b) { b.Output("y", foreign); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder&) { Exp(foreign); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder&) { nn::Linear(3)(foreign); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder& b) { b.Read(variable); }),
              HasSubstr("takes a variable of another graph, \"other\""));
  // The same while the other graph is being built.
  other.Function("h", Mode::kTrain, [&](Builder& b) {
    Tensor x = X(b);
    EXPECT_THAT(Says([&](Builder&) { Exp(x); }), HasSubstr("from its function \"h\""));
    EXPECT_THAT(Says([&](Builder&) { b.Input("y", F32, {}); }),
                HasSubstr("is called on the Builder of the function \"h\""));
  });
  EXPECT_TRUE(other.status().ok()) << other.status();
  EXPECT_EQ(other.variables().size(), 1u);
}

TEST(HandlesTest, TensorsOfADestroyedGraph) {
  Tensor dead;
  Variable variable;
  std::optional<Builder> builder;
  {
    Graph gone("gone");
    variable = gone.Variable("v", F32, {2, 3});
    gone.Function("g", Mode::kTrain, [&](Builder& b) {
      dead = X(b);
      builder = b;
    });
  }
  EXPECT_FALSE(dead.ok());
  EXPECT_FALSE(variable.ok());
  EXPECT_EQ(dead.ToString(), "?");
  EXPECT_EQ(dead.device(), Device::Cpu());
  EXPECT_EQ(builder->mode(), Mode::kTrain);
  EXPECT_FALSE(Exp(dead).ok());  // Outside of any body: no graph can record the error.
  const std::string says = "takes a tensor whose graph has been destroyed";
  EXPECT_THAT(Says([&](Builder& b) { b.Output("y", X(b) + dead); }), HasSubstr("Add(f32[2,3], ?) " + says));
  EXPECT_THAT(Says([&](Builder& b) { b.Output("y", dead); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder&) { nn::Linear(3)(dead); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder&) { optim::Adam{}.Minimize(dead); }), HasSubstr(says));
  EXPECT_THAT(Says([&](Builder& b) { b.Assign(variable, X(b)); }),
              HasSubstr("takes a variable whose graph has been destroyed"));
  EXPECT_THAT(Says([&](Builder&) { builder->Input("x", F32, {}); }),
              HasSubstr("is called on a Builder whose graph has been destroyed"));
}

}  // namespace
}  // namespace sinter
