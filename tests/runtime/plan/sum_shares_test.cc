#include "sinter/runtime/plan/sum_shares.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/plan_generated.h"
#include "sinter/tests/runtime/collective_plans.h"

namespace sinter {
namespace {

CollectiveLayout SumOf(const std::vector<int64_t>& sizes, uint32_t ranks, DType dtype = DType::kF32) {
  CollectiveLayout layout{.kind = fb::CollectiveKind::AllReduce,
                          .combine = fb::ReduceOp::Sum,
                          .dtype = dtype,
                          .channel = 0,
                          .group = {},
                          .root = 0,
                          .starts = {0}};
  for (uint32_t r = 0; r < ranks; ++r) layout.group.push_back(r);
  for (const int64_t size : sizes) layout.starts.push_back(layout.starts.back() + size);
  return layout;
}

TEST(SumSharesTest, LargeSumsOfSeveralRanksGoInShares) {
  EXPECT_FALSE(GoesInShares(SumOf({1 << 18}, 2))) << "a GPU reads 1 MiB";
  EXPECT_TRUE(GoesInShares(SumOf({(1 << 18) + 1}, 2)));
  EXPECT_TRUE(GoesInShares(SumOf({1 << 18}, 4))) << "a GPU would read 3 MiB";
  EXPECT_TRUE(GoesInShares(SumOf(std::vector<int64_t>(9, 4), 2))) << "more tensors than the kernel reads";
  EXPECT_TRUE(GoesInShares(SumOf({1 << 20}, 4)));
  EXPECT_FALSE(GoesInShares(SumOf({(1 << 20) + 1}, 4))) << "NCCL is faster above 4 MiB";
  EXPECT_FALSE(GoesInShares(SumOf({1 << 20}, 1)));
  EXPECT_FALSE(GoesInShares(SumOf({1 << 20}, 2, DType::kF64)));
  EXPECT_TRUE(GoesInShares(SumOf({1 << 20}, 2, DType::kBf16)));
  CollectiveLayout other = SumOf({1 << 20}, 2);
  other.combine = fb::ReduceOp::Max;
  EXPECT_FALSE(GoesInShares(other));
  other.combine = fb::ReduceOp::Mean;
  EXPECT_TRUE(GoesInShares(other));
  other.kind = fb::CollectiveKind::Reduce;
  EXPECT_FALSE(GoesInShares(other));
  other.kind = fb::CollectiveKind::ReduceScatter;
  EXPECT_FALSE(GoesInShares(other));
}

TEST(SumSharesTest, APlansWorkspaceIsThatOfItsLargestGroup) {
  // 16 blocks with 4 buffers of 32 KiB for each other rank.
  EXPECT_EQ(ShareWorkspaceBytes(4), size_t{6} << 20);
  CollectiveCase c{.members = 3, .sizes = {1 << 20}, .device_kind = DeviceKind::kGpu};
  EXPECT_EQ(ShareWorkspaceBytes(CollectivePlan(c).Make().value().table(), 1), size_t{4} << 20);
  c.sizes = {7};
  EXPECT_EQ(ShareWorkspaceBytes(CollectivePlan(c).Make().value().table(), 1), 0u);
}

}  // namespace
}  // namespace sinter
