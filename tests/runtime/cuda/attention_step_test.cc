// Attention and its gradient on a GPU, compared with their formulas in double precision.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

// The sizes and masks of an attention.
struct Sizes {
  int64_t batch = 1, queries = 1, heads = 1, width = 8;
  int64_t keys = 0, key_heads = 0;  // 0: as many as of q, which are then in one tensor with k and v.
  bool causal = false;
  int64_t window = 0;
  int64_t bias_batch = 0, bias_heads = 0;  // 0: no bias.
  bool bias_of_all = false;                // All queries share the bias.
  bool narrow_bias = false;                // The bias has the type of q.
  bool unseen = false;  // A third of the bias is minus infinity, and so is all of it for every fifth query.
};

// q, k and v with all their parameters, and the results of attention on them.
struct Problem {
  fb::AttentionStepT step;
  // q, k and v one behind the other, and the gradients of all three in the order of the step's outputs.
  std::vector<double> q, k, v, g, bias, o, stats, dq, dk, dv;

  Problem(DType dtype, const Sizes& sizes);
  DType dtype() const { return static_cast<DType>(step.dtype); }
  std::vector<int64_t> LikeQ() const { return {step.batch, step.queries, step.heads, step.width}; }
  std::vector<int64_t> LikeK() const { return {step.batch, step.keys, step.key_heads, step.width}; }
  // The tensors in memory that hold three values like q, k and v.
  std::vector<TensorType> Types() const {
    if (step.packed) return {{dtype(), {step.batch, step.queries, 3, step.heads, step.width}}};
    return {{dtype(), LikeQ()}, {dtype(), LikeK()}, {dtype(), LikeK()}};
  }
  std::vector<HostTensor> Inputs() const;
  // Three values like q, k and v as they are in memory.
  std::vector<double> Joined(const std::vector<double>& of_q, const std::vector<double>& of_k,
                             const std::vector<double>& of_v) const;
  std::string ToString() const;

 private:
  double Score(int64_t b, int64_t h, int64_t t, int64_t s) const;
  size_t AtQ(int64_t b, int64_t t, int64_t h) const {
    return static_cast<size_t>(((b * step.queries + t) * step.heads + h) * step.width);
  }
  size_t AtK(int64_t b, int64_t s, int64_t h) const {
    const int64_t key_head = h / (step.heads / step.key_heads);
    return static_cast<size_t>(((b * step.keys + s) * step.key_heads + key_head) * step.width);
  }
  void AddQuery(int64_t b, int64_t h, int64_t t);
};

std::vector<double> Rounded(DType dtype, int64_t count, int seed) {
  return ToDoubles(MakeTensor(dtype, {count}, FullValues(count, seed)));
}

Problem::Problem(DType type, const Sizes& sizes) {
  step.dtype = static_cast<fb::DType>(type), step.causal = sizes.causal, step.window = sizes.window;
  step.packed = sizes.keys == 0 && sizes.key_heads == 0;
  step.batch = sizes.batch, step.queries = sizes.queries, step.heads = sizes.heads, step.width = sizes.width;
  step.keys = sizes.keys == 0 ? sizes.queries : sizes.keys;
  step.key_heads = sizes.key_heads == 0 ? sizes.heads : sizes.key_heads;
  step.scale = 3 / std::sqrt(static_cast<double>(sizes.width));
  const int64_t like_q = step.batch * step.queries * step.heads * step.width;
  const int64_t like_k = step.batch * step.keys * step.key_heads * step.width;
  q = Rounded(type, like_q, 1), k = Rounded(type, like_k, 2), v = Rounded(type, like_k, 3);
  g = Rounded(type, like_q, 4);
  step.has_bias = sizes.bias_batch != 0;
  if (step.has_bias) {
    const DType of_bias = sizes.narrow_bias ? type : DType::kF32;
    step.bias_dtype = static_cast<fb::DType>(of_bias);
    step.bias_batch = sizes.bias_batch, step.bias_heads = sizes.bias_heads;
    step.bias_queries = sizes.bias_of_all ? 1 : step.queries;
    bias = Rounded(of_bias, step.bias_batch * step.bias_heads * step.bias_queries * step.keys, 5);
    for (size_t i = 0; sizes.unseen && i < bias.size(); ++i) {
      const bool whole_row = i / static_cast<size_t>(step.keys) % 5 == 4;
      if (i % 3 == 0 || whole_row) bias[i] = -INFINITY;
    }
  }
  o.assign(q.size(), 0), dq = o, dk.assign(k.size(), 0), dv = dk;
  stats.assign(static_cast<size_t>(step.batch * step.heads * step.queries), 0);
  for (int64_t b = 0; b < step.batch; ++b)
    for (int64_t h = 0; h < step.heads; ++h)
      for (int64_t t = 0; t < step.queries; ++t) AddQuery(b, h, t);
}

