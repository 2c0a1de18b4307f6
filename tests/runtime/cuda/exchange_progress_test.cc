// The marks of exchanges, and their deadlines.
#include "sinter/runtime/cuda/context/exchange_progress.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

// Only the latest exchange that has begun and not ended counts, and only while nothing changes.
TEST(ExchangeProgressTest, TheDeadlineIsOfOneExchange) {
  if (NumCudaDevices() == 0) GTEST_SKIP() << "there is no GPU";
  const std::unique_ptr<ExchangeProgress> progress = *ExchangeProgress::Create();
  const CudaStream stream = *MakeCudaStream();
  const auto add = [&](ExchangeProgress::Place place, const char* name, int limit) {
    return progress->Add({.place = place, .name = name, .patience = std::chrono::milliseconds(limit)});
  };
  const uint32_t second = add({0, 7}, "second", 20), first = add({0, 2}, "first", 20);
  const uint32_t third = add({1, 0}, "third", 100'000);
  const auto mark = [&](const absl::Status& status) {
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  };
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  ExchangeDeadline deadline(*progress);
  EXPECT_EQ(progress->under_way(), nullptr);
  EXPECT_TRUE(deadline.Check().ok());
  sleep();
  EXPECT_TRUE(deadline.Check().ok()) << "nothing is under way";
  for (const uint32_t number : {first, second}) {
    mark(progress->Begin(number, stream.get()));
    sleep();
    EXPECT_TRUE(deadline.Check().ok()) << "it may just have begun";
  }
  EXPECT_EQ(progress->under_way()->name, "second");
  sleep();
  EXPECT_THAT(std::string(deadline.Check().message()), HasSubstr("second has not ended for 20 ms: "));
  mark(progress->Begin(third, stream.get()));
  EXPECT_TRUE(deadline.Check().ok());
  sleep();
  EXPECT_TRUE(deadline.Check().ok()) << "it may take longer";
  mark(progress->End(stream.get()));
  EXPECT_EQ(progress->under_way(), nullptr);
  EXPECT_TRUE(deadline.Check().ok());
  // An exchange that marks itself changes its mark each time.
  for (const uint32_t time : {1, 3}) {
    *progress->mark(first) = time;
    mark(progress->End(stream.get()));
    EXPECT_TRUE(deadline.Check().ok()) << "it may just have begun";
    sleep();
    EXPECT_THAT(std::string(deadline.Check().message()), HasSubstr("first has not ended for 20 ms: "));
  }
  EXPECT_EQ(progress->mark(ExchangeProgress::kMost), nullptr);
}

}  // namespace
}  // namespace sinter
