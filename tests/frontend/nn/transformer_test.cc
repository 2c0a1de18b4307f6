// Transformer blocks against the same functions made of ops and of the block's parameters.
#include "sinter/frontend/nn/transformer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using TransformerTest = DeviceTest;

constexpr int64_t kBatch = 2, kTime = 5, kWidth = 8, kHeads = 2;

Tensor Input(Builder& b) { return Vector(b, Waves(kBatch * kTime * kWidth), {kBatch, kTime, kWidth}); }

// Reads the variables of modules that were used before.
struct Reader {
  Tensor operator()(const std::string& name) const {
    for (const Variable& v : graph->variables()) {
      if (v.name() == name) return b->Read(v);
    }
    ADD_FAILURE() << "no variable " << name;
    return {};
  }
  Tensor Linear(const Tensor& x, const std::string& name) const {
    const Shape shape = x.shape();
    const Tensor y = MatMul(Reshape(x, {x.size() / x.dim(-1), x.dim(-1)}), (*this)(name + ".weight"));
    return Reshape(y + (*this)(name + ".bias"), {shape[0], shape[1], y.dim(1)});
  }
  Tensor Norm(const Tensor& x, const std::string& name) const {
    const Tensor centred = x - Mean(x, {-1}, {.keep_dims = true});
    const Tensor variance = Mean(Square(centred), {-1}, {.keep_dims = true});
    return centred * Rsqrt(variance + 1e-5) * (*this)(name + ".scale") + (*this)(name + ".offset");
  }
  // softmax(q k^T) v with an i1 mask of [batch, queries, keys].
  Tensor Attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) const {
    const auto heads = [](const Tensor& x) {
      return Transpose(Reshape(x, {x.dim(0), x.dim(1), kHeads, kWidth / kHeads}), {0, 2, 1, 3});
    };
    const Tensor scores = MatMul(heads(q), heads(k), {.transpose_b = true}) * (1 / std::sqrt(4.0));
    const Tensor weights = Softmax(Select(ExpandDims(mask, 1), scores, -1e30));
    return Reshape(Transpose(MatMul(weights, heads(v)), {0, 2, 1, 3}), {q.dim(0), q.dim(1), kWidth});
  }
  Tensor SelfAttend(const Tensor& x, const std::string& name, const Tensor& mask) const {
    const std::vector<Tensor> parts = Split(Linear(x, name + ".qkv"), {kWidth, kWidth, kWidth}, 2);
    return Linear(Attend(parts[0], parts[1], parts[2], mask), name + ".out");
  }
  Tensor MlpOf(const Tensor& x, const std::string& name) const {
    return Linear(Gelu(Linear(x, name + ".up")), name + ".down");
  }
  Graph* graph;
  Builder* b;
};

// True where a position of an example sees a key, [batch, queries, keys].
Tensor Sees(Builder& b, int64_t queries, int64_t keys, bool causal, const Tensor& lengths) {
  const Tensor key = b.Iota(I32, {kBatch, queries, keys}, 2);
  const Tensor fits = key < Reshape(lengths, {kBatch, 1, 1});
  return causal ? fits && key <= b.Iota(I32, {kBatch, queries, keys}, 1) : fits;
}

// Builds "y" by modules and "want" by hand, which share parameters.
Values Both(const std::function<Tensor(Builder&)>& modules,
            const std::function<Tensor(Builder&, const Reader&)>& by_hand) {
  Graph graph("g", {.seed = 3});
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    b.Output("y", modules(b));
    b.Output("want", by_hand(b, {&graph, &b}));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto outputs = session.Run("f", {});
  SINTER_CHECK(outputs.ok()) << outputs.status();
  return {{"y", Doubles((*outputs)["y"])}, {"want", Doubles((*outputs)["want"])}};
}

