#include "sinter/frontend/nn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using KvCacheTest = DeviceTest;

constexpr int64_t kTokens = 23, kModelWidth = 16, kPositions = 24, kSequences = 2;

// A model of two blocks, with learned positions unless it has others.
class CachedModel {
 public:
  explicit CachedModel(const nn::MultiHeadAttentionOptions& options) : has_positions_(!options.rope) {
    tokens_.Named("tokens");
    head_.Named("head");
    for (int i = 0; i < 2; ++i) {
      blocks_.push_back(nn::Sequential{
          nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(4, options)},
          nn::Residual{nn::LayerNorm(), nn::Linear(32), nn::GeluTanh(), nn::Linear(kModelWidth)}});
      blocks_.back().Named("block" + std::to_string(i));
    }
  }
  // Maps i32 [batch, time] to logits [batch, time, vocabulary].
  Tensor operator()(Builder& b, const Tensor& ids) {
    Tensor x = tokens_(ids);
    if (has_positions_) {
      const Variable table = b.MakeVariable("positions", F32, {kPositions, kModelWidth},
                                            {.init = {VariableInit::Kind::kNormal, 0, 1}});
      x = x + b.Read(table)[Window{nn::FirstPosition(ids), ids.dim(1)}];
    }
    for (const nn::Module& block : blocks_) x = block(x);
    return head_(x);
  }

 private:
  bool has_positions_;
  nn::Embedding tokens_{kTokens, kModelWidth};
  std::vector<nn::Module> blocks_;
  nn::Linear head_{kTokens};
};

HostTensor TokenIds(int64_t first, int64_t time) {
  HostTensor ids = HostTensor::Empty(I32, {kSequences, time}).value();
  std::span<int32_t> values = ids.MutableSpan<int32_t>().value();
  for (int64_t b = 0; b < kSequences; ++b) {
    for (int64_t t = 0; t < time; ++t) {
      values[b * time + t] = static_cast<int32_t>((b * 11 + (first + t) * (first + t)) % kTokens);
    }
  }
  return ids;
}

// Maps ids to logits.
using PieceModel = std::function<Tensor(Builder& b, const Tensor& ids)>;

// Functions of the whole sequence and of its pieces.
Graph BuildPieces(const PieceModel& model, const nn::KvCacheOptions& cache) {
  Graph graph("g", {.seed = 4});
  const auto add = [&](const std::string& name, int64_t time, bool is_cached, bool begins) {
    graph.Function(name, Mode::kEval, [&](Builder& b) {
      std::optional<nn::KvCaches> caches;
      nn::KvCacheOptions of_cache = cache;
      of_cache.begins = begins;
      if (is_cached) caches.emplace(b, of_cache);
      b.Output("logits", model(b, b.Input("ids", I32, {kSequences, time})));
    });
  };
  add("whole", kPositions, false, false);
  add("prompt", 10, true, true);
  add("more", 5, true, false);
  add("next", 1, true, false);
  return graph;
}

// Compares positions read in pieces with the whole sequence, twice, since a prompt begins anew.
void ExpectModelSeesTheWhole(const PieceModel& model,
                             const nn::KvCacheOptions& cache = {.context = kPositions},
                             float tolerance = 2e-5f) {
  Session session = MustStart(BuildPieces(model, cache), {.device = TestDevice()});
  const std::vector<float> whole = Floats(session, "whole", {{"ids", TokenIds(0, kPositions)}}, "logits");
  for (int repeat = 0; repeat < 2; ++repeat) {
    int64_t first = 0;
    const auto check = [&](const char* function, int64_t time) {
      const std::vector<float> part = Floats(session, function, {{"ids", TokenIds(first, time)}}, "logits");
      for (int64_t b = 0; b < kSequences; ++b) {
        const auto from = whole.begin() + (b * kPositions + first) * kTokens;
        const auto got = part.begin() + b * time * kTokens;
        EXPECT_THAT(std::vector<float>(got, got + time * kTokens),
                    Pointwise(FloatNear(tolerance), std::vector<float>(from, from + time * kTokens)))
            << function << " at " << first << ", example " << b;
      }
      first += time;
    };
    check("prompt", 10);
    check("next", 1);
    check("more", 5);
    while (first < kPositions - 3) check("next", 1);
  }
}

