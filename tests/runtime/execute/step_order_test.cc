#include "sinter/runtime/execute/step_order.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/plan_generated.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

BufferRange Value(uint64_t number) { return {fb::Space::Arena, 0, 64 * number, 64 * number + 64}; }

StepOrder::Step Touches(std::vector<uint64_t> reads, std::vector<uint64_t> writes, bool is_exchange = false) {
  StepOrder::Step step = {.touched = {}, .is_exchange = is_exchange};
  for (const uint64_t value : reads) step.touched.reads.push_back(Value(value));
  for (const uint64_t value : writes) step.touched.writes.push_back(Value(value));
  return step;
}
StepOrder::Step Exchange(uint64_t from, uint64_t to) { return Touches({from}, {to}, true); }

std::vector<std::vector<uint32_t>> StepOrderOf(std::vector<StepOrder::Step> steps) {
  const size_t count = steps.size();
  StepOrder order(std::move(steps));
  for (size_t i = 0; i < count; ++i) order.Add();
  return order.before();
}

TEST(StepOrderTest, StepsFollowThoseWhoseMemoryTheyTouch) {
  EXPECT_THAT(StepOrderOf({Touches({}, {0}), Touches({0}, {1}), Touches({0}, {2}), Touches({1, 2}, {3}),
                           Touches({}, {0})}),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(1, 2), ElementsAre(1, 2)));
  EXPECT_THAT(StepOrderOf({}), IsEmpty());
}

TEST(StepOrderTest, AStepAlsoFollowsWhatItIsMadeToFollow) {
  StepOrder order({Touches({}, {0}), Touches({0}, {1}), Touches({0}, {2})});
  for (int i = 0; i < 3; ++i) order.Add();
  EXPECT_THAT(order.follows(), ElementsAre(true, false));
  order.Follow(1);
  EXPECT_THAT(order.follows(), ElementsAre(true, true));
  EXPECT_THAT(order.before(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
  order.Follow(0);
  EXPECT_THAT(order.before()[2], ElementsAre(1));
}

// Gradients 0 and 2, their exchanges 1 and 3, and updates: 4 needs the first exchange, 5 none, 6 the second.
TEST(StepOrderTest, WhatNoExchangeNeedsDoesNotRunBeforeTheExchangesInFrontOfIt) {
  EXPECT_THAT(StepOrderOf({Touches({}, {0}), Exchange(0, 1), Touches({}, {2}), Exchange(2, 3),
                           Touches({1}, {4}), Touches({}, {5}), Touches({3}, {6})}),
              ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(1, 2), ElementsAre(1, 2),
                          ElementsAre(0, 2), ElementsAre(3)));
}

// The exchange 4 needs step 3, and so step 2.
TEST(StepOrderTest, WhatALaterExchangeNeedsDoesNotWait) {
  EXPECT_THAT(
      StepOrderOf({Touches({}, {0}), Exchange(0, 1), Touches({}, {2}), Touches({2}, {3}), Exchange(3, 4)}),
      ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(2), ElementsAre(1, 3)));
}

// Without this, two ranks could begin two exchanges in different orders.
TEST(StepOrderTest, ExchangesFollowEachOther) {
  EXPECT_THAT(StepOrderOf({Exchange(0, 1), Touches({}, {2}), Exchange(2, 3), Exchange(4, 5)}),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(2)));
}

TEST(StepOrderTest, LongProgramsWithExchangesRunInThePlansOrder) {
  EXPECT_TRUE(RunSideBySide(100'000, false));
  EXPECT_TRUE(RunSideBySide(256, true));
  EXPECT_FALSE(RunSideBySide(257, true));
}

}  // namespace
}  // namespace sinter
