// Compares block placement with an exhaustive search, and checks that its time grows almost linearly.
#include "sinter/passes/plan/assign_offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>
#include <vector>

namespace sinter {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

bool AreApart(const MemoryBlock& a, const MemoryBlock& b, MayShare may_share) {
  if (a.first <= b.last && b.first <= a.last) return true;
  if (!may_share) return false;
  return a.last < b.first ? !may_share(a, b) : !may_share(b, a);
}

// Returns the reference offsets: greedy by size, each block in the smallest gap among the blocks that it may
// not overlap.
std::vector<int64_t> OffsetsOfAll(const std::vector<MemoryBlock>& blocks, MayShare may_share) {
  std::vector<size_t> order(blocks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](size_t i, size_t j) {
    const MemoryBlock &a = blocks[i], &b = blocks[j];
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first;
  });
  std::vector<int64_t> offsets(blocks.size(), 0);
  std::vector<size_t> placed;
  for (size_t i : order) {
    const int64_t bytes = Aligned(blocks[i].bytes);
    if (bytes == 0) continue;
    int64_t end = 0, best = -1, least = std::numeric_limits<int64_t>::max();
    for (size_t j : placed) {
      if (!AreApart(blocks[j], blocks[i], may_share)) continue;
      const int64_t slack = offsets[j] - end - bytes;
      if (slack >= 0 && slack < least) best = end, least = slack;
      end = std::max(end, offsets[j] + Aligned(blocks[j].bytes));
    }
    offsets[i] = best >= 0 ? best : end;
    placed.push_back(i);
    std::ranges::stable_sort(placed, [&](size_t a, size_t b) { return offsets[a] < offsets[b]; });
  }
  return offsets;
}

int64_t Place(std::vector<MemoryBlock>& blocks, MayShare may_share = nullptr) {
  std::vector<MemoryBlock*> pointers;
  for (MemoryBlock& block : blocks) pointers.push_back(&block);
  return AssignOffsets(pointers, may_share);
}

TEST(AssignOffsetsTest, PlacesAsLookingAtAllDoes) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 300; ++turn) {
    const int64_t steps = 1 + random() % 40, longest = 1 + random() % 40;
    std::vector<MemoryBlock> blocks(random() % 120);
    for (MemoryBlock& block : blocks) {
      block.bytes = random() % 8 == 0 ? 0 : static_cast<int64_t>(random() % 1000);
      block.first = static_cast<int64_t>(random() % steps);
      block.last = block.first + static_cast<int64_t>(random() % longest);
    }
    // True for two thirds of the pairs; the same answer for the same pair.
    const auto may_share = [](const MemoryBlock& a, const MemoryBlock& b) {
      return (a.first * 7 + b.last) % 3 != 0;
    };
    for (const bool asks : {false, true}) {
      const MayShare rule = asks ? MayShare(may_share) : MayShare(nullptr);
      const std::vector<int64_t> want = OffsetsOfAll(blocks, rule);
      const int64_t arena = Place(blocks, rule);
      int64_t most = 0;
      for (size_t i = 0; i < blocks.size(); ++i) {
        ASSERT_EQ(blocks[i].offset, want[i]) << "turn " << turn << ", block " << i;
        if (blocks[i].bytes > 0) most = std::max(most, blocks[i].offset + Aligned(blocks[i].bytes));
      }
      ASSERT_EQ(arena, most);
    }
  }
}

// Values that the next step reads; gradients that are read in the opposite order; outputs that live to the
// end.
std::vector<MemoryBlock> Blocks(int kind, int64_t count) {
  std::vector<MemoryBlock> blocks;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bytes = 100 * (1 + i % 7);
    const int64_t last = kind == 0 ? i + 1 : kind == 1 ? 2 * count - i : count;
    blocks.push_back({.bytes = bytes, .first = i, .last = last, .offset = 0});
  }
  return blocks;
}

TEST(AssignOffsetsTest, TakesATimeThatGrowsWithTheBlocks) {
  for (const int kind : {0, 1, 2}) {
    const auto seconds = [&](int64_t count) {
      double least = 0;
      for (int time = 0; time < 3; ++time) {
        std::vector<MemoryBlock> blocks = Blocks(kind, count);
        const std::clock_t start = std::clock();
        (void)Place(blocks);
        const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        least = time == 0 ? took : std::min(least, took);
      }
      return least;
    };
    // Eight times as many blocks would take 64 times as long if each block looked at all others.
    const double once = seconds(10000), eight_times = seconds(80000);
    EXPECT_LT(eight_times, 30 * once)
        << "blocks of kind " << kind << ": " << once << " s and " << eight_times;
  }
}

}  // namespace
}  // namespace sinter