void ExpectPiecesGiveTheWhole(const nn::MultiHeadAttentionOptions& options,
                              const nn::KvCacheOptions& cache = {.context = kPositions},
                              float tolerance = 2e-5f) {
  ExpectModelSeesTheWhole(CachedModel(options), cache, tolerance);
}

TEST_F(KvCacheTest, PiecesGiveTheWhole) { ExpectPiecesGiveTheWhole({.causal = true}); }

TEST_F(KvCacheTest, HeadsMayShareKeysAndTurn) {
  ExpectPiecesGiveTheWhole({.causal = true, .kv_heads = 2, .rope = RopeOptions{}});
}

TEST_F(KvCacheTest, WindowsForget) {
  ExpectPiecesGiveTheWhole({.causal = true, .rope = RopeOptions{.interleaved = true}, .window = 4});
}

TEST_F(KvCacheTest, CachesMayBeNarrow) {
  ExpectPiecesGiveTheWhole({.causal = true}, {.context = kPositions, .dtype = BF16}, 0.05f);
}

TEST_F(KvCacheTest, SinesGoOn) {
  nn::Module net = nn::Sequential{nn::Embedding(kTokens, kModelWidth), nn::SinusoidalPositions(),
                                  nn::MultiHeadAttention(4, {.causal = true}), nn::Linear(kTokens)};
  ExpectModelSeesTheWhole([net](Builder&, const Tensor& ids) { return net(ids); });
}

TEST_F(KvCacheTest, MasksAndBiasesHaveTheKeysOfTheCache) {
  nn::Module tokens = nn::Embedding(kTokens, kModelWidth).Named("tokens");
  nn::MaskedAttention attention(4, {.causal = true});
  nn::Module head = nn::Linear(kTokens).Named("head");
  ExpectModelSeesTheWhole([=](Builder& b, const Tensor& ids) {
    const int64_t time = ids.dim(1), keys = nn::KvCaches::Around(ids) ? kPositions : time;
    const Tensor bias = AlibiBias(b, 4, time, keys, nn::FirstPosition(ids));
    return head(attention(tokens(ids), {.mask = Sin(b.Iota(F32, {keys})) < 0.7, .bias = bias}));
  });
}

TEST_F(KvCacheTest, TransformersGoOn) {
  nn::Module tokens = nn::Embedding(kTokens, kModelWidth).Named("tokens");
  nn::TransformerEncoder encoder(2, 4, {.causal = true, .kv_heads = 2, .rope = RopeOptions{}, .window = 5});
  nn::SinusoidalPositions sines;
  nn::Module head = nn::Linear(kTokens).Named("head");
  ExpectModelSeesTheWhole([=](Builder&, const Tensor& ids) { return head(encoder(sines(tokens(ids)), {})); });
}