double Problem::Score(int64_t b, int64_t h, int64_t t, int64_t s) const {
  const int64_t distance = t + step.keys - step.queries - s;
  if (step.causal && distance < 0) return -INFINITY;
  if (step.window != 0 && std::abs(distance) >= step.window) return -INFINITY;
  double score = 0;
  for (size_t d = 0; d < static_cast<size_t>(step.width); ++d)
    score += q[AtQ(b, t, h) + d] * k[AtK(b, s, h) + d];
  score *= step.scale;
  if (!step.has_bias) return score;
  const int64_t matrix = (step.bias_batch == 1 ? 0 : b) * step.bias_heads + (step.bias_heads == 1 ? 0 : h);
  const int64_t row = matrix * step.bias_queries + (step.bias_queries == 1 ? 0 : t);
  return score + bias[static_cast<size_t>(row * step.keys + s)];
}

// A query that sees no key gets zeros, and its stats are minus infinity.
void Problem::AddQuery(int64_t b, int64_t h, int64_t t) {
  const auto width = static_cast<size_t>(step.width);
  std::vector<double> p(static_cast<size_t>(step.keys));
  double top = -INFINITY, sum = 0;
  for (int64_t s = 0; s < step.keys; ++s) {
    p[static_cast<size_t>(s)] = Score(b, h, t, s);
    top = std::max(top, p[static_cast<size_t>(s)]);
  }
  double& row_stats = stats[static_cast<size_t>((b * step.heads + h) * step.queries + t)];
  if (top == -INFINITY) {
    row_stats = top;
    return;
  }
  for (double& x : p) sum += x = std::exp(x - top);
  const size_t row = AtQ(b, t, h);
  row_stats = top + std::log(sum);
  double shift = 0;
  for (int64_t s = 0; s < step.keys; ++s) {
    p[static_cast<size_t>(s)] /= sum;
    for (size_t d = 0; d < width; ++d) o[row + d] += p[static_cast<size_t>(s)] * v[AtK(b, s, h) + d];
  }
  for (size_t d = 0; d < width; ++d) shift += g[row + d] * o[row + d];
  for (int64_t s = 0; s < step.keys; ++s) {
    const size_t key = AtK(b, s, h);
    double back = 0;
    for (size_t d = 0; d < width; ++d) back += g[row + d] * v[key + d];
    const double slope = p[static_cast<size_t>(s)] * (back - shift) * step.scale;
    for (size_t d = 0; d < width; ++d) {
      dv[key + d] += p[static_cast<size_t>(s)] * g[row + d];
      dq[row + d] += slope * k[key + d];
      dk[key + d] += slope * q[row + d];
    }
  }
}

std::vector<double> Problem::Joined(const std::vector<double>& of_q, const std::vector<double>& of_k,
                                    const std::vector<double>& of_v) const {
  std::vector<double> all;
  const auto add = [&](const std::vector<double>& x, size_t begin, size_t count) {
    all.insert(all.end(), x.begin() + static_cast<std::ptrdiff_t>(begin),
               x.begin() + static_cast<std::ptrdiff_t>(begin + count));
  };
  const auto position = static_cast<size_t>(step.heads * step.width);
  const size_t piece = step.packed ? position : of_q.size();
  if (!step.packed) {
    for (const auto* x : {&of_q, &of_k, &of_v}) add(*x, 0, x->size());
    return all;
  }
  for (size_t begin = 0; begin < of_q.size(); begin += piece)
    for (const auto* x : {&of_q, &of_k, &of_v}) add(*x, begin, piece);
  return all;
}

std::vector<HostTensor> Problem::Inputs() const {
  std::vector<HostTensor> inputs;
  if (step.packed) {
    inputs.push_back(MakeTensor(dtype(), Types()[0].shape, Joined(q, k, v)));
  } else {
    inputs.push_back(MakeTensor(dtype(), LikeQ(), q));
    inputs.push_back(MakeTensor(dtype(), LikeK(), k));
    inputs.push_back(MakeTensor(dtype(), LikeK(), v));
  }
  if (step.has_bias) {
    inputs.push_back(MakeTensor(static_cast<DType>(step.bias_dtype),
                                {step.bias_batch, step.bias_heads, step.bias_queries, step.keys}, bias));
  }
  return inputs;
}

std::string Problem::ToString() const {
  return absl::StrCat(fb::EnumNameDType(step.dtype), " ", step.batch, "x", step.queries, "x", step.heads, "x",
                      step.width, " by ", step.keys, "x", step.key_heads, step.causal ? " causal" : "",
                      step.packed ? " packed" : "", " window ", step.window, " bias ", step.bias_batch, "x",
                      step.bias_heads, "x", step.bias_queries, " ", fb::EnumNameDType(step.bias_dtype));
}

