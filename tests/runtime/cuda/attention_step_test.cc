// Attention and its gradient on a GPU, compared with their formulas in double precision.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

// Packed q, k and v, and the results of attention on them.
struct Problem {
  fb::AttentionStepT step;
  std::vector<double> qkv, g, o, stats, gradient;

  Problem(DType dtype, int64_t batch, int64_t positions, int64_t heads, int64_t width, bool causal);
  HostTensor Packed() const { return MakeTensor(dtype(), PackedShape(), qkv); }
  HostTensor LikeO(const std::vector<double>& values) const { return MakeTensor(dtype(), OShape(), values); }
  HostTensor Stats() const { return MakeTensor(DType::kF32, {step.batch, step.heads, step.queries}, stats); }
  DType dtype() const { return static_cast<DType>(step.dtype); }
  std::vector<int64_t> PackedShape() const { return {step.batch, step.queries, 3, step.heads, step.width}; }
  std::vector<int64_t> OShape() const { return {step.batch, step.queries, step.heads, step.width}; }

 private:
  size_t At(int64_t b, int64_t t, int64_t part, int64_t h) const {
    return static_cast<size_t>((((b * step.queries + t) * 3 + part) * step.heads + h) * step.width);
  }
  void AddHead(int64_t b, int64_t h);
};

std::vector<double> Rounded(DType dtype, int64_t count, int seed) {
  return ToDoubles(MakeTensor(dtype, {count}, FullValues(count, seed)));
}

Problem::Problem(DType type, int64_t batch, int64_t positions, int64_t heads, int64_t width, bool causal) {
  step.dtype = static_cast<fb::DType>(type), step.packed = true, step.causal = causal, step.batch = batch;
  step.queries = step.keys = positions, step.heads = step.key_heads = heads, step.width = width;
  step.scale = 3 / std::sqrt(static_cast<double>(width));
  const int64_t elements = batch * positions * heads * width;
  qkv = Rounded(type, 3 * elements, 1), g = Rounded(type, elements, 2);
  o.assign(static_cast<size_t>(elements), 0), gradient.assign(qkv.size(), 0);
  stats.assign(static_cast<size_t>(batch * heads * positions), 0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) AddHead(b, h);
}

void Problem::AddHead(int64_t b, int64_t h) {
  const auto width = static_cast<size_t>(step.width);
  std::vector<double> p(static_cast<size_t>(step.keys));
  for (int64_t t = 0; t < step.queries; ++t) {
    const int64_t keys = step.causal ? t + 1 : step.keys;
    const double* const q = &qkv[At(b, t, 0, h)];
    double top = -INFINITY, sum = 0;
    for (int64_t s = 0; s < keys; ++s) {
      const double* const k = &qkv[At(b, s, 1, h)];
      double score = 0;
      for (size_t d = 0; d < width; ++d) score += q[d] * k[d];
      p[static_cast<size_t>(s)] = score * step.scale;
      top = std::max(top, score * step.scale);
    }
    for (int64_t s = 0; s < keys; ++s)
      sum += p[static_cast<size_t>(s)] = std::exp(p[static_cast<size_t>(s)] - top);
    const auto row = static_cast<size_t>(((b * step.queries + t) * step.heads + h) * step.width);
    stats[static_cast<size_t>((b * step.heads + h) * step.queries + t)] = top + std::log(sum);
    double shift = 0;
    for (int64_t s = 0; s < keys; ++s) {
      p[static_cast<size_t>(s)] /= sum;
      const double* const v = &qkv[At(b, s, 2, h)];
      for (size_t d = 0; d < width; ++d) o[row + d] += p[static_cast<size_t>(s)] * v[d];
    }
    for (size_t d = 0; d < width; ++d) shift += g[row + d] * o[row + d];
    for (int64_t s = 0; s < keys; ++s) {
      const size_t k = At(b, s, 1, h), v = At(b, s, 2, h);
      double back = 0;
      for (size_t d = 0; d < width; ++d) back += g[row + d] * qkv[v + d];
      const double slope = p[static_cast<size_t>(s)] * (back - shift) * step.scale;
      for (size_t d = 0; d < width; ++d) {
        gradient[v + d] += p[static_cast<size_t>(s)] * g[row + d];
        gradient[At(b, t, 0, h) + d] += slope * qkv[k + d];
        gradient[k + d] += slope * q[d];
      }
    }
  }
}