// Several tokens in one run are those of as many runs.
TEST_F(KvCacheTest, ALoopGenerates) {
  Graph graph("g", {.seed = 4});
  CachedModel model({.causal = true});
  graph.Function("prompt", Mode::kEval, [&](Builder& b) {
    nn::KvCaches caches(b, {.context = kPositions, .begins = true});
    const Tensor logits = model(b, b.Input("ids", I32, {kSequences, 4}));
    b.Output("id", ArgMax(logits[{Range{}, -1}], -1));
  });
  const auto next = [&](Builder& b, const Tensor& id) {
    nn::KvCaches caches(b, {.context = kPositions});
    return ArgMax(model(b, Reshape(id, {kSequences, 1}))[{Range{}, 0}], -1);
  };
  graph.Function("next", Mode::kEval,
                 [&](Builder& b) { b.Output("id", next(b, b.Input("id", I32, {kSequences}))); });
  graph.Function("several", Mode::kEval, [&](Builder& b) {
    const auto [last, ids] = Scan(b.Input("id", I32, {kSequences}), Steps{8}, [&](Tensor id, Tensor) {
      const Tensor made = next(b, id);
      return std::pair(made, made);
    });
    b.Output("ids", ids);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto ints = [](const HostTensor& tensor) {
    const auto values = tensor.Span<int32_t>().value();
    return std::vector<int32_t>(values.begin(), values.end());
  };
  const HostTensor first = (*session.Run("prompt", {{"ids", TokenIds(0, 4)}}))["id"].Clone().value();
  std::vector<int32_t> one_by_one;
  HostTensor id = first.Clone().value();
  for (int i = 0; i < 8; ++i) {
    id = (*session.Run("next", {{"id", id}}))["id"].Clone().value();
    const std::vector<int32_t> made = ints(id);
    one_by_one.insert(one_by_one.end(), made.begin(), made.end());
  }
  ASSERT_TRUE(session.Run("prompt", {{"ids", TokenIds(0, 4)}}).ok());
  EXPECT_EQ(ints((*session.Run("several", {{"id", first}}))["ids"]), one_by_one);
}

// A step needs no memory for another cache.
TEST_F(KvCacheTest, CachesChangeInPlace) {
  constexpr int64_t kLong = 65'536;
  Graph graph("g");
  nn::MultiHeadAttention attention(4, {.causal = true});
  graph.Function("next", Mode::kEval, [&](Builder& b) {
    nn::KvCaches caches(b, {.context = kLong});
    b.Output("y", attention(b.Input("x", F32, {1, 1, 64})));
  });
  absl::StatusOr<Plan> plan = Compile(graph, {.device = TestDevice()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  // Scores and weights, [4, 1, kLong], but not [4, kLong, 16].
  EXPECT_LT(plan->Functions()[0].arena_bytes, 4 * kLong * 3 * 4);
}

Tensor AttendTo(Builder& b, nn::MultiHeadAttentionOptions options, const Shape& shape) {
  return nn::MultiHeadAttention(2, options)(X(b, shape));
}

class KvCacheErrorTest : public testing::TestWithParam<ErrorCase> {};
TEST_P(KvCacheErrorTest, Says) { ExpectSays(GetParam(), "kv_cache_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, KvCacheErrorTest,
    testing::Values(In("Context", [](Builder& b) { nn::KvCaches caches(b, {}); }, {"has a context of 0"}),
                    In("Type", [](Builder& b) { nn::KvCaches caches(b, {.context = 4, .dtype = I32}); },
                       {"keeps floats, not i32"}),
                    In("Nested",
                       [](Builder& b) {
                         nn::KvCaches caches(b, {.context = 4});
                         nn::KvCaches others(b, {.context = 4});
                         AttendTo(b, {.causal = true}, {1, 2, 4});
                       },
                       {"is inside the scope of another"}),
                    In("NoLayer", [](Builder& b) { nn::KvCaches caches(b, {.context = 4}); },
                       {"has no layer nn::MultiHeadAttention in its scope"}),
                    In("NotCausal",
                       [](Builder& b) {
                         nn::KvCaches caches(b, {.context = 4});
                         AttendTo(b, {}, {1, 2, 4});
                       },
                       {"needs attention that is causal"}),
                    In("TooLong",
                       [](Builder& b) {
                         nn::KvCaches caches(b, {.context = 4});
                         AttendTo(b, {.causal = true}, {1, 5, 4});
                       },
                       {"has a context of 4 for an input of 5 positions"}),
                    In("KeysOfAMask",
                       [](Builder& b) {
                         nn::KvCaches caches(b, {.context = 4});
                         nn::MaskedAttention(2, {.causal = true})(X(b, {1, 2, 4}), {.bias = X(b, {2, 2})});
                       },
                       {"has a bias f32[2,2] in a piece behind the beginning", "give it 4 keys"}),
                    In("Twice",
                       [](Builder& b) {
                         nn::KvCaches caches(b, {.context = 4});
                         nn::MultiHeadAttention attention(2, {.causal = true});
                         attention(attention(X(b, {1, 2, 4})));
                       },
                       {"twice in its scope"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
