#include "sinter/passes/partition/exchange_buckets.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace sinter {
namespace {

double SecondsOfBytes(int64_t bytes) { return 10 + static_cast<double>(bytes); }

// The end of the exchanges, if buckets end after these sums.
double EndOf(const std::vector<ReadySum>& sums, const std::vector<size_t>& ends) {
  double end = 0;
  size_t first = 0;
  for (const size_t last : ends) {
    int64_t bytes = 0;
    for (size_t i = first; i < last; ++i) bytes += sums[i].bytes;
    end = std::max(end, sums[last - 1].ready) + SecondsOfBytes(bytes);
    first = last;
  }
  return end;
}

// All ways to cut a list of so many sums, as far as no bucket of several sums has more bytes.
std::vector<std::vector<size_t>> AllEnds(const std::vector<ReadySum>& sums, int64_t most_bytes) {
  std::vector<std::vector<size_t>> all;
  for (unsigned cuts = 0; cuts < 1u << (sums.size() - 1); ++cuts) {
    std::vector<size_t> ends;
    int64_t bytes = 0;
    size_t in_bucket = 0;
    bool fits = true;
    for (size_t i = 0; i < sums.size(); ++i) {
      bytes += sums[i].bytes;
      fits &= ++in_bucket == 1 || bytes <= most_bytes;
      if (i + 1 < sums.size() && (cuts >> i & 1) == 0) continue;
      ends.push_back(i + 1);
      bytes = 0, in_bucket = 0;
    }
    if (fits) all.push_back(ends);
  }
  return all;
}

TEST(ExchangeBucketsTest, EndAsEarlyAsAnyOthers) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<ReadySum> sums(1 + random() % 9);
    double ready = 0;
    for (ReadySum& sum : sums) sum = {ready += random() % 40, static_cast<int64_t>(random() % 60)};
    const int64_t most_bytes = 20 + random() % 200;
    const std::vector<size_t> ends = BucketEnds(sums, SecondsOfBytes, most_bytes);
    const auto all = AllEnds(sums, most_bytes);
    ASSERT_TRUE(std::ranges::find(all, ends) != all.end())
        << "no list of whole buckets that are small enough";
    double least = EndOf(sums, all.front());
    for (const auto& others : all) least = std::min(least, EndOf(sums, others));
    int64_t all_bytes = 0;
    for (const ReadySum& sum : sums) all_bytes += sum.bytes;
    const double slack = 0.01 * SecondsOfBytes(all_bytes) + 1e-9;
    EXPECT_LE(EndOf(sums, ends), least + slack);
    // A last bucket with one more sum would end too late, or be too large.
    for (const auto& others : all) {
      if (others.size() >= 2 && ends.size() >= 2 && others[others.size() - 2] < ends[ends.size() - 2]) {
        EXPECT_GT(EndOf(sums, others), least + slack);
      }
    }
  }
}

TEST(ExchangeBucketsTest, AreFewIfTermsComeSlowly) {
  // Each exchange ends long before the next terms are there: only the last sums decide, and travel alone.
  std::vector<ReadySum> slow;
  for (int i = 1; i <= 6; ++i) slow.push_back({1000.0 * i, 5});
  EXPECT_EQ(BucketEnds(slow, SecondsOfBytes, 1000), (std::vector<size_t>{5, 6}));
  // All terms are there at once: one exchange has one latency.
  const std::vector<ReadySum> at_once(6, ReadySum{50, 5});
  EXPECT_EQ(BucketEnds(at_once, SecondsOfBytes, 1000), (std::vector<size_t>{6}));
  EXPECT_EQ(BucketEnds(at_once, SecondsOfBytes, 12), (std::vector<size_t>{2, 4, 6}));
  EXPECT_EQ(BucketEnds(at_once, SecondsOfBytes, 1), (std::vector<size_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(BucketEnds({}, SecondsOfBytes, 1000).empty());
}

}  // namespace
}  // namespace sinter
