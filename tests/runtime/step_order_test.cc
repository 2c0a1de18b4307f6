#include "sinter/runtime/step_order.h"

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

// Steps of one GPU.
class StepOrderTest : public ::testing::Test {
 protected:
  StepOrderTest() {
    plan_.UseDevices({Device::Gpu(0)});
    f_.emplace(plan_, "f");
  }

  uint32_t New() { return f_->Arena(DType::kF32, {64}); }
  void Compute(std::vector<uint32_t> from, uint32_t to) {
    f_->GpuKernel("k", std::move(from), {to}, 1);
    uses_library_workspace_.push_back(false);
  }

  StepOrder Order() {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Plan::Pack(builder, &plan_.table));
    const fb::Function& function = *fb::GetPlan(builder.GetBufferPointer())->functions()->Get(0);
    std::vector<uint32_t> steps(function.steps()->size());
    std::iota(steps.begin(), steps.end(), 0);
    return FindOrder(function, steps, uses_library_workspace_);
  }

  TestPlan plan_;
  std::optional<TestFunction> f_;
  std::vector<bool> uses_library_workspace_;
};

TEST_F(StepOrderTest, ReadersComeAfterTheWriterAndBesideEachOther) {
  const uint32_t a = New(), b = New(), c = New(), d = New();
  Compute({}, a);
  Compute({a}, b);
  Compute({a}, c);
  Compute({b, c}, d);
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(StepOrderTest, WhatComesBeforeThoseRightBeforeIsLeftOut) {
  const uint32_t a = New(), b = New(), c = New();
  Compute({}, a);
  Compute({a}, b);
  Compute({a, b}, c);
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST_F(StepOrderTest, WritersComeAfterReadersAndWritersOfTheSameBytes) {
  const uint32_t a = New(), b = New();
  Compute({a}, b);
  Compute({}, a);
  Compute({}, b);
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0)));
}

TEST_F(StepOrderTest, StepsThatShareALibrarysWorkspaceComeInOrder) {
  const uint32_t a = New(), b = New(), c = New();
  Compute({}, a);
  Compute({}, b);
  Compute({}, c);
  uses_library_workspace_ = {true, false, true};
  EXPECT_THAT(Order(), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0)));
}

}  // namespace
}  // namespace sinter
