#include "sinter/runtime/host/load_times.h"

#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr std::chrono::milliseconds kPause(20);

TEST(LoadTimesTest, EveryMomentCountsForTheInnermostStage) {
  LoadTimes times;
  {
    const LoadTimes::Scope outer = times.Time("outer");
    {
      const LoadTimes::Scope inner = times.Time("inner");
      std::this_thread::sleep_for(kPause);
    }
    const LoadTimes::Scope again = times.Time("inner");
    std::this_thread::sleep_for(kPause);
  }
  EXPECT_THAT(times.stages(),
              ElementsAre(Field(&LoadStage::what, "outer"), Field(&LoadStage::what, "inner")));
  const double pause = std::chrono::duration<double>(kPause).count();
  EXPECT_GE(times.stages()[1].seconds, 2 * pause);
  // The pauses count for the inner stage only.
  EXPECT_LE(times.stages()[0].seconds, times.stages()[1].seconds);
  EXPECT_DOUBLE_EQ(times.Total(), times.stages()[0].seconds + times.stages()[1].seconds);
}

TEST(LoadTimesTest, NothingIsCountedBetweenStagesNorWhereNobodyAsks) {
  LoadTimes times;
  {
    const LoadTimes::Scope stage = times.Time("stage");
  }
  std::this_thread::sleep_for(kPause);
  {
    const LoadTimes::Scope nobody = LoadTimes::Time(nullptr, "nobody");
  }
  EXPECT_THAT(times.stages(), ElementsAre(Field(&LoadStage::what, "stage")));
  EXPECT_LT(times.Total(), std::chrono::duration<double>(kPause).count());
}

}  // namespace
}  // namespace sinter
