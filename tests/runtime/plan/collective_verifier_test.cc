// The checks of collectives and replicas in plan_verifier.h.
#include <functional>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

fb::CollectiveStepT Member(fb::CollectiveKind kind, uint32_t channel, uint32_t rank,
                           std::vector<int64_t> elements) {
  fb::CollectiveStepT step;
  step.kind = kind, step.dtype = fb::DType::F32, step.channel = channel, step.group = {0, 1};
  step.rank = rank, step.elements = std::move(elements);
  return step;
}

// Returns a valid plan for cpu:0, cpu:1 and gpu:0. Each function is named after its collective and has one
// step on cpu:0 and one on cpu:1.
TestPlan GoodPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Cpu(1), Device::Gpu(0)});
  plan.AddVariable("w", DType::kF32, {4}, 0, 0);
  plan.AddVariable("w@cpu:1", DType::kF32, {4}, 0, 1);
  plan.AddVariable("w@bf16", DType::kBf16, {4}, 0, 0);
  plan.table.variables[1]->replica_of = plan.table.variables[2]->replica_of = 1;
  {
    TestFunction f(plan, "all_reduce");
    std::vector<uint32_t> buffers[2];
    for (uint32_t rank : {0u, 1u}) {
      buffers[rank] = {f.Arena(DType::kF32, {4}, rank), f.Arena(DType::kF32, {2, 3}, rank)};
      fb::CollectiveStepT step = Member(fb::CollectiveKind::AllReduce, 5, rank, {4, 6});
      step.is_flat = true;
      f.CollectiveLayout(step, buffers[rank], buffers[rank]);
    }
    f.Output("y", buffers[0][0]);
    f.table().outputs[0]->replicas = {buffers[1][0]};
    f.Input("x", DType::kF32, {4});
  }
  {
    TestFunction f(plan, "all_gather");
    for (uint32_t rank : {0u, 1u}) {
      fb::CollectiveStepT step = Member(fb::CollectiveKind::AllGather, 1, rank, {3 + rank});
      step.parts = {3, 4};
      const uint32_t whole = f.Arena(DType::kF32, {7}, rank);
      const uint64_t offset = f.table().buffers[whole]->offset + 12 * rank;
      f.CollectiveLayout(step, {f.Buffer(fb::Space::Arena, 0, offset, DType::kF32, {3 + rank}, rank)},
                         {whole});
    }
  }
  {
    TestFunction f(plan, "all_to_all");
    for (uint32_t rank : {0u, 1u}) {
      const uint32_t x = f.Arena(DType::kF32, {4}, rank), y = f.Arena(DType::kF32, {4}, rank);
      f.CollectiveLayout(Member(fb::CollectiveKind::AllToAll, 0, rank, {4}), {x}, {y});
    }
  }
  TestFunction f(plan, "send_recv");
  const uint32_t x = f.Arena(DType::kF32, {4}), y = f.Arena(DType::kF32, {4}, 1);
  f.CollectiveLayout(Member(fb::CollectiveKind::SendRecv, 0, 0, {4}), {x}, {});
  f.CollectiveLayout(Member(fb::CollectiveKind::SendRecv, 0, 1, {4}), {}, {y});
  return plan;
}

fb::StepT& StepOf(fb::PlanT& p, int function, int step = 0) { return *p.functions[function]->steps[step]; }
fb::CollectiveStepT& Of(fb::PlanT& p, int function, int step = 0) {
  return *StepOf(p, function, step).body.AsCollectiveStep();
}
fb::BufferT& BufferOf(fb::PlanT& p, int function, int buffer) {
  return *p.functions[function]->buffers[buffer];
}

struct CollectiveAlteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};
void PrintTo(const CollectiveAlteration& alteration, std::ostream* out) { *out << alteration.name; }

