// Fragments and the loops that run them: plans that run, and broken ones, each with its message.
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/plan/loop_workspace.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

fb::LoopArgumentT At(uint32_t operand, uint64_t first = 0, int64_t stride = 0) {
  fb::LoopArgumentT argument;
  argument.operand = operand, argument.first = first, argument.stride = stride;
  return argument;
}

// "body" adds a slice to a carry, by way of its arena, and stacks the sum. "rows" runs "body" over the rows
// of a block. "sum" runs "body" from the last slice of x to the first, "blocks" runs "rows" over the blocks
// of x.
TestPlan LoopPlan() {
  TestPlan plan;
  plan.UseTestKernels();
  {
    TestFunction f(plan, plan.table.fragments, "body");
    const uint32_t sum = f.Parameter(DType::kF32, {2}, true), slice = f.Parameter(DType::kF32, {2}),
                   stack = f.Parameter(DType::kF32, {2}, true), arena = f.Arena(DType::kF32, {2});
    f.Kernel("add_f32", {sum, slice}, {arena}, 2);
    f.Copy(arena, sum);
    f.Copy(arena, stack);
  }
  {
    TestFunction f(plan, plan.table.fragments, "rows");
    const uint32_t sum = f.Parameter(DType::kF32, {2}, true), block = f.Parameter(DType::kF32, {3, 2}),
                   stack = f.Arena(DType::kF32, {3, 2});
    f.Loop(0, 3, {At(1), At(0, 0, 8), At(2, 0, 8)}, {block}, {sum, stack});
  }
  {
    TestFunction f(plan, "sum");
    const uint32_t x = f.Input("x", DType::kF32, {3, 2}), first = f.Input("first", DType::kF32, {2}),
                   sum = f.Arena(DType::kF32, {2}), stack = f.Arena(DType::kF32, {3, 2});
    f.Copy(first, sum);
    f.Loop(0, 3, {At(1), At(0, 16, -8), At(2, 16, -8)}, {x}, {sum, stack});
    f.Output("sum", sum);
    f.Output("stack", stack);
  }
  TestFunction f(plan, "blocks");
  const uint32_t x = f.Input("x", DType::kF32, {2, 3, 2}), first = f.Input("first", DType::kF32, {2}),
                 sum = f.Arena(DType::kF32, {2});
  f.Copy(first, sum);
  f.Loop(1, 2, {At(1), At(0, 0, 24)}, {x}, {sum});
  f.Output("sum", sum);
  return plan;
}

