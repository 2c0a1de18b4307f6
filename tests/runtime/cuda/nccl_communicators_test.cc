// Tests of communicators that need no GPU. nccl_gpu_test.cc tests the collectives.
#include "sinter/runtime/cuda/nccl/nccl_communicators.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Adds a member's step. `group` lists device indices of the plan.
void AddStep(TestFunction& f, std::vector<uint32_t> group) {
  fb::CollectiveStepT body;
  body.group = std::move(group);
  auto step = std::make_unique<fb::StepT>();
  step->body.Set(std::move(body));
  f.table().steps.push_back(std::move(step));
}

std::vector<std::vector<uint32_t>> Groups(const TestPlan& plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan.table));
  return GroupsOf(*fb::GetPlan(builder.GetBufferPointer()));
}

// Every process must find the same groups in the same order.
TEST(NcclCommunicatorsTest, GroupsAreThoseOfAllFunctionsEachOnce) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0), Device::Gpu(1), Device::Gpu(2)});
  EXPECT_THAT(Groups(plan), IsEmpty());
  TestFunction f(plan, "f"), g(plan, "g");
  f.Copy(f.Arena(DType::kF32, {4}), f.Arena(DType::kF32, {4}));
  AddStep(f, {0, 2});
  AddStep(f, {0, 2});
  AddStep(g, {0, 1, 2});
  AddStep(g, {0, 2});
  // The same devices with other ranks are another group.
  AddStep(g, {2, 0});
  EXPECT_THAT(Groups(plan), ElementsAre(ElementsAre(0, 2), ElementsAre(0, 1, 2), ElementsAre(2, 0)));
}

TEST(NcclCommunicatorsTest, GroupsOfCpusAreNone) {
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
  TestFunction f(plan, "f");
  AddStep(f, {0, 1});
  EXPECT_THAT(Groups(plan), IsEmpty());
}

}  // namespace
}  // namespace sinter
