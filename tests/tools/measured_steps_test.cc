// The steps of one rank of many, measured alone, and predictions from their times.
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/ir/cost/builtin_costs.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tools/predict/costs_source.h"
#include "sinter/tools/predict/lone_world.h"
#include "sinter/tools/predict/measured_steps.h"
#include "sinter/tools/predict/prediction.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using tools::LoneWorld;
using tools::MeasuredSteps;
using tools::Prediction;

class MeasuredStepsTest : public ::testing::Test {
 protected:
  MeasuredStepsTest() { unsetenv("SINTER_CPU_DEVICES"); }

  std::string Save(const TestPlan& plan) {
    const std::string path = folder_.File("mesh.plan");
    const absl::StatusOr<Plan> made = plan.Make();
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(made->Save(path).ok());
    return path;
  }

  ScratchFolder folder_;
};

TEST_F(MeasuredStepsTest, MessagesArriveWithTheRanksOwnBytes) {
  LoneWorld world(2, 4);
  const std::vector<std::byte> own = {std::byte{7}, std::byte{9}};
  std::vector<std::byte> all(8), part(3, std::byte{1});
  ASSERT_TRUE(world.AllGather(own, all, {.name = "gather"}).ok());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], own[i % 2]) << i;
  const World::Transfer to{.peer = 0, .data = all.data(), .bytes = 2, .is_send = true};
  const World::Transfer from{.peer = 3, .data = part.data(), .bytes = 3};
  ASSERT_TRUE(world.Exchange(std::vector{from, to}, {.name = "longer"}).ok());
  EXPECT_THAT(part, ElementsAre(std::byte{7}, std::byte{9}, std::byte{0}));
  ASSERT_TRUE(world.Exchange({&from, 1}, {.name = "nothing sent"}).ok());
  EXPECT_THAT(part, ElementsAre(std::byte{0}, std::byte{0}, std::byte{0}));
}

// This machine has one CPU device, and the plan six ranks.
TEST_F(MeasuredStepsTest, OneDeviceMeasuresOneRankOfMany) {
  const std::string path = Save(MeshPlan({2, 3}, Device::Cpu()));
  const absl::StatusOr<MeasuredSteps> measured = tools::MeasureSteps({.plan = path, .threads = 1});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_THAT(measured->device, HasSubstr("cpu:0 ("));
  const Plan plan = *Plan::Load(path);
  const fb::Function& f = *plan.table().functions()->Get(0);
  size_t exchanges = 0;
  for (uint32_t i = 0; i < f.steps()->size(); ++i) {
    const bool is_exchange = StepKindOf(*f.steps()->Get(i)).is_exchange;
    exchanges += is_exchange;
    EXPECT_EQ(measured->Of(0, i).has_value(), !is_exchange) << "step " << i;
    if (!is_exchange) EXPECT_GE(*measured->Of(0, i), 0) << "step " << i;
  }
  EXPECT_GT(exchanges, 5u);
  LoneWorld world(0, 6);
  absl::StatusOr<Session> session = Session::Create(plan.Share(), {.world = &world});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(measured->library_bytes,
              ElementsAre(Pair(0, static_cast<uint64_t>(session->memory().library_workspace))));
  EXPECT_EQ(measured->seconds.size(), f.steps()->size() - exchanges);
  EXPECT_THAT(std::string(tools::MeasureSteps({.plan = path}, {.repeat = 0}).status().message()),
              HasSubstr("--repeat must be at least 1"));
  EXPECT_THAT(std::string(tools::MeasureSteps({.plan = path, .function = "g"}).status().message()),
              HasSubstr("\"g\""));
}

// Six CPUs of one node share its cores, so each step takes six times as long.
TEST_F(MeasuredStepsTest, APredictionTakesMeasuredTimesOfStepsAndExchangesOfTheTable) {
  const Plan plan = *Plan::Load(Save(MeshPlan({2, 3}, Device::Cpu())));
  const cost::DeviceCosts costs = *tools::ReadCosts("cpu", plan);
  const fb::Function& f = *plan.table().functions()->Get(0);
  MeasuredSteps measured{.device = "cpu:0 (test)", .repeat = 3};
  for (uint32_t i = 0; i < f.steps()->size(); ++i) {
    if (!StepKindOf(*f.steps()->Get(i)).is_exchange) measured.seconds[{0, i}] = 0.5;
  }
  const double steps = 0.5 * static_cast<double>(measured.seconds.size());
  tools::PredictOptions options;
  const absl::StatusOr<Prediction> table = tools::Predict(plan, costs, options);
  options.plan.measured = &measured;
  const absl::StatusOr<Prediction> p = tools::Predict(plan, costs, options);
  ASSERT_TRUE(table.ok() && p.ok()) << p.status();
  double exchanges = 0;
  for (const tools::PredictedPart& part : table->parts) {
    if (part.name == "exposed exchanges") exchanges = part.seconds;
  }
  EXPECT_GT(exchanges, 0);
  EXPECT_NEAR(p->seconds, 6 * steps + exchanges, 1e-6 + 1e-3 * exchanges);
  EXPECT_THAT(p->notes, ElementsAre("the times of steps are medians of 3 runs of one rank on cpu:0 (test) "
                                    "without exchanges; those of exchanges are the table's"));
}

}  // namespace
}  // namespace sinter
