#include "sinter/frontend/data/order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "sinter/frontend/data/batches.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

bool IsPermutation(std::vector<int64_t> order, int64_t size) {
  std::ranges::sort(order);
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), int64_t{0});
  return order == all;
}

TEST(OrderTest, SequentialAndShuffled) {
  EXPECT_THAT(*Sequential().indices(1, 2, 4), ElementsAre(0, 1, 2, 3));
  const std::vector<int64_t> first = *Shuffled().indices(1, 0, 100);
  EXPECT_TRUE(IsPermutation(first, 100));
  EXPECT_EQ(first, *Shuffled().indices(1, 0, 100));
  EXPECT_NE(first, *Shuffled().indices(1, 1, 100));
  EXPECT_NE(first, *Shuffled().indices(2, 0, 100));
}

// A program that moves from BatchIterator to the loader sees the same batches.
TEST(OrderTest, ShuffledIsTheOrderOfBatchIterator) {
  std::vector<int32_t> numbers(50);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<HostTensor> tensors;
  tensors.push_back(Tensor<int32_t>({50}, numbers));
  ASSERT_OK_AND_ASSIGN(BatchIterator batches,
                       BatchIterator::Create(std::move(tensors), {.batch_size = 50, .seed = 9}));
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<int32_t> batch = Values<int32_t>(batches.Next()->tensors[0]);
    const std::vector<int64_t> order = *Shuffled().indices(9, epoch, 50);
    EXPECT_TRUE(std::ranges::equal(batch, order));
  }
}

TEST(OrderTest, WeightedDrawsInProportion) {
  const Order order = Weighted({1, 0, 3, 4}, 80'000);
  std::map<int64_t, int> counts;
  const std::vector<int64_t> draws = *order.indices(1, 0, 4);
  for (const int64_t i : draws) ++counts[i];
  EXPECT_NEAR(counts[0], 10'000, 400);  // Four standard deviations: 4 sqrt(80000 p (1 - p)).
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 30'000, 550);
  EXPECT_NEAR(counts[3], 40'000, 570);
  EXPECT_EQ(Weighted({1, 1, 1}).indices(1, 0, 3)->size(), 3u);
  EXPECT_ERROR(order.indices(1, 0, 5), StatusCode::kInvalidArgument,
               "there are 4 weights for a set of 5 examples");
  EXPECT_ERROR(Weighted({1, -1}).indices(0, 0, 2), StatusCode::kInvalidArgument, "weight 1 is -1");
  EXPECT_ERROR(Weighted({0, 0}).indices(0, 0, 2), StatusCode::kInvalidArgument,
               "all weights of an order are 0");
  EXPECT_ERROR(Weighted({1e308, 1e308}).indices(0, 0, 2), StatusCode::kInvalidArgument, "infinity");
  EXPECT_ERROR(Weighted({1}, -2).indices(0, 0, 1), StatusCode::kInvalidArgument, "asked for -2 draws");
}

TEST(OrderTest, StratifiedSpreadsLabels) {
  std::vector<int64_t> labels(1000, 0);  // A tenth of label 7, all at the end.
  std::fill(labels.begin() + 900, labels.end(), 7);
  const std::vector<int64_t> order = *Stratified(labels).indices(1, 0, 1000);
  EXPECT_TRUE(IsPermutation(order, 1000));
  for (size_t begin = 0; begin < 1000; begin += 100) {
    int rare = 0;
    for (size_t i = begin; i < begin + 100; ++i) rare += labels[static_cast<size_t>(order[i])] == 7 ? 1 : 0;
    EXPECT_NEAR(rare, 10, 2);  // One at most crosses each end of the window.
  }
  EXPECT_NE(order, *Stratified(labels).indices(1, 1, 1000));
  EXPECT_ERROR(Stratified({1}).indices(0, 0, 2), StatusCode::kInvalidArgument,
               "1 labels for a set of 2 examples");
}

TEST(OrderTest, ByLengthMakesBatchesOfSimilarLengths) {
  SplitMix bits(1);
  std::vector<int64_t> lengths(1003);
  for (int64_t& length : lengths) length = static_cast<int64_t>(bits.Below(500));
  const auto padding = [&](const std::vector<int64_t>& order) {
    int64_t sum = 0;
    for (size_t begin = 0; begin < order.size(); begin += 10) {
      const size_t end = std::min(begin + 10, order.size());
      int64_t longest = 0;
      for (size_t i = begin; i < end; ++i)
        longest = std::max(longest, lengths[static_cast<size_t>(order[i])]);
      for (size_t i = begin; i < end; ++i) sum += longest - lengths[static_cast<size_t>(order[i])];
    }
    return sum;
  };
  const std::vector<int64_t> order = *ByLength(lengths, 10).indices(1, 0, 1003);
  EXPECT_TRUE(IsPermutation(order, 1003));
  EXPECT_LT(20 * padding(order), padding(*Shuffled().indices(1, 0, 1003)));
  EXPECT_NE(order, *ByLength(lengths, 10).indices(1, 1, 1003));
  EXPECT_TRUE(IsPermutation(*ByLength(lengths, 2000).indices(1, 0, 1003), 1003));
  EXPECT_ERROR(ByLength({1}, 0).indices(0, 0, 1), StatusCode::kInvalidArgument,
               "a batch and a pool of at least 1");
  EXPECT_ERROR(ByLength({1}, 1).indices(0, 0, 2), StatusCode::kInvalidArgument, "1 lengths for a set of 2");
}

}  // namespace
}  // namespace sinter::data
