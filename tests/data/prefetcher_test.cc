#include "sinter/frontend/data/prefetcher.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

// Returns batches with `index` 0, 1, ..., then an error.
Prefetcher::Source Count(int count, const absl::Status& after = absl::OutOfRangeError("the end")) {
  return [i = 0, count, after]() mutable -> absl::StatusOr<Batch> {
    if (i == count) return after;
    Batch batch;
    batch.index = i++;
    return batch;
  };
}

TEST(PrefetcherTest, KeepsOrderAndEnd) {
  for (const int depth : {1, 2, 7}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead, Prefetcher::Create(Count(100), depth));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ahead->Next()->index, i);
    for (int i = 0; i < 3; ++i) EXPECT_ERROR(ahead->Next(), absl::StatusCode::kOutOfRange, "the end");
  }
}

TEST(PrefetcherTest, GivesTheBatchesOfTheIteratorAndTheirStates) {
  const auto make = [] {
    std::vector<HostTensor> tensors;
    tensors.push_back(Tensor<int32_t>({5}, {0, 1, 2, 3, 4}));
    return BatchIterator::Create(std::move(tensors), {.batch_size = 2, .seed = 1, .max_epochs = 3}).value();
  };
  BatchIterator direct = make();
  BatchIterator source = make();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead,
                       Prefetcher::Create([&] { return source.Next(); }, 3));
  for (int i = 0; i < 9; ++i) {
    const Batch batch = ahead->Next().value();
    EXPECT_EQ(Values<int32_t>(batch.tensors[0]), Values<int32_t>(direct.Next()->tensors[0]));
    EXPECT_EQ(batch.state_after, direct.state());
  }
  EXPECT_EQ(ahead->Next().status().code(), absl::StatusCode::kOutOfRange);
}

TEST(PrefetcherTest, ErrorsComeAfterTheBatchesBeforeThem) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead,
                       Prefetcher::Create(Count(2, absl::DataLossError("disk")), 8));
  EXPECT_TRUE(ahead->Next().ok());
  EXPECT_TRUE(ahead->Next().ok());
  EXPECT_ERROR(ahead->Next(), absl::StatusCode::kDataLoss, "disk");
  EXPECT_ERROR(ahead->Next(), absl::StatusCode::kDataLoss, "disk");
}

TEST(PrefetcherTest, ExceptionsBecomeErrors) {
  const auto throwing = []() -> absl::StatusOr<Batch> { throw std::runtime_error("oops"); };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead, Prefetcher::Create(throwing, 1));
  EXPECT_ERROR(ahead->Next(), absl::StatusCode::kInternal, "the source of batches threw: oops");
  const auto odd = []() -> absl::StatusOr<Batch> { throw 7; };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> other, Prefetcher::Create(odd, 1));
  EXPECT_ERROR(other->Next(), absl::StatusCode::kInternal, "threw something that is no std::exception");
}

TEST(PrefetcherTest, StaysWithinItsDepth) {
  std::atomic<int> made = 0;
  const auto source = [&]() -> absl::StatusOr<Batch> {
    ++made;
    return Batch();
  };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead, Prefetcher::Create(source, 3));
  for (int taken = 0; taken < 20; ++taken) {
    EXPECT_TRUE(ahead->Next().ok());
    EXPECT_LE(made, taken + 1 + 3 + 1);
  }
}

// Destroys the prefetcher while its thread waits for room, makes a batch, has ended, or has just started.
TEST(PrefetcherTest, StopsAtAnyMoment) {
  for (int i = 0; i < 200; ++i) {
    const auto slow = []() -> absl::StatusOr<Batch> {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      return Batch();
    };
    const Prefetcher::Source source = i % 2 == 0 ? Count(i % 5) : Prefetcher::Source(slow);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead, Prefetcher::Create(source, 1 + i % 3));
    for (int taken = 0; taken < i % 4; ++taken) ahead->Next().IgnoreError();
  }
}

TEST(PrefetcherTest, ServesSeveralThreads) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Prefetcher> ahead, Prefetcher::Create(Count(1000), 4));
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (true) {
        const absl::StatusOr<Batch> batch = ahead->Next();
        if (!batch.ok()) return;
        sum += batch->index;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(PrefetcherTest, BadArguments) {
  EXPECT_ERROR(Prefetcher::Create(Count(1), 0), absl::StatusCode::kInvalidArgument,
               "at least 1 batch ready, it was asked for 0");
  EXPECT_ERROR(Prefetcher::Create(nullptr, 1), absl::StatusCode::kInvalidArgument,
               "needs a source of batches");
}

}  // namespace
}  // namespace sinter
