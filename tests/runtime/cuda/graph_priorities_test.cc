#include "sinter/runtime/cuda/driver/graph_priorities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(GraphPrioritiesTest, AChainHasNoSlack) {
  EXPECT_THAT(FindSlack(4, Edges{{2, 3}, {0, 1}, {1, 2}}), Each(0));
  EXPECT_THAT(FindSlack(0, Edges{}), IsEmpty());
}

// Gradients 0, 1, 2, 3 in a chain, and updates 4, 5, 6 that need the first three.
TEST(GraphPrioritiesTest, UpdatesHaveTheMoreSlackTheEarlierTheyAreReady) {
  EXPECT_THAT(FindSlack(7, Edges{{0, 1}, {1, 2}, {2, 3}, {0, 4}, {1, 5}, {2, 6}}),
              ElementsAre(0, 0, 0, 0, 2, 1, 0));
}

// A node without dependencies, and a short path beside a long one.
TEST(GraphPrioritiesTest, BranchesThatMeetAgain) {
  EXPECT_THAT(FindSlack(6, Edges{{0, 1}, {1, 2}, {2, 4}, {0, 3}, {3, 4}}), ElementsAre(0, 0, 0, 1, 0, 3));
}

}  // namespace
}  // namespace sinter
