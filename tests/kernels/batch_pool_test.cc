// Compares with simple loops, for every instruction set of the running CPU.
#include "sinter/kernels/cpu/images/batch_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sinter/tests/kernels/batch_images.h"

namespace sinter::kernels {
namespace {

BatchPool MakePool(BatchPool pool, int64_t bottom, int64_t right) {
  pool.out_h = (pool.in_h + pool.pad_top + bottom - pool.window_h) / pool.stride_h + 1;
  pool.out_w = (pool.in_w + pool.pad_left + right - pool.window_w) / pool.stride_w + 1;
  return pool;
}

int64_t InFloats(const BatchPool& p) { return p.blocks * kBatchBlock * p.channels * p.in_h * p.in_w; }
int64_t OutFloats(const BatchPool& p) { return p.blocks * kBatchBlock * p.channels * p.out_h * p.out_w; }

// Calls body(output's offset, position in the window, input's offset) for every pixel of every window.
template <typename Body>
void ForPixels(const BatchPool& p, Body body) {
  for (int64_t n = 0; n < p.blocks * kBatchBlock; ++n) {
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t oy = 0; oy < p.out_h; ++oy) {
        for (int64_t ox = 0; ox < p.out_w; ++ox) {
          for (int64_t at = 0; at < p.window_h * p.window_w; ++at) {
            const int64_t iy = oy * p.stride_h - p.pad_top + at / p.window_w;
            const int64_t ix = ox * p.stride_w - p.pad_left + at % p.window_w;
            if (iy < 0 || ix < 0 || iy >= p.in_h || ix >= p.in_w) continue;
            body(BatchOffset(n, c, oy, ox, p.channels, p.out_h, p.out_w), at,
                 BatchOffset(n, c, iy, ix, p.channels, p.in_h, p.in_w));
          }
        }
      }
    }
  }
}

struct PoolOutputs {
  std::vector<float> max, avg, max_grad, avg_grad;
  std::vector<uint8_t> position;
  bool operator==(const PoolOutputs&) const = default;
};

template <typename Kernels>
PoolOutputs RunAll(Kernels isa, const BatchPool& pool, const std::vector<float>& x,
                   const std::vector<float>& g, int64_t parts) {
  const std::vector<float> in(InFloats(pool), 77.0f), pooled(OutFloats(pool), 77.0f);
  PoolOutputs out{pooled, pooled, in, in, std::vector<uint8_t>(pooled.size(), 0xee)};
  InParts(BatchPoolUnits(pool), parts, [&](int64_t begin, int64_t end) {
    isa.MaxPool(pool, x.data(), out.max.data(), out.position.data(), begin, end);
    isa.MaxPoolGrad(pool, g.data(), out.position.data(), out.max_grad.data(), begin, end);
    isa.AvgPool(pool, x.data(), out.avg.data(), begin, end);
    isa.AvgPoolGrad(pool, g.data(), out.avg_grad.data(), begin, end);
  });
  return out;
}

void ExpectNear(const std::vector<float>& got, const std::vector<double>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 3e-6 * (1 + std::abs(want[i]))) << what << " at " << i;
  }
}

void Check(const BatchPool& pool) {
  std::vector<float> x = RandomFloats(InFloats(pool));
  for (float& value : x) value = std::round(value * 4);  // Makes many ties.
  const std::vector<float> g = RandomFloats(OutFloats(pool));
  std::vector<double> max(g.size(), -INFINITY), avg(g.size()), max_grad(x.size()), avg_grad(x.size());
  std::vector<uint8_t> position(g.size());
  ForPixels(pool, [&](int64_t out, int64_t at, int64_t in) {
    if (x[in] > max[out]) max[out] = x[in], position[out] = static_cast<uint8_t>(at);
    const double share = 1.0 / static_cast<double>(pool.window_h * pool.window_w);
    avg[out] += x[in] * share;
    avg_grad[in] += g[out] * share;
  });
  ForPixels(pool, [&](int64_t out, int64_t at, int64_t in) {
    if (at == position[out]) max_grad[in] += g[out];
  });
  ForEachIsa([&](auto isa) {
    const PoolOutputs whole = RunAll(isa, pool, x, g, 1);
    ExpectNear(whole.max, max, "max");
    ExpectNear(whole.avg, avg, "avg");
    ExpectNear(whole.max_grad, max_grad, "gradient of max");
    ExpectNear(whole.avg_grad, avg_grad, "gradient of avg");
    EXPECT_EQ(whole.position, position);
    for (int64_t parts : {2, 5}) EXPECT_EQ(RunAll(isa, pool, x, g, parts), whole) << parts << " parts";
  });
}