// Returns the largest difference, relative to the largest finite value; infinity if a value is NaN, or
// infinite in one of both only.
double Off(const std::vector<double>& got, const std::vector<double>& want) {
  EXPECT_EQ(got.size(), want.size());
  double off = 0, largest = 1e-30;
  for (size_t i = 0; i < want.size() && i < got.size(); ++i) {
    if (got[i] == want[i] && std::isinf(want[i])) continue;
    const double difference = std::abs(got[i] - want[i]);
    if (!std::isfinite(difference)) return INFINITY;
    off = std::max(off, difference);
    largest = std::max(largest, std::abs(want[i]));
  }
  return off / largest;
}

class AttentionTest : public GpuTest {
 protected:
  void Check(const Problem& problem) {
    SCOPED_TRACE(problem.ToString());
    // Allows half a unit in the last place for probabilities, for gradients of scores, and for the result.
    const double allowed = problem.dtype() == DType::kBf16 ? 2e-2 : 2.5e-3;
    std::vector<HostTensor> inputs = problem.Inputs();
    const auto run = [&](const fb::AttentionStepT& step, const std::vector<TensorType>& outputs) {
      std::vector<const HostTensor*> given;
      for (const HostTensor& input : inputs) given.push_back(&input);
      absl::StatusOr<std::vector<double>> results = TryOnGpu(
          MakeStepPlan(step, static_cast<uint32_t>(given.size()), static_cast<uint32_t>(outputs.size())),
          given, outputs);
      EXPECT_TRUE(results.ok()) << results.status();
      return results.ok() ? *results : std::vector<double>();
    };
    EXPECT_LE(Off(run(problem.step, {{problem.dtype(), problem.LikeQ()}}), problem.o), allowed);
    fb::AttentionStepT step = problem.step;
    step.has_stats = true;
    const std::vector<int64_t> rows = {step.batch, step.heads, step.queries};
    std::vector<double> both = run(step, {{problem.dtype(), problem.LikeQ()}, {DType::kF32, rows}});
    both.erase(both.begin(),
               both.begin() + static_cast<std::ptrdiff_t>(std::min(both.size(), problem.o.size())));
    EXPECT_LE(Off(both, problem.stats), allowed);
    step.has_stats = false, step.backward = true;
    inputs.push_back(MakeTensor(problem.dtype(), problem.LikeQ(), problem.o));
    inputs.push_back(MakeTensor(DType::kF32, rows, problem.stats));
    inputs.push_back(MakeTensor(problem.dtype(), problem.LikeQ(), problem.g));
    const std::vector<double> got = run(step, problem.Types());
    EXPECT_LE(Off(got, problem.Joined(problem.dq, problem.dk, problem.dv)), allowed);
  }
};

TEST_F(AttentionTest, AgreesWithItsFormulaAndHasTheSameBitsAgain) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    for (const bool causal : {false, true}) {
      Check(Problem(dtype, {.batch = 2, .queries = 256, .heads = 3, .width = 64, .causal = causal}));
      Check(Problem(dtype, {.queries = 129, .heads = 2, .width = 128, .causal = causal}));
      Check(Problem(dtype, {.batch = 3, .queries = 77, .width = 40, .causal = causal}));
      Check(Problem(dtype, {.queries = 2, .causal = causal}));
    }
  }
}

TEST_F(AttentionTest, TakesHeadsOfAWidthTo256) {
  for (const int64_t width : {136, 192, 256}) {
    Check(Problem(DType::kBf16, {.queries = 200, .heads = 2, .width = width, .causal = true}));
    Check(Problem(DType::kF16, {.queries = 70, .heads = 2, .width = width, .keys = 130}));
  }
}

TEST_F(AttentionTest, HeadsOfQShareThoseOfK) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    for (const bool causal : {false, true}) {
      Check(Problem(dtype,
                    {.batch = 2, .queries = 192, .heads = 6, .width = 64, .key_heads = 2, .causal = causal}));
      Check(Problem(dtype, {.queries = 77, .heads = 4, .width = 128, .key_heads = 1, .causal = causal}));
      Check(Problem(dtype, {.queries = 2, .heads = 4, .width = 32, .keys = 130, .key_heads = 2}));
    }
  }
}

