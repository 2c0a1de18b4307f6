// Attention with every option, Rope, AlibiBias and cross-attention against loops over their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;

using AttentionOptionsTest = DeviceTest;

constexpr int64_t kBatch = 2, kQueries = 3, kKeys = 5, kHeads = 4, kKeyHeads = 2, kWidth = 8;

std::vector<float> Numbers(int64_t count, int step) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(std::sin(static_cast<float>(i * step + 1)));
  return numbers;
}

// The keys that a query sees, and the bias of their scores.
struct Seen {
  std::function<bool(int64_t b, int64_t h, int64_t t, int64_t s)> sees = [](auto...) { return true; };
  std::function<double(int64_t b, int64_t h, int64_t t, int64_t s)> bias = [](auto...) { return 0.0; };
};

std::vector<double> AttentionOf(const std::vector<float>& q, const std::vector<float>& k,
                                const std::vector<float>& v, double scale, const Seen& seen) {
  std::vector<double> result(q.size(), 0);
  const auto at = [](const std::vector<float>& x, int64_t positions, int64_t heads, int64_t b, int64_t t,
                     int64_t h, int64_t d) {
    return x[static_cast<size_t>(((b * positions + t) * heads + h) * kWidth + d)];
  };
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t t = 0; t < kQueries; ++t) {
        std::vector<double> weights(kKeys, 0);
        double sum = 0;
        for (int64_t s = 0; s < kKeys; ++s) {
          if (!seen.sees(b, h, t, s)) continue;
          double score = 0;
          for (int64_t d = 0; d < kWidth; ++d) {
            score += at(q, kQueries, kHeads, b, t, h, d) * at(k, kKeys, kKeyHeads, b, s, h / 2, d);
          }
          sum += weights[static_cast<size_t>(s)] = std::exp(score * scale + seen.bias(b, h, t, s));
        }
        for (int64_t s = 0; s < kKeys && sum > 0; ++s)
          for (int64_t d = 0; d < kWidth; ++d)
            result[static_cast<size_t>(((b * kQueries + t) * kHeads + h) * kWidth + d)] +=
                weights[static_cast<size_t>(s)] / sum * at(v, kKeys, kKeyHeads, b, s, h / 2, d);
      }
  return result;
}

struct OptionCase {
  std::string name;
  std::function<AttentionOptions(Builder&)> options;
  Seen seen;
  double scale = 1 / std::sqrt(static_cast<double>(kWidth));
};

std::vector<OptionCase> OptionCases() {
  const std::vector<int32_t> lengths = {4, 0};
  return {
      {"causal",
       [](Builder&) { return AttentionOptions{.causal = true}; },
       {.sees = [](int64_t, int64_t, int64_t t, int64_t s) { return s <= t + 2; }}},
      {"window",
       [](Builder&) { return AttentionOptions{.window = 2}; },
       {.sees = [](int64_t, int64_t, int64_t t, int64_t s) { return std::abs(s - t - 2) < 2; }}},
      {"both",
       [](Builder&) { return AttentionOptions{.causal = true, .scale = 0.3, .window = 2}; },
       {.sees = [](int64_t, int64_t, int64_t t, int64_t s) { return s <= t + 2 && s > t; }},
       0.3},
      {"all in the window",
       [](Builder&) {
         return AttentionOptions{.causal = true, .window = std::numeric_limits<int64_t>::max()};
       },
       {.sees = [](int64_t, int64_t, int64_t t, int64_t s) { return s <= t + 2; }}},
      {"lengths",
       [=](Builder& b) {
         return AttentionOptions{.key_lengths =
                                     b.Constant(*HostTensor::FromVector<int32_t>({kBatch}, lengths))};
       },
       {.sees = [=](int64_t b, int64_t, int64_t, int64_t s) { return s < lengths[static_cast<size_t>(b)]; }}},
      {"mask",
       [](Builder& b) {
         return AttentionOptions{
             .mask = Equal(Rem(b.Iota(I32, {kHeads, 1, kKeys}, 0) + b.Iota(I32, {kKeys}), 3), 0)};
       },
       {.sees = [](int64_t, int64_t h, int64_t, int64_t s) { return (h + s) % 3 == 0; }}},
      {"bias",
       [](Builder& b) { return AttentionOptions{.bias = AlibiBias(b, kHeads, kQueries, kKeys)}; },
       {.bias =
            [](int64_t, int64_t h, int64_t t, int64_t s) {
              return -std::pow(2, -2.0 * static_cast<double>(h + 1)) *
                     static_cast<double>(std::abs(s - t - 2));
            }}},
  };
}