TEST_F(TransformerTest, EncodersWithNormsInFrontAndBehind) {
  const std::vector<int32_t> lengths = {5, 3};
  for (const bool norm_first : {true, false}) {
    for (const bool causal : {true, false}) {
      Values got = Both(
          [&](Builder& b) {
            const nn::TransformerEncoder encoder(2, kHeads,
                                                 {.hidden = 12, .norm_first = norm_first, .causal = causal});
            return encoder(Input(b), {.key_lengths = Whole(b, lengths)});
          },
          [&](Builder& b, const Reader& r) {
            Tensor x = Input(b);
            const Tensor mask = Sees(b, kTime, kTime, causal, Whole(b, lengths));
            for (const std::string block : {"blocks.0.", "blocks.1."}) {
              if (norm_first) {
                x = x + r.SelfAttend(r.Norm(x, block + "norm1"), block + "attention", mask);
                x = x + r.MlpOf(r.Norm(x, block + "norm2"), block + "mlp");
              } else {
                x = r.Norm(x + r.SelfAttend(x, block + "attention", mask), block + "norm1");
                x = r.Norm(x + r.MlpOf(x, block + "mlp"), block + "norm2");
              }
            }
            return norm_first ? r.Norm(x, "norm") : x;
          });
      ExpectNear(got["y"], got["want"], 1e-10);
    }
  }
}

TEST_F(TransformerTest, DecodersLookAtAMemory) {
  const std::vector<int32_t> lengths = {2, 4};
  const auto memory = [](Builder& b) { return Vector(b, Waves(kBatch * 4 * 6, 5), {kBatch, 4, 6}); };
  Values got = Both(
      [&](Builder& b) {
        const nn::TransformerDecoder decoder(1, kHeads, {.hidden = 12});
        return decoder(Input(b), {}, {.values = memory(b), .key_lengths = Whole(b, lengths)});
      },
      [&](Builder& b, const Reader& r) {
        Tensor x = Input(b);
        const std::string block = "blocks.0.";
        const Tensor causal = Sees(b, kTime, kTime, true, Whole(b, {kTime, kTime}));
        x = x + r.SelfAttend(r.Norm(x, block + "norm1"), block + "attention", causal);
        const Tensor q = r.Linear(r.Norm(x, block + "norm2"), block + "cross.q");
        const std::vector<Tensor> kv = Split(r.Linear(memory(b), block + "cross.kv"), {kWidth, kWidth}, 2);
        const Tensor seen = Sees(b, kTime, 4, false, Whole(b, lengths));
        x = x + r.Linear(r.Attend(q, kv[0], kv[1], seen), block + "cross.out");
        x = x + r.MlpOf(r.Norm(x, block + "norm3"), block + "mlp");
        return r.Norm(x, "norm");
      });
  ExpectNear(got["y"], got["want"], 1e-10);
}

TEST_F(TransformerTest, MasksOfCalls) {
  // A mask and a bias of a call, and the layer's own options.
  Values got = Both(
      [](Builder& b) {
        const nn::MaskedAttention attention(kHeads, {.causal = true});
        const Tensor odd = NotEqual(Rem(b.Iota(I32, {kTime, kTime}, 1), 2), 1);
        return attention(Input(b), {.mask = odd});
      },
      [](Builder& b, const Reader& r) {
        const Tensor key = b.Iota(I32, {kBatch, kTime, kTime}, 2);
        const Tensor mask = NotEqual(Rem(key, 2), 1) && key <= b.Iota(I32, {kBatch, kTime, kTime}, 1);
        const std::vector<Tensor> parts = Split(r.Linear(Input(b), "qkv"), {kWidth, kWidth, kWidth}, 2);
        return r.Linear(r.Attend(parts[0], parts[1], parts[2], mask), "out");
      });
  ExpectNear(got["y"], got["want"], 1e-10);
}