TEST_F(AttentionTest, QueriesAreTheLastPositions) {
  for (const int64_t queries : {2, 64, 77}) {
    for (const int64_t keys : {128, 190}) {
      Check(Problem(DType::kBf16,
                    {.batch = 2, .queries = queries, .heads = 2, .width = 64, .keys = keys, .causal = true}));
    }
  }
  Check(Problem(DType::kF16,
                {.queries = 64, .heads = 4, .width = 64, .keys = 320, .key_heads = 2, .causal = true}));
}

TEST_F(AttentionTest, SeesTheKeysOfAWindow) {
  for (const bool causal : {false, true}) {
    for (const int64_t window : {1, 20, 64, 1000}) {
      Check(Problem(DType::kBf16,
                    {.queries = 256, .heads = 2, .width = 64, .causal = causal, .window = window}));
      Check(Problem(DType::kBf16, {.batch = 2,
                                   .queries = 77,
                                   .heads = 2,
                                   .width = 64,
                                   .keys = 190,
                                   .causal = causal,
                                   .window = window}));
    }
  }
  Check(Problem(DType::kF16,
                {.queries = 300, .heads = 4, .width = 128, .key_heads = 2, .causal = true, .window = 50}));
}

TEST_F(AttentionTest, AddsABias) {
  for (const bool narrow : {false, true}) {
    for (const int64_t batch : {1, 2}) {
      for (const int64_t heads : {1, 4}) {
        const Sizes sizes = {.batch = 2,
                             .queries = 128,
                             .heads = 4,
                             .width = 64,
                             .bias_batch = batch,
                             .bias_heads = heads,
                             .narrow_bias = narrow};
        Check(Problem(DType::kBf16, sizes));
        Sizes odd = sizes;
        odd.queries = 77, odd.keys = 130, odd.key_heads = 2;
        Check(Problem(DType::kF16, odd));
        Sizes causal = sizes;
        causal.causal = true;
        Check(Problem(DType::kBf16, causal));
      }
    }
  }
}

TEST_F(AttentionTest, ABiasOfMinusInfinityHidesKeys) {
  for (const bool narrow : {false, true}) {
    const Sizes sizes = {.batch = 2,
                         .queries = 128,
                         .heads = 4,
                         .width = 64,
                         .bias_batch = 2,
                         .bias_heads = 1,
                         .narrow_bias = narrow,
                         .unseen = true};
    Check(Problem(DType::kBf16, sizes));
    Sizes odd = sizes;
    odd.queries = 77, odd.keys = 130, odd.key_heads = 2;
    Check(Problem(DType::kF16, odd));
  }
}

TEST_F(AttentionTest, AddsABiasToMaskedScores) {
  for (const bool of_all : {false, true}) {
    for (const int64_t window : {0, 30}) {
      for (const bool causal : {false, true}) {
        Sizes sizes = {.batch = 2,
                       .queries = 128,
                       .heads = 4,
                       .width = 64,
                       .causal = causal,
                       .window = window,
                       .bias_batch = 2,
                       .bias_heads = 1,
                       .bias_of_all = of_all,
                       .narrow_bias = true};
        Check(Problem(DType::kBf16, sizes));
        sizes.queries = 77, sizes.keys = 130, sizes.key_heads = 2, sizes.width = 192;
        Check(Problem(DType::kBf16, sizes));
      }
    }
  }
}

// The gradients of 8 * 12 * 4096 * 4096 scores are 3.2 GB in bf16.
TEST_F(AttentionTest, AGradientTakesALargeBatchInParts) {
  fb::AttentionStepT large = Problem(DType::kBf16, {.queries = 2, .causal = true}).step;
  large.backward = true, large.batch = 8, large.heads = large.key_heads = 12;
  large.queries = large.keys = 4096, large.width = 64;
  const PackedPlan packed(MakeStepPlan(large, 4));
  const auto step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_LE((*step)->LibraryWorkspaceBytes(), size_t{256} << 20);
  // Splits by examples, and splits by heads.
  Check(Problem(DType::kBf16, {.batch = 4, .queries = 2560, .heads = 6, .causal = true}));
  Check(Problem(DType::kBf16, {.queries = 2560, .heads = 24, .causal = true}));
  Check(Problem(
      DType::kBf16,
      {.queries = 2560, .heads = 24, .key_heads = 4, .causal = true, .bias_batch = 1, .bias_heads = 24}));
}

TEST_F(AttentionTest, RefusesByNameWhatIsNotDone) {
  Problem problem(DType::kBf16, {.queries = 4, .heads = 2});
  problem.step.width = 264;
  const absl::Status wide = MakeError(MakeStepPlan(problem.step));
  EXPECT_EQ(wide.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(wide.message()), HasSubstr("is not done by cuDNN: decompose it"));
  EXPECT_THAT(std::string(wide.message()), HasSubstr("(model.cc:12)"));
}

}  // namespace
}  // namespace sinter