TEST_F(AttentionOptionsTest, FollowTheFormula) {
  const std::vector<float> q = Numbers(kBatch * kQueries * kHeads * kWidth, 7);
  const std::vector<float> k = Numbers(kBatch * kKeys * kKeyHeads * kWidth, 5);
  const std::vector<float> v = Numbers(kBatch * kKeys * kKeyHeads * kWidth, 3);
  for (const OptionCase& c : OptionCases()) {
    SCOPED_TRACE(c.name);
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      const Tensor in = b.Input("q", F32, {kBatch, kQueries, kHeads, kWidth});
      const Tensor y = Attention(in, b.Input("k", F32, {kBatch, kKeys, kKeyHeads, kWidth}),
                                 b.Input("v", F32, {kBatch, kKeys, kKeyHeads, kWidth}), c.options(b));
      b.Output("y", y);
      b.Output("gradient", Gradients(Sum(Square(y)), {in})[0]);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    const HostTensor queries = *HostTensor::FromVector<float>({kBatch, kQueries, kHeads, kWidth}, q);
    const HostTensor keys = *HostTensor::FromVector<float>({kBatch, kKeys, kKeyHeads, kWidth}, k);
    const HostTensor values = *HostTensor::FromVector<float>({kBatch, kKeys, kKeyHeads, kWidth}, v);
    const auto outputs = session.Run("f", {{"q", queries}, {"k", keys}, {"v", values}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> y = ToFloats((*outputs)["y"]), slopes = ToFloats((*outputs)["gradient"]);
    const std::vector<double> want = AttentionOf(q, k, v, c.scale, c.seen);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 2e-5) << i;
    const auto loss = [&](size_t element, float step) {
      std::vector<float> moved = q;
      moved[element] += step;
      double sum = 0;
      for (const double x : AttentionOf(moved, k, v, c.scale, c.seen)) sum += x * x;
      return sum;
    };
    for (const size_t i : {size_t{0}, size_t{29}, want.size() - 1}) {
      EXPECT_NEAR(slopes[i], (loss(i, 0.01f) - loss(i, -0.01f)) / 0.02, 1e-3) << i;
    }
  }
}

// On a GPU this is the attention of cuDNN, and elsewhere ops.
TEST_F(AttentionOptionsTest, FollowTheFormulaInBf16) {
  // Numbers that bf16 holds.
  const auto rounded = [](int64_t count, int step) {
    std::vector<float> numbers = Numbers(count, step);
    for (float& x : numbers) x = std::round(x * 128) / 128;
    return numbers;
  };
  const std::vector<float> q = rounded(kBatch * kQueries * kHeads * kWidth, 7);
  const std::vector<float> k = rounded(kBatch * kKeys * kKeyHeads * kWidth, 5);
  const std::vector<float> v = rounded(kBatch * kKeys * kKeyHeads * kWidth, 3);
  for (const OptionCase& c : OptionCases()) {
    SCOPED_TRACE(c.name);
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      const Tensor in = b.Input("q", F32, {kBatch, kQueries, kHeads, kWidth});
      const Tensor keys = b.Input("k", F32, {kBatch, kKeys, kKeyHeads, kWidth});
      const Tensor values = b.Input("v", F32, {kBatch, kKeys, kKeyHeads, kWidth});
      const Tensor narrow =
          Cast(Attention(Cast(in, BF16), Cast(keys, BF16), Cast(values, BF16), c.options(b)), F32);
      const Tensor wide = Attention(in, keys, values, c.options(b));
      b.Output("y", narrow);
      const auto slopes = [&](const Tensor& y) { return Gradients(Sum(Square(y)), {in, keys, values}); };
      const std::vector<Tensor> of_narrow = slopes(narrow), of_wide = slopes(wide);
      for (size_t i = 0; i < 3; ++i) {
        b.Output("off" + std::to_string(i), Max(Abs(of_narrow[i] - of_wide[i])));
      }
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    const HostTensor queries = *HostTensor::FromVector<float>({kBatch, kQueries, kHeads, kWidth}, q);
    const HostTensor keys = *HostTensor::FromVector<float>({kBatch, kKeys, kKeyHeads, kWidth}, k);
    const HostTensor values = *HostTensor::FromVector<float>({kBatch, kKeys, kKeyHeads, kWidth}, v);
    const auto outputs = session.Run("f", {{"q", queries}, {"k", keys}, {"v", values}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> y = ToFloats((*outputs)["y"]);
    const std::vector<double> want = AttentionOf(q, k, v, c.scale, c.seen);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1.5e-2) << i;
    for (const char* off : {"off0", "off1", "off2"}) EXPECT_LT(ToFloats((*outputs)[off])[0], 3e-2) << off;
  }
}

// A bias that examples and queries share, and one of its own for each score.
TEST_F(AttentionOptionsTest, ABiasHasAGradient) {
  const std::vector<float> q = Numbers(kBatch * kQueries * kHeads * kWidth, 7);
  const std::vector<float> k = Numbers(kBatch * kKeys * kKeyHeads * kWidth, 5);
  for (const Shape& shape : {Shape{kHeads, 1, kKeys}, Shape{kBatch, kHeads, kQueries, kKeys}}) {
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      const Tensor bias = b.Input("bias", F32, shape);
      const Tensor keys = b.Input("k", F32, {kBatch, kKeys, kKeyHeads, kWidth});
      const Tensor y = Attention(b.Input("q", F32, {kBatch, kQueries, kHeads, kWidth}), keys, keys,
                                 {.causal = true, .bias = bias});
      b.Output("gradient", Gradients(Sum(Square(y)), {bias})[0]);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const std::vector<float> bias = Numbers(count, 2);
    const auto outputs =
        session.Run("f", {{"bias", *HostTensor::FromVector<float>(shape, bias)},
                          {"q", *HostTensor::FromVector<float>({kBatch, kQueries, kHeads, kWidth}, q)},
                          {"k", *HostTensor::FromVector<float>({kBatch, kKeys, kKeyHeads, kWidth}, k)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> slopes = ToFloats((*outputs)["gradient"]);
    const auto loss = [&](size_t element, double step) {
      const auto at = [&](int64_t b, int64_t h, int64_t t, int64_t s) {
        const int64_t row = shape.size() == 3 ? h : (b * kHeads + h) * kQueries + t;
        const auto i = static_cast<size_t>(row * kKeys + s);
        return bias[i] + (i == element ? step : 0);
      };
      const Seen seen = {.sees = [](int64_t, int64_t, int64_t t, int64_t s) { return s <= t + 2; },
                         .bias = at};
      double sum = 0;
      for (const double x : AttentionOf(q, k, k, 1 / std::sqrt(static_cast<double>(kWidth)), seen))
        sum += x * x;
      return sum;
    };
    for (size_t i = 0; i < slopes.size(); i += 3) {
      EXPECT_NEAR(slopes[i], (loss(i, 0.01) - loss(i, -0.01)) / 0.02, 1e-3) << i;
    }
  }
}

TEST_F(AttentionOptionsTest, AMaskOfEverythingChangesNothing) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor qkv = b.Input("x", F32, {2, 4, 3, 2, 8});
    const Tensor plain = Attention(qkv, {.causal = true});
    const Tensor masked = Attention(qkv, {.causal = true, .mask = Equal(b.Iota(I32, {4}), b.Iota(I32, {4}))});
    b.Output("difference", Max(Abs(plain - masked)));
    b.Output("of gradients",
             Max(Abs(Gradients(Sum(Square(plain)), {qkv})[0] - Gradients(Sum(Square(masked)), {qkv})[0])));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2, 4, 3, 2, 8}, Numbers(2 * 4 * 3 * 2 * 8, 7));
  EXPECT_LT(Floats(session, "f", {{"x", x}}, "difference")[0], 1e-6);
  EXPECT_LT(Floats(session, "f", {{"x", x}}, "of gradients")[0], 1e-5);
}

TEST_F(AttentionOptionsTest, RopeTurnsPairs) {
  for (const bool interleaved : {false, true}) {
    Graph graph("g");
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      const Tensor x = b.Input("x", F32, {1, 3, 2, 6});
      b.Output("number", Rope(x, {.base = 100, .first_position = 5, .interleaved = interleaved}));
      b.Output("tensor",
               Rope(x, {.base = 100, .first_position = b.Full(I32, {}, 5), .interleaved = interleaved}));
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    const std::vector<float> x = Numbers(36, 7);
    const auto outputs = session.Run("f", {{"x", *HostTensor::FromVector<float>({1, 3, 2, 6}, x)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> y = ToFloats((*outputs)["number"]);
    EXPECT_EQ(ToFloats((*outputs)["tensor"]), y);
    for (size_t t = 0; t < 3; ++t)
      for (size_t h = 0; h < 2; ++h)
        for (size_t i = 0; i < 3; ++i) {
          const size_t row = (t * 2 + h) * 6, a = row + (interleaved ? 2 * i : i);
          const size_t b = row + (interleaved ? 2 * i + 1 : i + 3);
          const double angle = static_cast<double>(t + 5) * std::pow(100, -static_cast<double>(i) / 3);
          EXPECT_NEAR(y[a], x[a] * std::cos(angle) - x[b] * std::sin(angle), 2e-6);
          EXPECT_NEAR(y[b], x[b] * std::cos(angle) + x[a] * std::sin(angle), 2e-6);
        }
  }
}

// Each example begins at a position of its own.
TEST_F(AttentionOptionsTest, ExamplesMayBeginAtOtherPositions) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) {
    const Tensor x = Reshape(Sin(b.Iota(F32, {2 * 3 * 2 * 4})), {2, 3, 2, 4});
    const Tensor first = b.Iota(I32, {2}) * 5 + 2;
    std::vector<Tensor> turned, biases;
    for (const int64_t i : {0, 1}) {
      turned.push_back(Rope(x[{Range{i, i + 1}}], {.first_position = i * 5 + 2}));
      biases.push_back(AlibiBias(b, 2, 3, 10, i * 5 + 2));
    }
    const Tensor bias = AlibiBias(b, 2, 3, 10, first);
    EXPECT_EQ(bias.shape(), (Shape{2, 2, 3, 10}));
    b.Output("turned", Rope(x, {.first_position = first}) - Concat(turned, 0));
    b.Output("bias", bias - Stack(biases));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "f", {}, "turned"), ::testing::Each(::testing::FloatNear(0, 1e-6f)));
  EXPECT_THAT(Floats(session, "f", {}, "bias"), ::testing::Each(0));
}

TEST_F(AttentionOptionsTest, LayersLearn) {
  Graph graph("g");
  nn::Module self = nn::MultiHeadAttention(
      4, {.causal = true, .kv_heads = 2, .rope = RopeOptions{}, .window = 3, .dropout = 0.1});
  nn::CrossAttention cross(2, {.width = 8});
  self.Named("self");
  cross.Named("cross");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 5, 16}), text = b.Input("text", F32, {2, 3, 7});
    const Tensor y = cross(
        self(x), {.values = text, .key_lengths = b.Constant(*HostTensor::FromVector<int32_t>({2}, {3, 1}))});
    EXPECT_EQ(y.ToString(), "f32[2,5,16]");
    const Tensor loss = MseLoss(y, x);
    b.Output("loss", loss);
    optim::Adam{.learning_rate = 0.01}.Minimize(loss);
  });
  std::vector<std::string> names;
  for (const Variable& v : self.parameters()) names.push_back(v.name() + TypeString(v.dtype(), v.shape()));
  for (const Variable& v : cross.parameters()) names.push_back(v.name() + TypeString(v.dtype(), v.shape()));
  EXPECT_THAT(names,
              ElementsAre("self.qkv.weightf32[16,32]", "self.qkv.biasf32[32]", "self.out.weightf32[16,16]",
                          "self.out.biasf32[16]", "cross.q.weightf32[16,8]", "cross.q.biasf32[8]",
                          "cross.kv.weightf32[7,16]", "cross.kv.biasf32[16]", "cross.out.weightf32[8,16]",
                          "cross.out.biasf32[16]"));
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2, 5, 16}, Numbers(160, 7));
  const HostTensor text = *HostTensor::FromVector<float>({2, 3, 7}, Numbers(42, 3));
  const float first = Floats(session, "train", {{"x", x}, {"text", text}}, "loss")[0];
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(session.Run("train", {{"x", x}, {"text", text}}).ok());
  EXPECT_LT(Floats(session, "train", {{"x", x}, {"text", text}}, "loss")[0], 0.8f * first);
}

class AttentionErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(AttentionErrorTest, Says) { ExpectSays(GetParam(), "attention_options_test.cc:"); }

// Attention of 3 positions to 4.
Tensor Attend(Builder& b, const AttentionOptions& options) {
  return Attention(X(b, {2, 3, 2, 4}), X(b, {2, 4, 2, 4}), X(b, {2, 4, 2, 4}), options);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionErrorTest,
    ::testing::Values(
        In("Causal",
           [](Builder& b) {
             Attention(X(b, {2, 4, 2, 4}), X(b, {2, 3, 2, 4}), X(b, {2, 3, 2, 4}), {.causal = true});
           },
           {"is causal with 4 positions of q and 3 of k, of which q's must be the last"}),
        In("Window", [](Builder& b) { Attend(b, {.window = -1}); }, {"has a window of -1"}),
        In("WindowOfMoreQueries",
           [](Builder& b) {
             Attention(X(b, {2, 4, 2, 4}), X(b, {2, 3, 2, 4}), X(b, {2, 3, 2, 4}), {.window = 2});
           },
           {"has a window with 4 positions of q and 3 of k, of which q's must be the last"}),
        In("MaskType", [](Builder& b) { Attend(b, {.mask = X(b, {4})}); }, {"needs a mask of i1"}),
        In("MaskShape", [](Builder& b) { Attend(b, {.mask = X(b, {5}, I1)}); }, {"broadcast"}),
        In("MaskRank", [](Builder& b) { Attend(b, {.mask = X(b, {2, 1, 1, 1, 1}, I1)}); },
           {"has a mask that does not broadcast to the scores"}),
        In("BiasType", [](Builder& b) { Attend(b, {.bias = X(b, {4}, I32)}); }, {"needs a bias of floats"}),
        In("BiasRank", [](Builder& b) { Attend(b, {.bias = X(b, {2, 1, 1, 1, 1})}); },
           {"has a bias that does not broadcast to the scores"}),
        In("Lengths", [](Builder& b) { Attend(b, {.key_lengths = X(b, {3}, I32)}); },
           {"needs key_lengths of type i32[2]"}),
        In("DropoutOfWeights", [](Builder& b) { Attend(b, {.dropout = 1.5}); }, {"a dropout"}),
        In("MathOfHalf",
           [](Builder& b) {
             const Tensor x = X(b, {1, 2, 1, 2}, BF16);
             Attention(x, x, x, {.math = MathMode::kTf32, .window = 1});
           },
           {"has a math mode, which is for products of f32"}),
        In("RopeOdd", [](Builder& b) { Rope(X(b, {1, 2, 1, 3})); }, {"Rope(f32[1,2,1,3])", "an even width"}),
        In("RopeBase", [](Builder& b) { Rope(X(b, {1, 2, 1, 4}), {.base = 0}); }, {"a base"}),
        In("RopePosition", [](Builder& b) { Rope(X(b, {1, 2, 1, 4}), {.first_position = X(b, {2}, I32)}); },
           {"needs a first_position of i32[] or i64[]"}),
        In("AlibiHeads", [](Builder& b) { AlibiBias(b, 3, 2, 2); },
           {"has 3 heads, which must be a power of two"}),
        In("AlibiQueries", [](Builder& b) { AlibiBias(b, 2, 3, 2); }, {"more queries than keys"}),
        In("KeyHeads", [](Builder& b) { nn::MultiHeadAttention(4, {.kv_heads = 3})(X(b, {1, 2, 8})); },
           {"has 3 heads of keys, which must divide its 4 heads"}),
        In("CrossBatch",
           [](Builder& b) { nn::CrossAttention(2)(X(b, {1, 2, 8}), {.values = X(b, {2, 2, 8})}); },
           {"got f32[1,2,8] and f32[2,2,8]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