TEST(BatchPoolTest, LeNetsPools) {
  Check(MakePool({.blocks = 2,
                  .channels = 20,
                  .in_h = 26,
                  .in_w = 26,
                  .window_h = 2,
                  .window_w = 2,
                  .stride_h = 2,
                  .stride_w = 2},
                 0, 0));
  // No window covers the last row and column; their gradients are zero.
  Check(MakePool({.blocks = 1,
                  .channels = 3,
                  .in_h = 9,
                  .in_w = 9,
                  .window_h = 2,
                  .window_w = 2,
                  .stride_h = 2,
                  .stride_w = 2},
                 0, 0));
}

TEST(BatchPoolTest, OverlappingPaddedAndGappedWindows) {
  Check(MakePool({.blocks = 1,
                  .channels = 2,
                  .in_h = 7,
                  .in_w = 8,
                  .window_h = 3,
                  .window_w = 3,
                  .stride_h = 2,
                  .stride_w = 2,
                  .pad_top = 1,
                  .pad_left = 1},
                 1, 1));
  Check(MakePool({.blocks = 1,
                  .channels = 2,
                  .in_h = 9,
                  .in_w = 10,
                  .window_h = 2,
                  .window_w = 2,
                  .stride_h = 3,
                  .stride_w = 4},
                 0, 0));
  Check(MakePool({.blocks = 1, .channels = 1, .in_h = 16, .in_w = 16, .window_h = 16, .window_w = 16}, 0, 0));
}

TEST(BatchPoolTest, RandomShapes) {
  std::mt19937 random(3);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(i);
    BatchPool pool{.blocks = between(1, 3), .channels = between(1, 4)};
    pool.window_h = between(1, 5), pool.window_w = between(1, 5);
    pool.stride_h = between(1, 6), pool.stride_w = between(1, 6);
    pool.pad_top = between(0, pool.window_h - 1), pool.pad_left = between(0, pool.window_w - 1);
    pool.in_h = pool.window_h + between(0, 9), pool.in_w = pool.window_w + between(0, 9);
    Check(MakePool(pool, between(0, pool.window_h - 1), between(0, pool.window_w - 1)));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BatchPoolTest, TheFirstNanWins) {
  const BatchPool pool = MakePool({.blocks = 1, .channels = 1, .in_h = 1, .in_w = 4, .window_w = 4}, 0, 0);
  std::vector<float> x(InFloats(pool), 1.0f);
  x[1 * kBatchBlock] = x[3 * kBatchBlock] = std::numeric_limits<float>::quiet_NaN();
  x[0 * kBatchBlock + 1] = -std::numeric_limits<float>::infinity();
  ForEachIsa([&](auto isa) {
    const PoolOutputs out = RunAll(isa, pool, x, std::vector<float>(kBatchBlock, 1.0f), 1);
    EXPECT_TRUE(std::isnan(out.max[0]));
    EXPECT_EQ(out.position[0], 1);
    EXPECT_EQ(out.max[1], 1.0f);
    EXPECT_EQ(out.position[1], 1);
    EXPECT_EQ(out.position[2], 0);
  });
}

}  // namespace
}  // namespace sinter::kernels
