#include "sinter/frontend/nn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
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

constexpr int64_t kTokens = 23, kModelWidth = 32, kPositions = 24, kSequences = 2;

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
      x = x + b.Read(table)[nn::Positions(ids)];
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
void ExpectALoopGenerates(int64_t rows) {
  Graph graph("g", {.seed = 4});
  CachedModel model({.causal = true});
  graph.Function("prompt", Mode::kEval, [&](Builder& b) {
    nn::KvCaches caches(b, {.context = kPositions, .begins = true, .rows = rows});
    const Tensor logits = model(b, b.Input("ids", I32, {kSequences, 4}));
    b.Output("id", ArgMax(logits[{Range{}, -1}], -1));
  });
  const auto next = [&](Builder& b, const Tensor& id) {
    nn::KvCaches caches(b, {.context = kPositions, .rows = rows});
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

TEST_F(KvCacheTest, ALoopGenerates) { ExpectALoopGenerates(0); }
TEST_F(KvCacheTest, ALoopGeneratesFromPositionsOfRows) { ExpectALoopGenerates(kSequences); }

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

TEST_F(KvCacheTest, CachesOfRowsChangeInPlace) {
  constexpr int64_t kLong = 65'536;
  Graph graph("g");
  nn::MultiHeadAttention attention(4, {.causal = true});
  graph.Function("next", Mode::kEval, [&](Builder& b) {
    nn::KvCaches caches(b, {.context = kLong, .rows = 2});
    b.Output("y", attention(b.Input("x", F32, {2, 1, 64})));
  });
  absl::StatusOr<Plan> plan = Compile(graph, {.device = TestDevice()});
  ASSERT_TRUE(plan.ok()) << plan.status();
  // Scores and weights, [2, 4, 1, kLong], and the mask, but not [2, 4, kLong, 16].
  EXPECT_LT(plan->Functions()[0].arena_bytes, 8 * kLong * 4 * 4);
}

// Sequences of several lengths that are read together, and each alone.
class UnequalRows {
 public:
  static constexpr int64_t kRows = 3, kPrompt = 10, kPiece = 4;

  explicit UnequalRows(const PieceModel& model) {
    Graph graph("g", {.seed = 6});
    const auto add = [&](const std::string& name, int64_t rows, int64_t time, bool begins, bool is_padded) {
      graph.Function(name, Mode::kEval, [&](Builder& b) {
        nn::KvCacheOptions cache = {.context = kPositions, .begins = begins, .rows = rows};
        if (rows == 0) cache.name = "alone";
        if (is_padded) cache.lengths = b.Input("lengths", I32, {rows});
        nn::KvCaches caches(b, cache);
        b.Output("logits", model(b, b.Input("ids", I32, {std::max<int64_t>(rows, 1), time})));
      });
    };
    add("prompt", kRows, kPrompt, true, true);
    add("more", kRows, kPiece, false, true);
    add("next", kRows, 1, false, false);
    for (const int64_t length : kLengths) add("prompt" + std::to_string(length), 0, length, true, false);
    add("alone", 0, 1, false, false);
    session_.emplace(MustStart(graph, {.device = TestDevice(), .check_indices = true}));
  }

  // Reads a prompt, tokens that the model chooses, pieces of several lengths, and tokens again, up to the end
  // of the caches.
  void ExpectTokensOfEachAlone() {
    Run("prompt", kPrompt, {kLengths.begin(), kLengths.end()});
    for (int i = 0; i < 3; ++i) Run("next", 1, {1, 1, 1});
    Run("more", kPiece, {4, 1, 0});
    for (int i = 0; i < 9; ++i) Run("next", 1, {1, 1, 1});
    Run("more", kPiece, {1, 4, 0});  // The first row has one position left.
    ASSERT_EQ(read_[0].size(), static_cast<size_t>(kPositions));
    for (int64_t row = 0; row < kRows; ++row) {
      const std::vector<int32_t>& tokens = read_[static_cast<size_t>(row)];
      const auto length = static_cast<size_t>(kLengths[static_cast<size_t>(row)]);
      std::vector<float> alone = Floats(
          *session_, "prompt" + std::to_string(length),
          {{"ids", Ids(1, {tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(length)})}}, "logits");
      for (size_t i = length; i < tokens.size(); ++i) {
        const std::vector<float> more = Floats(*session_, "alone", {{"ids", Ids(1, {tokens[i]})}}, "logits");
        alone.insert(alone.end(), more.begin(), more.end());
      }
      const std::vector<float>& together = logits_[static_cast<size_t>(row)];
      ASSERT_EQ(together.size(), alone.size());
      EXPECT_THAT(together, Pointwise(FloatNear(2e-5f), alone)) << "row " << row;
      for (size_t i = 0; i < tokens.size(); ++i)
        EXPECT_EQ(BestOf(together, i), BestOf(alone, i)) << row << " " << i;
    }
  }

 private:
  static constexpr std::array<int64_t, kRows> kLengths = {7, 2, 10};

  static HostTensor Ids(int64_t rows, const std::vector<int32_t>& ids) {
    return *HostTensor::FromVector<int32_t>({rows, static_cast<int64_t>(ids.size()) / rows}, ids);
  }
  // The most probable token behind position i.
  static int32_t BestOf(const std::vector<float>& logits, size_t i) {
    const auto from = logits.begin() + static_cast<ptrdiff_t>(i) * kTokens;
    return static_cast<int32_t>(std::max_element(from, from + kTokens) - from);
  }

  // Lets each row read so many tokens of a piece. Those behind are of no row.
  void Run(const std::string& function, int64_t time, const std::vector<int64_t>& counts) {
    std::vector<int32_t> ids, lengths(counts.begin(), counts.end());
    for (size_t row = 0; row < kRows; ++row) {
      for (int64_t t = 0; t < time; ++t) {
        // The first token of a piece behind the prompt is the model's.
        const bool is_chosen = t == 0 && !read_[row].empty();
        ids.push_back(is_chosen ? BestOf(logits_[row], read_[row].size() - 1)
                                : static_cast<int32_t>((row * 5 + static_cast<size_t>(t * t) * 3) % kTokens));
        if (t < counts[row]) pieces_[row].push_back(ids.back());
      }
    }
    const bool has_lengths = function != "next";
    const HostTensor given = Ids(kRows, ids), count = *HostTensor::FromVector<int32_t>({kRows}, lengths);
    const std::vector<float> logits =
        has_lengths ? Floats(*session_, function, {{"ids", given}, {"lengths", count}}, "logits")
                    : Floats(*session_, function, {{"ids", given}}, "logits");
    for (size_t row = 0; row < kRows; ++row) {
      const auto from = logits.begin() + static_cast<ptrdiff_t>(row) * time * kTokens;
      logits_[row].insert(logits_[row].end(), from, from + counts[row] * kTokens);
      read_[row].insert(read_[row].end(), pieces_[row].begin(), pieces_[row].end());
      pieces_[row].clear();
    }
  }

  std::optional<Session> session_;
  // Tokens that each row has read, those of a piece, and the logits behind each.
  std::array<std::vector<int32_t>, kRows> read_, pieces_;
  std::array<std::vector<float>, kRows> logits_;
};

TEST_F(KvCacheTest, RowsOfUnequalLengthsGoOnLikeGpt) {
  UnequalRows(CachedModel({.causal = true})).ExpectTokensOfEachAlone();
}

TEST_F(KvCacheTest, RowsOfUnequalLengthsGoOnLikeLlama) {
  nn::Module tokens = nn::Embedding(kTokens, kModelWidth).Named("tokens");
  nn::TransformerEncoder llama(2, 4,
                               {.norm = nn::BlockNorm::kRmsNorm,
                                .gated = true,
                                .causal = true,
                                .kv_heads = 2,
                                .bias = false,
                                .rope = RopeOptions{},
                                .window = 9});
  nn::Module head = nn::Linear(kTokens).Named("head");
  UnequalRows([=](Builder&, const Tensor& ids) {
    return head(llama(tokens(ids), {}));
  }).ExpectTokensOfEachAlone();
}

TEST_F(KvCacheTest, RowsOfUnequalLengthsHaveSinesAndBiases) {
  nn::Module tokens =
      nn::Sequential{nn::Embedding(kTokens, kModelWidth), nn::SinusoidalPositions()}.Named("tokens");
  nn::MaskedAttention attention(4, {.causal = true});
  nn::Module head = nn::Linear(kTokens).Named("head");
  UnequalRows([=](Builder& b, const Tensor& ids) {
    const Tensor bias = AlibiBias(b, 4, ids.dim(1), kPositions, nn::FirstPosition(ids));
    return head(attention(tokens(ids), {.bias = bias}));
  }).ExpectTokensOfEachAlone();
}

// The encoder's keys and values are those of the first piece.
TEST_F(KvCacheTest, MemoriesAreKept) {
  constexpr int64_t kSource = 6;
  for (const int64_t rows : {int64_t{0}, kSequences}) {
    Graph graph("g", {.seed = 4});
    nn::Module tokens = nn::Embedding(kTokens, kModelWidth).Named("tokens");
    nn::TransformerDecoder decoder(2, 4, {.rope = RopeOptions{}});
    nn::Module head = nn::Linear(kTokens).Named("head");
    const auto memory = [](Builder& b) {
      return nn::Memory{.values = b.Input("memory", F32, {kSequences, kSource, kModelWidth}),
                        .key_lengths = b.Input("lengths", I32, {kSequences})};
    };
    const auto logits = [&](Builder& b, int64_t time, const nn::Memory& seen) {
      b.Output("logits", head(decoder(tokens(b.Input("ids", I32, {kSequences, time})), {}, seen)));
    };
    graph.Function("whole", Mode::kEval, [&](Builder& b) { logits(b, 8, memory(b)); });
    graph.Function("next", Mode::kEval, [&](Builder& b) {
      nn::KvCaches caches(b, {.context = 8, .rows = rows, .memory = kSource + 2});
      logits(b, 1, {});
    });
    graph.Function("prompt", Mode::kEval, [&](Builder& b) {
      nn::KvCaches caches(b, {.context = 8, .begins = true, .rows = rows, .memory = kSource + 2});
      logits(b, 3, memory(b));
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    for (const unsigned seed : {1u, 2u}) {
      const HostTensor values = RandomFloats({kSequences, kSource, kModelWidth}, seed);
      const HostTensor lengths = *HostTensor::FromVector<int32_t>({kSequences}, {kSource, 4});
      const std::vector<float> whole = Floats(
          session, "whole", {{"ids", TokenIds(0, 8)}, {"memory", values}, {"lengths", lengths}}, "logits");
      const auto expect = [&](const std::vector<float>& part, int64_t first, int64_t time) {
        for (int64_t b = 0; b < kSequences; ++b) {
          const auto from = whole.begin() + (b * 8 + first) * kTokens;
          EXPECT_THAT(
              std::vector<float>(part.begin() + b * time * kTokens, part.begin() + (b + 1) * time * kTokens),
              Pointwise(FloatNear(2e-5f), std::vector<float>(from, from + time * kTokens)))
              << first;
        }
      };
      expect(Floats(session, "prompt", {{"ids", TokenIds(0, 3)}, {"memory", values}, {"lengths", lengths}},
                    "logits"),
             0, 3);
      for (int64_t t = 3; t < 8; ++t)
        expect(Floats(session, "next", {{"ids", TokenIds(t, 1)}}, "logits"), t, 1);
    }
  }
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

INSTANTIATE_TEST_SUITE_P(
    OfRowsAndMemories, KvCacheErrorTest,
    testing::Values(
        In("Rows", [](Builder& b) { nn::KvCaches caches(b, {.context = 4, .rows = -1}); }, {"has -1 rows"}),
        In("LengthsOfNoRows",
           [](Builder& b) { nn::KvCaches caches(b, {.context = 4, .lengths = X(b, {2}, I32)}); },
           {"has lengths and no rows; set .rows to the batch"}),
        In("Lengths",
           [](Builder& b) { nn::KvCaches caches(b, {.context = 4, .rows = 3, .lengths = X(b, {2}, I32)}); },
           {"needs lengths of type i32[3], got i32[2]"}),
        In("Batch",
           [](Builder& b) {
             nn::KvCaches caches(b, {.context = 4, .rows = 3});
             AttendTo(b, {.causal = true}, {1, 2, 4});
           },
           {"has 3 rows for an input of 1"}),
        In("MemorySize", [](Builder& b) { nn::KvCaches caches(b, {.context = 4, .memory = -2}); },
           {"has a memory of -2 positions"}),
        In("LongMemory",
           [](Builder& b) {
             nn::KvCaches caches(b, {.context = 4, .begins = true, .memory = 2});
             nn::CrossAttention(2)(X(b, {1, 2, 4}), {.values = X(b, {1, 3, 4})});
           },
           {"keeps memories of 2 positions, got one of 3"}),
        In("MemoryAgain",
           [](Builder& b) {
             nn::KvCaches caches(b, {.context = 4, .memory = 2});
             nn::CrossAttention(2)(X(b, {1, 2, 4}), {.values = X(b, {1, 2, 4})});
           },
           {"is given a memory in a piece behind the beginning", "leave it out"}),
        In("NoMemory", [](Builder& b) { nn::CrossAttention(2)(X(b, {1, 2, 4}), {}); },
           {"has no memory; give .values"}),
        In("PositionsOfALine", [](Builder& b) { nn::Positions(X(b, {3})); },
           {"Positions(f32[3])", "takes a tensor [batch, time, ...]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
