#include "sinter/runtime/cuda/matmul_tuning.h"

#include <vector>

#include "gtest/gtest.h"

namespace sinter {
namespace {

// Candidates with these times, of which some give other bits than the first.
size_t Choose(const std::vector<double>& seconds, const std::vector<bool>& same_bits) {
  return ChooseQuickest(
             seconds.size(), [&](size_t i) -> absl::StatusOr<bool> { return same_bits[i]; },
             [&](size_t i) -> absl::StatusOr<double> {
               EXPECT_TRUE(same_bits[i]) << "measured, though it does not count";
               return seconds[i];
             })
      .value();
}

TEST(MatmulTuningTest, TakesTheQuickestOfThoseThatGiveTheSameBits) {
  EXPECT_EQ(Choose({5, 4, 3, 2}, {true, true, true, true}), 3u);
  EXPECT_EQ(Choose({5, 4, 3, 2}, {true, true, false, false}), 1u);
  EXPECT_EQ(Choose({5, 1}, {true, false}), 0u);
  EXPECT_EQ(Choose({5}, {true}), 0u);
}

TEST(MatmulTuningTest, TakesTheEarlierOfNearlyEqualOnes) {
  EXPECT_EQ(Choose({5, 5, 4.95}, {true, true, true}), 0u);
  EXPECT_EQ(Choose({5, 4, 3.99}, {true, true, true}), 1u);
}

TEST(MatmulTuningTest, PassesErrorsOn) {
  const absl::Status status =
      ChooseQuickest(
          2, [](size_t) -> absl::StatusOr<bool> { return absl::InternalError("broken"); },
          [](size_t) -> absl::StatusOr<double> { return 1; })
          .status();
  EXPECT_EQ(status, absl::InternalError("broken"));
}

}  // namespace
}  // namespace sinter
