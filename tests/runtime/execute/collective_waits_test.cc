#include "sinter/runtime/execute/collective_waits.h"

#include <numeric>
#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

void PrintTo(const CollectiveWait& wait, std::ostream* os) {
  *os << wait.collective << " before " << wait.before;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Finds the waits in the steps of one GPU.
class WaitsTest : public ::testing::Test {
 protected:
  WaitsTest() {
    plan_.UseDevices({Device::Gpu(0), Device::Gpu(1)});
    plan_.AddVariable("v", DType::kF32, {64});
    f_.emplace(plan_, "f");
  }

  uint32_t New(int64_t size = 64) { return f_->Arena(DType::kF32, {size}); }
  void Compute(std::vector<uint32_t> from, uint32_t to) { f_->GpuKernel("k", std::move(from), {to}, 1); }
  void Reduce(std::vector<uint32_t> from, std::vector<uint32_t> to, bool is_flat = false) {
    fb::CollectiveStepT body;
    body.group = {0, 1};
    body.is_flat = is_flat;
    auto step = std::make_unique<fb::StepT>();
    step->body.Set(std::move(body));
    step->inputs = std::move(from);
    step->outputs = std::move(to);
    f_->table().steps.push_back(std::move(step));
  }

  std::vector<CollectiveWait> Waits() {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &plan_.table));
    const fb::Plan& plan = *fb::GetPlan(builder.GetBufferPointer());
    const fb::Function& function = *plan.functions()->Get(0);
    std::vector<uint32_t> steps(function.steps()->size());
    std::iota(steps.begin(), steps.end(), 0);
    return FindCollectiveWaits(plan, function, steps);
  }

  TestPlan plan_;
  std::optional<TestFunction> f_;
};

TEST_F(WaitsTest, WithoutCollectivesThereAreNone) {
  const uint32_t a = New(), b = New();
  Compute({a}, b);
  EXPECT_THAT(Waits(), IsEmpty());
}

// The usual order of gradients: the first bucket is reduced while the second is computed.
TEST_F(WaitsTest, TheFirstReaderWaitsAndWhatComesBeforeItDoesNot) {
  const uint32_t g1 = New(), g2 = New(), sum1 = New(), sum2 = New(), x = New(), y = New();
  Compute({x}, g1);                  // Step 0
  Reduce({g1}, {sum1});              // Step 1
  Compute({x}, g2);                  // Step 2
  Reduce({g2}, {sum2});              // Step 3
  Compute({x}, y);                   // Step 4
  Compute({sum1}, f_->Variable(0));  // Step 5
  Compute({sum2}, y);                // Step 6
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{1, 5}, CollectiveWait{3, 6}));
}

TEST_F(WaitsTest, ALaterOneStandsForThoseBefore) {
  const uint32_t a = New(), b = New(), sum_a = New(), sum_b = New(), y = New();
  Reduce({a}, {sum_a});
  Reduce({b}, {sum_b});
  Compute({sum_b}, y);
  Compute({sum_a}, y);
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{1, 2}));
}

TEST_F(WaitsTest, WhoOverwritesInputsOrResultsWaitsToo) {
  const uint32_t a = New(), sum = New(), x = New();
  Reduce({a}, {sum});
  Compute({x}, a);
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{0, 1}));
  f_->table().steps.pop_back();
  Compute({x}, sum);
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{0, 1}));
  f_->table().steps.pop_back();
  // A step may read the collective's input without a wait.
  Compute({a}, x);
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{0, 2}));
}

TEST_F(WaitsTest, AWorkspaceOverwrites) {
  const uint32_t a = New(), sum = New(), x = New(), y = New();
  Reduce({a}, {sum});
  Compute({x}, y);
  fb::StepT& step = *f_->table().steps.back();
  step.workspace_bytes = 4;
  step.workspace_offset = f_->table().buffers[a]->offset;
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{0, 1}));
}

// A flat collective overwrites everything between its tensors.
TEST_F(WaitsTest, FlatTensorsAreOneRange) {
  const uint32_t a = New(1), between = New(1), c = New(1), y = New();
  Reduce({a, c}, {a, c}, /*is_flat=*/false);
  Compute({between}, y);
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{0, 2}));
  f_->table().steps.clear();
  Reduce({a, c}, {a, c}, /*is_flat=*/true);
  Compute({between}, y);
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{0, 1}));
}

TEST_F(WaitsTest, CollectivesFollowEachOtherAndEndWithTheLaunch) {
  const uint32_t a = New(), b = New(), c = New();
  Reduce({a}, {b});
  Reduce({b}, {c});
  Compute({New()}, New());
  EXPECT_THAT(Waits(), ElementsAre(CollectiveWait{1, 3}));
}

}  // namespace
}  // namespace sinter
