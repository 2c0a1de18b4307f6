#include "sinter/runtime/execute/step_dependencies.h"

#include <numeric>
#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Finds the order of the steps of one GPU.
class StepDependenciesTest : public ::testing::Test {
 protected:
  StepDependenciesTest() {
    plan_.UseDevices({Device::Gpu(0)});
    f_.emplace(plan_, "f");
  }

  uint32_t New() { return f_->Arena(DType::kF32, {64}); }
  void Compute(std::vector<uint32_t> from, uint32_t to) {
    f_->GpuKernel("k", std::move(from), {to}, 1);
    library_workspaces_.push_back(0);
  }

  StepDependencies Find() {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &plan_.table));
    const fb::Function& function = *fb::GetPlan(builder.GetBufferPointer())->functions()->Get(0);
    std::vector<uint32_t> steps(function.steps()->size());
    std::iota(steps.begin(), steps.end(), 0);
    return FindDependencies(function, steps, library_workspaces_);
  }
  std::vector<std::vector<uint32_t>> Order() { return Find().before; }

  TestPlan plan_;
  std::optional<TestFunction> f_;
  std::vector<size_t> library_workspaces_;
};

TEST_F(StepDependenciesTest, ReadersComeAfterTheWriterAndBesideEachOther) {
  const uint32_t a = New(), b = New(), c = New(), d = New();
  Compute({}, a);
  Compute({a}, b);
  Compute({a}, c);
  Compute({b, c}, d);
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(StepDependenciesTest, WhatComesBeforeThoseRightBeforeIsLeftOut) {
  const uint32_t a = New(), b = New(), c = New();
  Compute({}, a);
  Compute({a}, b);
  Compute({a, b}, c);
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST_F(StepDependenciesTest, WritersComeAfterReadersAndWritersOfTheSameBytes) {
  const uint32_t a = New(), b = New();
  Compute({a}, b);
  Compute({}, a);
  Compute({}, b);
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0)));
}

TEST_F(StepDependenciesTest, LibraryWorkspacesOrderOnlyWhatHasTheSameOne) {
  for (const uint32_t buffer : {New(), New(), New(), New(), New(), New()}) Compute({}, buffer);
  library_workspaces_ = {100, 0, 100, 100, 100, 100};
  const StepDependencies order = Find();
  EXPECT_THAT(order.before,
              ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre(0)));
  EXPECT_THAT(order.workspace_offsets, ElementsAre(0, 0, 512, 1024, 1536, 0));
  EXPECT_EQ(order.workspace_bytes, 2048u);
}

// Step 5 must wait for step 1, the first with a workspace. Step 1 comes after step 0, whose result step 5
// reads.
TEST_F(StepDependenciesTest, WhatAWorkspaceOrdersImpliesTheRest) {
  const uint32_t a = New(), b = New();
  Compute({}, a);
  Compute({a}, b);
  for (const uint32_t buffer : {New(), New(), New()}) Compute({}, buffer);
  Compute({a}, New());
  library_workspaces_ = {0, 1, 1, 1, 1, 1};
  EXPECT_THAT(Order(),
              ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre(1)));
}

// Two steps that fill the device do not run concurrently, so they share a workspace. A small step runs beside
// them.
TEST_F(StepDependenciesTest, StepsThatFillTheDeviceShareTheFirstWorkspace) {
  for (int i = 0; i < 4; ++i) Compute({}, New());
  library_workspaces_ = {100, 100, 100, 100};
  for (const size_t large : {0, 1, 3}) plan_.table.functions[0]->steps[large]->flops = 2e10;
  plan_.table.functions[0]->steps[2]->flops = 1e9;
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(1)));
  EXPECT_THAT(Find().workspace_offsets, ElementsAre(0, 0, 512, 0));
}

TEST_F(StepDependenciesTest, NoWorkspacesNeedNoMemory) {
  Compute({}, New());
  EXPECT_EQ(Find().workspace_bytes, 0u);
  EXPECT_THAT(Find().workspace_offsets, ElementsAre(0));
}

}  // namespace
}  // namespace sinter