TEST(FragmentTest, LoopsRunTheirFragments) {
  absl::StatusOr<Session> session = LoopPlan().MakeSession();
  ASSERT_TRUE(session.ok()) << session.status();
  const HostTensor x = *HostTensor::FromVector<float>({3, 2}, {1, 2, 3, 4, 5, 6}),
                   first = *HostTensor::FromVector<float>({2}, {10, 20});
  for (int run = 0; run < 2; ++run) {
    auto outputs = session->Run("sum", {{"x", x}, {"first", first}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(*(*outputs)["sum"].Span<float>(), testing::ElementsAre(19, 32));
    EXPECT_THAT(*(*outputs)["stack"].Span<float>(), testing::ElementsAre(19, 32, 18, 30, 15, 26));
  }
  const HostTensor blocks =
      *HostTensor::FromVector<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  auto outputs = session->Run("blocks", {{"x", blocks}, {"first", first}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(*(*outputs)["sum"].Span<float>(), testing::ElementsAre(46, 62));
}

struct FragmentAlteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};

// "twice" doubles a value by adding it to itself, and counts down: the flag of the next trip is the next
// element of a list that "while" gives it. With one trip it is a branch.
TestPlan GuardedPlan(int64_t trips) {
  TestPlan plan;
  plan.UseTestKernels();
  {
    TestFunction f(plan, plan.table.fragments, "twice");
    const uint32_t value = f.Parameter(DType::kF32, {2}, true), go = f.Parameter(DType::kI1, {}, true),
                   last = f.Parameter(DType::kI1, {}), arena = f.Arena(DType::kF32, {2});
    f.Kernel("add_f32", {value, value}, {arena}, 2);
    f.Copy(arena, value);
    f.Copy(last, go);
  }
  TestFunction f(plan, "while");
  const uint32_t x = f.Input("x", DType::kF32, {2}), first = f.Input("first", DType::kI1, {}),
                 last = f.Input("last", DType::kI1, {}), value = f.Arena(DType::kF32, {2}),
                 go = f.Arena(DType::kI1, {});
  f.Copy(x, value);
  f.Copy(first, go);
  fb::StepT& step = f.Loop(0, trips, {At(1), At(2), At(0)}, {last}, {value, go});
  step.body.AsLoopStep()->guard = 2;
  step.workspace_bytes = LoopWorkspaceBytes(8, /*has_guard=*/true);
  plan.table.functions.back()->arena_bytes += 64;
  plan.table.version = Plan::LeastVersion({.fragments = true, .guards = true});
  f.Output("value", value);
  return plan;
}

TEST(FragmentTest, AGuardEndsTheTrips) {
  const auto truth = [](bool value) {
    HostTensor tensor = *HostTensor::Zeros(DType::kI1, {});
    *static_cast<uint8_t*>(tensor.mutable_data()) = value ? 1 : 0;
    return tensor;
  };
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, 3});
  for (const int64_t trips : {0, 1, 2, 5}) {
    absl::StatusOr<Session> session = GuardedPlan(trips).MakeSession();
    ASSERT_TRUE(session.ok()) << session.status();
    for (const auto& [first, last] : {std::pair(false, false), {true, false}, {true, true}, {false, true}}) {
      auto outputs = session->Run("while", {{"x", x}, {"first", truth(first)}, {"last", truth(last)}});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      const int64_t made = first ? std::min<int64_t>(trips, last ? trips : 1) : 0;
      const auto times = static_cast<float>(1 << made);
      EXPECT_THAT(*(*outputs)["value"].Span<float>(), testing::ElementsAre(times, 3 * times)) << trips;
    }
  }
}

const FragmentAlteration kBrokenGuards[] = {
    {"version", [](auto& p) { p.version = 6; }, "plans of version 6 have no guards"},
    {"operand", [](auto& p) { p.functions[0]->steps[2]->body.AsLoopStep()->guard = 3; },
     "its guard is operand 3 of 3"},
    {"type", [](auto& p) { p.functions[0]->steps[2]->body.AsLoopStep()->guard = 1; },
     "its guard is not a truth value"},
    {"stride",
     [](auto& p) {
       fb::LoopStepT& loop = *p.functions[0]->steps[2]->body.AsLoopStep();
       loop.trips = 2;
       p.functions[0]->buffers[2]->type->shape = {2};
       p.functions[0]->buffers[2]->bytes = 2;
       p.functions[0]->inputs[2]->type->shape = {2};
       loop.arguments[2]->stride = 1;
     },
     "argument 2 moves from trip to trip, and a guard may end the loop after any"},
    {"workspace", [](auto& p) { p.functions[0]->steps[2]->workspace_bytes = 8; },
     "its workspace has 8 bytes, and its fragment needs 16"},
};

TEST(FragmentTest, BrokenGuardsAreRefused) {
  ASSERT_TRUE(GuardedPlan(1).Make().ok()) << GuardedPlan(1).Make().status();
  for (const FragmentAlteration& broken : kBrokenGuards) {
    TestPlan plan = GuardedPlan(1);
    broken.alter(plan.table);
    EXPECT_THAT(std::string(plan.Make().status().message()), HasSubstr(broken.message)) << broken.name;
  }
}

TEST(FragmentTest, AFailedStepNamesItsTripAndFragment) {
  TestPlan plan = LoopPlan();
  plan.table.fragments[0]->steps[0]->body.AsKernelStep()->symbol = "missing";
  const absl::Status status = plan.MakeSession().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("step 1 (loop): \"body\", step 0 (add_f32): "));
}

fb::StepT& LoopOf(fb::PlanT& plan) { return *plan.functions[0]->steps[1]; }
fb::LoopStepT& Loop(fb::PlanT& plan) { return *LoopOf(plan).body.AsLoopStep(); }
fb::FunctionT& Body(fb::PlanT& plan) { return *plan.fragments[0]; }