TEST_F(TransformerTest, GatedAndPlainMlps) {
  const std::vector<double> x = Waves(8);
  ModuleRun gated([&](Builder& b) {
    b.Output("y", nn::Mlp({.hidden = 3, .gated = true, .bias = false})(Vector(b, x, {2, 4})));
  });
  std::vector<double> up = Product(x, gated.variables["up.weight"], 4, 6), hidden;
  for (size_t r = 0; r < 2; ++r)
    for (size_t i = 0; i < 3; ++i) {
      const double gate = up[r * 6 + i];
      hidden.push_back(gate / (1 + std::exp(-gate)) * up[r * 6 + 3 + i]);
    }
  ExpectNear(gated.outputs["y"], Product(hidden, gated.variables["down.weight"], 3, 4));
  ModuleRun relu([&](Builder& b) {
    const auto activation = [](const Tensor& t) { return Relu(t); };
    b.Output("y", nn::Mlp({.activation = activation})(Vector(b, x, {2, 4})));
  });
  up = Product(x, relu.variables["up.weight"], 4, 16);
  for (double& value : up) value = std::max(value, 0.0);
  ExpectNear(relu.outputs["y"], Product(up, relu.variables["down.weight"], 16, 4));
}

TEST_F(TransformerTest, SinusoidalPositions) {
  ModuleRun run([](Builder& b) { b.Output("y", nn::SinusoidalPositions()(b.Zeros(F32, {1, 3, 4}))); });
  std::vector<double> want;
  for (const double t : {0.0, 1.0, 2.0}) {
    for (const double rate : {1.0, 0.01}) want.insert(want.end(), {std::sin(t * rate), std::cos(t * rate)});
  }
  ExpectNear(run.outputs["y"], want, 1e-6);
}

TEST_F(TransformerTest, LlamaLikeBlocksHaveTheGradientOfDifferences) {
  ExpectGradient(Waves(2 * 3 * 8), {2, 3, 8}, [](Builder&, const Tensor& x) {
    const nn::TransformerEncoder llama(1, 4,
                                       {.hidden = 6,
                                        .norm = nn::BlockNorm::kRmsNorm,
                                        .gated = true,
                                        .causal = true,
                                        .kv_heads = 2,
                                        .bias = false,
                                        .rope = RopeOptions{}});
    return Sum(Square(llama(x, {})));
  });
}

TEST_F(TransformerTest, BlocksTakeAnMlpOfTheirOwn) {
  ModuleRun run([](Builder& b) {
    const nn::TransformerEncoder encoder(2, kHeads, {.mlp = [] { return nn::Linear(kWidth); }});
    b.Output("y", encoder(Input(b), {}));
  });
  EXPECT_EQ(run.variables["blocks.1.mlp.weight"].size(), 64u);
}

class TransformerErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(TransformerErrorTest, Says) { ExpectSays(GetParam(), "transformer_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, TransformerErrorTest,
    ::testing::Values(
        In("PositionsWidth", [](Builder& b) { nn::SinusoidalPositions()(X(b, {1, 2, 3})); },
           {"SinusoidalPositions", "takes a tensor [batch, time, width], width even"}),
        In("PositionsBase", [](Builder& b) { nn::SinusoidalPositions(0)(X(b, {1, 2, 4})); }, {"a base"}),
        In("MlpGate",
           [](Builder& b) {
             nn::Mlp({.gated = true, .activation = [](const Tensor& t) { return t; }})(X(b));
           },
           {"is gated by silu, and has an activation"}),
        In("MlpHidden", [](Builder& b) { nn::Mlp({.hidden = -2})(X(b)); }, {"has -2 hidden elements"}),
        In("Heads", [](Builder& b) { nn::TransformerEncoderBlock(3)(X(b, {1, 2, 4}), {}); },
           {"attention MaskedAttention(3)",
            "has 3 heads, which must be at least 1 and divide the width of 4"}),
        In("Memory",
           [](Builder& b) { nn::TransformerDecoderBlock(2)(X(b, {1, 2, 4}), {}, {.values = X(b)}); },
           {"cross CrossAttention(2)", "takes tensors of shape [batch, time, width]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