const CollectiveAlteration kAlterations[] = {
    {"kind", [](auto& p) { Of(p, 0).kind = fb::CollectiveKind{8}; },
     "function \"all_reduce\": step 0 (exchange): collective kind 8 does not exist"},
    {"combine", [](auto& p) { Of(p, 0).combine = fb::ReduceOp{4}; }, "combination 4 does not exist"},
    {"dtype", [](auto& p) { Of(p, 0).dtype = fb::DType{15}; }, "element type 15 does not exist"},
    {"sum of bools", [](auto& p) { Of(p, 0).dtype = fb::DType::I1; },
     "elements of type i1 have no sum and no mean"},
    {"flat gather", [](auto& p) { Of(p, 1).is_flat = true; }, "it is flat, and all_gather has one tensor"},
    {"no group", [](auto& p) { Of(p, 0).group.clear(); }, "its group is empty"},
    {"group", [](auto& p) { Of(p, 0).group[1] = 3; }, "its group names device 3 of 3"},
    {"twice", [](auto& p) { Of(p, 0).group[1] = 0; }, "its group names cpu:0 twice"},
    {"mixed", [](auto& p) { Of(p, 0).group[1] = 2; },
     "its group names cpu:0 and gpu:0: a collective is one of CPUs or of GPUs"},
    {"rank", [](auto& p) { Of(p, 0).rank = 2; }, "its rank is 2 of 2"},
    {"root", [](auto& p) { Of(p, 0).root = 2; }, "its root is rank 2 of 2"},
    {"device of the rank", [](auto& p) { Of(p, 0).rank = 1; },
     "it runs on cpu:0, and rank 1 of its group is on cpu:1"},
    {"pair", [](auto& p) { Of(p, 3).group = {0}; }, "send_recv has 1 members, not 2"},
    {"fewer inputs", [](auto& p) { StepOf(p, 0).inputs.pop_back(); }, "it has 1 inputs, not 2"},
    {"fewer outputs", [](auto& p) { StepOf(p, 0).outputs.pop_back(); }, "it has 1 outputs, not 2"},
    {"output of a sender", [](auto& p) { StepOf(p, 3).outputs = {0}; }, "it has 1 outputs, not 0"},
    {"no output of a receiver",
     [](auto& p) {
       StepOf(p, 3, 1).outputs.clear();
       StepOf(p, 3, 1).inputs = {1};
     },
     "it has 1 inputs, not 0"},
    {"rooted",
     [](auto& p) {
       for (int step : {0, 1}) Of(p, 0, step).kind = fb::CollectiveKind::Reduce;
     },
     "step 1 (exchange): it has 2 outputs, not 0"},
    {"broadcast",
     [](auto& p) {
       for (int step : {0, 1}) Of(p, 0, step).kind = fb::CollectiveKind::Broadcast;
     },
     "step 1 (exchange): it has 2 inputs, not 0"},
    {"elements", [](auto& p) { Of(p, 0).elements[1] = 5; },
     "input 1 has 6 elements, and the step's parameters make 5"},
    {"negative elements", [](auto& p) { Of(p, 2).elements[0] = -4; },
     "input 0 has 4 elements, and the step's parameters make -4"},
    {"type", [](auto& p) { Of(p, 0).dtype = fb::DType::I32; }, "input 0 holds f32, not i32"},
    {"exchange of parts of several tensors",
     [](auto& p) {
       for (int step : {0, 1}) {
         Of(p, 0, step).kind = fb::CollectiveKind::AllToAll;
         Of(p, 0, step).is_flat = false;
       }
     },
     "it has 2 numbers of elements, and all_to_all has one tensor"},
    {"shift of several tensors in place",
     [](auto& p) {
       for (int step : {0, 1}) Of(p, 0, step).kind = fb::CollectiveKind::RingShift;
     },
     "its input 0 and output 0 overlap, and are not in one place"},
    {"shift in place",
     [](auto& p) {
       for (int step : {0, 1}) {
         Of(p, 2, step).kind = fb::CollectiveKind::RingShift;
         StepOf(p, 2, step).outputs = StepOf(p, 2, step).inputs;
       }
     },
     "its input 0 and output 0 overlap, and are not in one place"},
    {"tensors of a gather", [](auto& p) { Of(p, 1).elements.push_back(1); },
     "it has 2 numbers of elements, and all_gather has one tensor"},
    {"number of parts", [](auto& p) { Of(p, 1).parts.pop_back(); }, "it has 1 parts for 2 members"},
    {"negative part", [](auto& p) { Of(p, 1).parts[1] = -1; }, "a part of -1 elements"},
    {"part", [](auto& p) { Of(p, 1).parts[0] = 2; }, "it has 3 elements, and its parts make 2"},
    {"whole", [](auto& p) { Of(p, 1).parts[1] = 5; },
     "output 0 has 7 elements, and the step's parameters make 8"},
    {"parts of a sum", [](auto& p) { Of(p, 0).parts = {4, 4}; }, "it has parts, and all_reduce has none"},
    {"equal parts",
     [](auto& p) {
       BufferOf(p, 2, 0).type->shape = {3}, BufferOf(p, 2, 0).bytes = 12;
       BufferOf(p, 2, 1).type->shape = {3}, BufferOf(p, 2, 1).bytes = 12;
       Of(p, 2).elements = {3};
     },
     "3 elements cannot be cut in 2 equal parts"},
    {"operand elsewhere", [](auto& p) { p.functions[0]->outputs.clear(), BufferOf(p, 0, 0).device = 1; },
     "it runs on cpu:0, and its input 0 is on cpu:1: only a copy may read"},
    {"written input", [](auto& p) { StepOf(p, 2).outputs = {0}; },
     "its input 0 and output 0 overlap, and are not in one place"},
    {"shifted", [](auto& p) { BufferOf(p, 2, 1).offset = 8; },
     "its input 0 and output 0 overlap, and are not in one place"},
    {"another part", [](auto& p) { BufferOf(p, 1, 1).offset += 4; },
     "its input 0 and output 0 overlap, and are not in one place"},
    {"crosswise", [](auto& p) { StepOf(p, 0).outputs = {1, 0}; }, "output 0 has 6 elements"},
    {"outputs",
     [](auto& p) {
       p.functions[0]->buffers.push_back(std::make_unique<fb::BufferT>(BufferOf(p, 0, 1)));
       p.functions[0]->buffers.back()->offset = 8;
       StepOf(p, 0).outputs[1] = static_cast<uint32_t>(p.functions[0]->buffers.size() - 1);
     },
     "its outputs 0 and 1 overlap"},
    {"not flat", [](auto& p) { p.functions[0]->arena_bytes = 4096, BufferOf(p, 0, 1).offset = 528; },
     "it is flat, and its input 1 does not follow the one before"},
    {"flat backwards", [](auto& p) { BufferOf(p, 0, 0).offset = 64, BufferOf(p, 0, 1).offset = 0; },
     "it is flat, and its input 1 does not follow the one before"},
    {"flat in two",
     [](auto& p) {
       p.functions[0]->arena_bytes = 4096;
       p.functions[0]->buffers.push_back(std::make_unique<fb::BufferT>(BufferOf(p, 0, 1)));
       p.functions[0]->buffers.back()->offset = 1024;
       StepOf(p, 0).outputs[1] = static_cast<uint32_t>(p.functions[0]->buffers.size() - 1);
     },
     "it is flat, and its output 1 does not follow the one before"},
    {"other distances there",
     [](auto& p) {
       p.functions[0]->more_arena_bytes[0] = 4096;
       BufferOf(p, 0, 3).offset += 64;
     },
     "step 1 (exchange): it is flat, and its tensor 1 is not as far from the first everywhere"},
    // Order of the steps in the function.
    {"missing first", [](auto& p) { p.functions[0]->steps.erase(p.functions[0]->steps.begin()); },
     "step 0 (exchange): it is rank 1 of channel 5, and the step before is not rank 0"},
    {"missing last", [](auto& p) { p.functions[0]->steps.pop_back(); },
     "step 0 (exchange): it is rank 0 of channel 5, and the step behind is not rank 1"},
    {"order", [](auto& p) { std::swap(p.functions[0]->steps[0], p.functions[0]->steps[1]); },
     "step 0 (exchange): it is rank 1 of channel 5, and the step before is not rank 0"},
    {"channel", [](auto& p) { Of(p, 0, 1).channel = 6; },
     "it is rank 0 of channel 5, and the step behind is not rank 1"},
    {"channel again",
     [](auto& p) {
       auto& steps = p.functions[0]->steps;
       for (int step : {0, 1}) steps.push_back(std::make_unique<fb::StepT>(*steps[step]));
     },
     "step 2 (exchange): channel 5 is used twice"},
    {"other kind", [](auto& p) { Of(p, 2, 1).kind = fb::CollectiveKind::AllReduce; },
     "step 1 (exchange): it differs from rank 0 of channel 0 in its kind"},
    {"other combination", [](auto& p) { Of(p, 0, 1).combine = fb::ReduceOp::Max; }, "in its combination"},
    {"other root", [](auto& p) { Of(p, 0, 1).root = 1; }, "in its root"},
    {"other flatness", [](auto& p) { Of(p, 0, 1).is_flat = false; }, "in its flatness"},
    {"other elements",
     [](auto& p) {
       BufferOf(p, 0, 2).type->shape = {3}, BufferOf(p, 0, 2).bytes = 12;
       p.functions[0]->outputs.clear();
       Of(p, 0, 1).elements[0] = 3;
     },
     "in its elements"},
    // Replicas.
    {"replica of none", [](auto& p) { p.variables[1]->replica_of = 4; },
     "variable 1: it is a replica of variable 3 of 3"},
    {"replica of itself", [](auto& p) { p.variables[1]->replica_of = 2; },
     "variable 1: it is a replica of itself"},
    {"replica of a replica", [](auto& p) { p.variables[0]->replica_of = 2; },
     "variable 0: it is a replica of \"w@cpu:1\", which is one itself"},
    {"replica type", [](auto& p) { p.variables[1]->type->shape = {2, 2}; },
     "variable 1: it is a replica of \"w\", of another shape"},
    {"replica of a wider type",
     [](auto& p) { p.variables[1]->type->dtype = fb::DType::F64, p.variables[1]->bytes = 32; },
     "variable 1: it is a replica of \"w\" in f32, and it is in f64: variables of f32 alone have replicas of "
     "another type, "
     "bf16 or f16"},
    {"narrow replica of f64",
     [](auto& p) {
       p.variables[1]->replica_of = 0;
       p.variables[0]->type->dtype = fb::DType::F64, p.variables[0]->bytes = 32;
     },
     "variable 2: it is a replica of \"w\" in f64, and it is in bf16: variables of f32 alone"},
    {"narrow replica alone", [](auto& p) { p.variables[2]->device = 2; },
     "variable 2: it is a replica of \"w\" in bf16 on gpu:0, where there is none in f32"},
    {"second narrow replica",
     [](auto& p) {
       p.variables[1]->device = 0;
       p.variables[1]->type->dtype = fb::DType::BF16, p.variables[1]->bytes = 8;
     },
     "variable 2: it is a replica of \"w\" on cpu:0, where there is one already"},
    {"replica beside", [](auto& p) { p.variables[1]->device = 0; },
     "variable 1: it is a replica of \"w\" on cpu:0, where there is one already"},
    {"output replica", [](auto& p) { p.functions[0]->outputs[0]->replicas = {9}; },
     "output 0: replica 0 is buffer 9 of 5"},
    {"output replica type", [](auto& p) { p.functions[0]->outputs[0]->replicas = {3}; },
     "output 0: replica 0 is of another type"},
    {"output replica beside", [](auto& p) { p.functions[0]->outputs[0]->replicas = {0}; },
     "output 0: replica 0 is a second buffer on cpu:0"},
    {"input replica", [](auto& p) { p.functions[0]->inputs[0]->replicas = {0}; },
     "input 0: it has replicas, which only outputs have"},
};

class AlteredCollectivesTest : public ::testing::TestWithParam<CollectiveAlteration> {};

TEST_P(AlteredCollectivesTest, IsRefusedByName) {
  TestPlan plan = GoodPlan();
  GetParam().alter(plan.table);
  const absl::Status status = plan.Make().status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(CollectiveVerifier, AlteredCollectivesTest, ::testing::ValuesIn(kAlterations),
                         [](const ::testing::TestParamInfo<CollectiveAlteration>& info) {
                           std::string name;
                           for (const char* c = info.param.name; *c != 0; ++c) name += *c == ' ' ? '_' : *c;
                           return name;
                         });

TEST(CollectiveVerifierTest, GoodPlansPass) {
  const absl::StatusOr<Plan> plan = GoodPlan().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  // The program sees only the original, not its replicas.
  ASSERT_EQ(plan->Variables().size(), 1u);
  EXPECT_EQ(plan->Variables()[0].name, "w");
}

}  // namespace
}  // namespace sinter