const FragmentAlteration kBroken[] = {
    {"version", [](auto& p) { p.version = 5; }, "fragment 0: plans of version 5 have no fragments"},
    {"name", [](auto& p) { p.fragments[1]->name = "body"; }, "fragment 1: the name \"body\" is used twice"},
    {"ports", [](auto& p) { Body(p).inputs = std::move(p.functions[0]->inputs); },
     "fragment 0: it has inputs, outputs or ranks of its own, which functions have alone"},
    {"space", [](auto& p) { Body(p).buffers[3]->space = fb::Space::Constant; },
     "fragment 0: buffer 3 is neither in its arena nor in a parameter"},
    {"parameter size", [](auto& p) { Body(p).parameters[1]->bytes = ~0ull; },
     "fragment 0: parameter 1 has 18446744073709551615 bytes, more than an address space"},
    {"parameter index", [](auto& p) { Body(p).buffers[1]->index = 3; }, "buffer 1: parameter 3 of 3"},
    {"parameter bounds", [](auto& p) { Body(p).buffers[1]->offset = 4; },
     "bytes 4 to 4 + 8 are outside its parameter of 8 bytes"},
    {"fragment", [](auto& p) { Loop(p).fragment = 2; }, "step 1 (loop): it runs fragment 2 of 2"},
    {"itself", [](auto& p) { p.fragments[1]->steps[0]->body.AsLoopStep()->fragment = 1; },
     "it is in fragment 1 and runs fragment 1, which does not come before"},
    {"trips", [](auto& p) { Loop(p).trips = int64_t{1} << 31; }, "it makes 2147483648 trips"},
    {"arguments", [](auto& p) { Loop(p).arguments.pop_back(); }, "it has 2 arguments for 3 parameters"},
    {"operand", [](auto& p) { Loop(p).arguments[0]->operand = 3; }, "argument 0: it is operand 3 of 3"},
    {"written input", [](auto& p) { Loop(p).arguments[0]->operand = 0; },
     "argument 0: the fragment writes to it, and it is an input"},
    {"first", [](auto& p) { Loop(p).arguments[1]->first = 20; },
     "argument 1: its 8 bytes from 20 by -8 in 3 trips are outside an operand of 24 bytes"},
    {"stride", [](auto& p) { Loop(p).arguments[1]->stride = -12; }, "by -12 in 3 trips are outside"},
    {"stride wraps", [](auto& p) { Loop(p).arguments[1]->stride = INT64_MIN; }, "in 3 trips are outside"},
    {"alignment",
     [](auto& p) {
       Loop(p).arguments[1]->first = 6;
       Loop(p).arguments[1]->stride = 0;
     },
     "argument 1 is not aligned to elements of 4 bytes, which the fragment has there"},
    {"workspace", [](auto& p) { LoopOf(p).workspace_bytes = 0; },
     "its workspace has 0 bytes, and its fragment needs 8"},
    {"endless",
     [](auto& p) {
       for (auto* step : {p.fragments[1]->steps[0].get(), p.functions[1]->steps[1].get()}) {
         fb::LoopStepT& loop = *step->body.AsLoopStep();
         loop.trips = (int64_t{1} << 31) - 1;
         for (auto& argument : loop.arguments) argument->stride = 0;
       }
     },
     "a run of the function \"blocks\" makes"},
};

TEST(FragmentTest, BrokenLoopsAreRefused) {
  ASSERT_TRUE(LoopPlan().Make().ok()) << LoopPlan().Make().status();
  for (const FragmentAlteration& broken : kBroken) {
    TestPlan plan = LoopPlan();
    broken.alter(plan.table);
    EXPECT_THAT(std::string(plan.Make().status().message()), HasSubstr(broken.message)) << broken.name;
  }
}

TEST(FragmentTest, FragmentsNestToAMostDepth) {
  TestPlan plan = LoopPlan();
  for (uint32_t depth = 2; depth < 10; ++depth) {
    TestFunction f(plan, plan.table.fragments, "deep" + std::to_string(depth));
    const uint32_t sum = f.Parameter(DType::kF32, {2}, true), block = f.Parameter(DType::kF32, {3, 2});
    f.Loop(depth - 1, 1, {At(1), At(0)}, {block}, {sum});
  }
  EXPECT_THAT(std::string(plan.Make().status().message()),
              HasSubstr("fragment \"deep9\" runs fragments within each other to depth 9: at most 8"));
}

}  // namespace
}  // namespace sinter