// Returns the largest difference, relative to the largest value.
double Off(const std::vector<double>& got, const std::vector<double>& want) {
  EXPECT_EQ(got.size(), want.size());
  double off = 0, largest = 1e-30;
  for (size_t i = 0; i < want.size() && i < got.size(); ++i) {
    // std::max would ignore NaN.
    if (!(std::abs(got[i] - want[i]) <= off)) off = std::abs(got[i] - want[i]);
    largest = std::max(largest, std::abs(want[i]));
  }
  return off / largest;
}

class AttentionTest : public GpuTest {
 protected:
  void Check(const Problem& problem) {
    // Allows half a unit in the last place for probabilities, for gradients of scores, and for the result.
    const double allowed = problem.dtype() == DType::kBf16 ? 2e-2 : 2.5e-3;
    const std::string what = std::string(fb::EnumNameDType(problem.step.dtype)) + " " +
                             std::to_string(problem.step.batch) + "x" + std::to_string(problem.step.queries) +
                             "x" + std::to_string(problem.step.heads) + "x" +
                             std::to_string(problem.step.width) + (problem.step.causal ? " causal" : "");
    const HostTensor qkv = problem.Packed();
    EXPECT_LE(
        Off(RunOnGpu(MakeStepPlan(problem.step), {&qkv}, {problem.dtype(), problem.OShape()}), problem.o),
        allowed)
        << what;
    fb::AttentionStepT backward = problem.step;
    backward.backward = true;
    const HostTensor o = problem.LikeO(problem.o), g = problem.LikeO(problem.g), stats = problem.Stats();
    EXPECT_LE(Off(RunOnGpu(MakeStepPlan(backward, 4), {&qkv, &o, &stats, &g},
                           {problem.dtype(), problem.PackedShape()}),
                  problem.gradient),
              allowed)
        << what;
  }
};

TEST_F(AttentionTest, AgreesWithItsFormulaAndHasTheSameBitsAgain) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    for (const bool causal : {false, true}) {
      Check(Problem(dtype, 2, 256, 3, 64, causal));
      Check(Problem(dtype, 1, 129, 2, 128, causal));
      Check(Problem(dtype, 3, 77, 1, 40, causal));
      Check(Problem(dtype, 1, 2, 1, 8, causal));
    }
  }
}

// The gradients of 8 * 12 * 4096 * 4096 scores are 3.2 GB in bf16.
TEST_F(AttentionTest, AGradientTakesALargeBatchInParts) {
  fb::AttentionStepT large = Problem(DType::kBf16, 1, 2, 1, 8, /*causal=*/true).step;
  large.backward = true, large.batch = 8, large.heads = large.key_heads = 12;
  large.queries = large.keys = 4096, large.width = 64;
  const PackedPlan packed(MakeStepPlan(large, 4));
  const auto step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_LE((*step)->LibraryWorkspaceBytes(), size_t{256} << 20);
  // Splits by examples, and splits by heads.
  Check(Problem(DType::kBf16, 4, 2560, 6, 8, /*causal=*/true));
  Check(Problem(DType::kBf16, 1, 2560, 24, 8, /*causal=*/true));
}

TEST_F(AttentionTest, RefusesByNameWhatIsNotDone) {
  Problem problem(DType::kBf16, 1, 4, 2, 8, /*causal=*/false);
  problem.step.width = 136;
  const absl::Status wide = MakeError(MakeStepPlan(problem.step));
  EXPECT_EQ(wide.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(wide.message()), HasSubstr("is not done by cuDNN: decompose it"));
  EXPECT_THAT(std::string(wide.message()), HasSubstr("(model.cc:12)"));
}

}  // namespace
}  // namespace sinter
