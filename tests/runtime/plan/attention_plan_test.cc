// The plan verifier's checks of attention steps.
#include <cmath>
#include <functional>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

fb::AttentionStepT AttentionStepOf(bool backward, bool packed) {
  fb::AttentionStepT step;
  step.dtype = fb::DType::BF16, step.backward = backward, step.packed = packed, step.has_stats = !backward;
  step.batch = 2, step.queries = 4, step.keys = packed ? 4 : 6, step.heads = 3, step.key_heads = 3,
  step.width = 8;
  step.scale = 0.5;
  return step;
}

// Returns a plan for gpu:0: forward and backward with separate tensors (functions 0 and 1) and with a packed
// one (2 and 3).
TestPlan GoodAttentionPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  for (const bool packed : {false, true}) {
    for (const bool backward : {false, true}) {
      TestFunction f(plan,
                     std::string(packed ? "packed" : "separate") + (backward ? "_backward" : "_forward"));
      const auto inputs = [&] {
        if (packed) return std::vector<uint32_t>{f.Arena(DType::kBf16, {2, 4, 3, 3, 8})};
        return std::vector<uint32_t>{f.Arena(DType::kBf16, {2, 4, 3, 8}), f.Arena(DType::kBf16, {2, 6, 3, 8}),
                                     f.Arena(DType::kBf16, {2, 6, 3, 8})};
      };
      std::vector<uint32_t> in = inputs(), out;
      const uint32_t o = f.Arena(DType::kBf16, {2, 4, 3, 8}), stats = f.Arena(DType::kF32, {2, 3, 4});
      if (backward) {
        in.insert(in.end(), {o, stats, f.Arena(DType::kBf16, {2, 4, 3, 8})});
        out = inputs();
      } else {
        out = {o, stats};
      }
      f.Attention(AttentionStepOf(backward, packed), in, out);
    }
  }
  return plan;
}

TEST(AttentionPlanTest, LoadsAndSaysItsVersion) {
  const absl::StatusOr<Plan> plan = GoodAttentionPlan().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->table().version(), Plan::LeastVersion({}));
}

struct AttentionAlteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};
void PrintTo(const AttentionAlteration& alteration, std::ostream* out) { *out << alteration.name; }

fb::StepT& StepOf(fb::PlanT& plan, int function) { return *plan.functions[function]->steps[0]; }
fb::AttentionStepT& Of(fb::PlanT& plan, int function) {
  return *StepOf(plan, function).body.AsAttentionStep();
}
fb::BufferT& In(fb::PlanT& plan, int function, int i) {
  return *plan.functions[function]->buffers[StepOf(plan, function).inputs[i]];
}
fb::BufferT& Out(fb::PlanT& plan, int function, int i) {
  return *plan.functions[function]->buffers[StepOf(plan, function).outputs[i]];
}
// Changes the element type and keeps the shape.
void Retype(fb::BufferT& buffer, fb::DType dtype) {
  buffer.type->dtype = dtype;
  buffer.bytes = BytesOf(static_cast<DType>(dtype), buffer.type->shape);
}

void AddBias(fb::PlanT& plan, int function, fb::DType dtype, int64_t heads) {
  fb::AttentionStepT& step = Of(plan, function);
  plan.version = Plan::kVersion;
  step.has_bias = true, step.bias_dtype = dtype;
  step.bias_batch = 1, step.bias_heads = heads, step.bias_queries = step.queries;
}

const AttentionAlteration kAttentionAlterations[] = {
    {"device", [](auto& p) { p.devices[0]->kind = fb::DeviceKind::Cpu; },
     "it runs on cpu:0, and attention is a step of GPUs"},
    {"dtype", [](auto& p) { Of(p, 0).dtype = fb::DType::F32; },
     "element type 1 is not supported: attention is of bf16 or f16"},
    {"no such dtype", [](auto& p) { Of(p, 0).dtype = fb::DType{77}; }, "element type 77 is not supported"},
    {"no batch", [](auto& p) { Of(p, 0).batch = 0; }, "the size 0 of an attention is out of range"},
    {"negative", [](auto& p) { Of(p, 1).keys = -6; }, "the size -6 of an attention is out of range"},
    {"huge", [](auto& p) { Of(p, 2).width = int64_t{1} << 31; }, "the size 2147483648 of an attention"},
    {"no key heads", [](auto& p) { Of(p, 0).key_heads = 0; }, "the size 0 of an attention is out of range"},
    {"key heads", [](auto& p) { Of(p, 0).key_heads = 2; }, "2 heads of k do not divide 3 of q"},
    {"packed keys", [](auto& p) { Of(p, 2).keys = 6; },
     "q and k in one tensor have 4 and 6 positions of 3 and 3 heads: they must be alike"},
    {"causal of an old version", [](auto& p) { Of(p, 0).causal = true; },
     "plans of version 4 have no attention with a window or a bias, and none that is causal with 4 positions "
     "of q and 6 of k"},
    {"causal", [](auto& p) { Of(p, 0).causal = true, Of(p, 0).keys = 3; },
     "a masked attention has 4 positions of q and 3 of k, of which q's are the last"},
    {"window of an old version", [](auto& p) { Of(p, 2).window = 2; }, "have no attention with a window"},
    {"window", [](auto& p) { Of(p, 2).window = -2, p.version = Plan::kVersion; },
     "the window -2 of an attention is out of range"},
    {"bias without an input", [](auto& p) { AddBias(p, 2, fb::DType::F32, 1); },
     "it has 1 inputs and 2 outputs, not 2 and 2"},
    {"type of a bias", [](auto& p) { AddBias(p, 2, fb::DType::F16, 1); },
     "the bias of an attention has element type 3"},
    {"heads of a bias", [](auto& p) { AddBias(p, 2, fb::DType::F32, 2); },
     "the bias of an attention is for 1 examples, 2 heads and 4 positions, and q has 2, 3 and 4"},
    {"scale", [](auto& p) { Of(p, 0).scale = NAN; }, "the scale of an attention is not finite"},
    {"stats of a gradient", [](auto& p) { Of(p, 1).has_stats = true; }, "gives no stats"},
    {"no stats", [](auto& p) { Of(p, 0).has_stats = false; }, "it has 3 inputs and 2 outputs, not 3 and 1"},
    {"inputs", [](auto& p) { StepOf(p, 1).inputs.pop_back(); }, "it has 5 inputs and 3 outputs, not 6 and 3"},
    {"packed inputs", [](auto& p) { Of(p, 3).packed = false; }, "it has 4 inputs and 1 outputs, not 6 and 3"},
    {"q", [](auto& p) { Of(p, 0).queries = 5; }, "q has 384 bytes, and the step's parameters make 480"},
    {"k", [](auto& p) { Of(p, 0).keys = 7; }, "k has 576 bytes, and the step's parameters make 672"},
    {"v", [](auto& p) { Retype(In(p, 0, 2), fb::DType::F16); }, "v holds f16, not bf16"},
    {"the packed", [](auto& p) { Retype(In(p, 2, 0), fb::DType::I8); },
     "the packed tensor holds i8, not bf16"},
    {"o", [](auto& p) { Retype(Out(p, 0, 0), fb::DType::F16); }, "o holds f16, not bf16"},
    {"stats", [](auto& p) { Retype(Out(p, 0, 1), fb::DType::I32); }, "stats holds i32, not f32"},
    {"o of a gradient", [](auto& p) { Retype(In(p, 1, 3), fb::DType::F16); }, "o holds f16, not bf16"},
    {"stats of the result", [](auto& p) { Retype(In(p, 3, 2), fb::DType::I32); }, "stats holds i32, not f32"},
    {"g", [](auto& p) { Retype(In(p, 3, 3), fb::DType::F16); }, "g holds f16, not bf16"},
    {"gradient of k", [](auto& p) { Retype(Out(p, 1, 1), fb::DType::F16); }, "k holds f16, not bf16"},
};

class AlteredAttentionTest : public ::testing::TestWithParam<AttentionAlteration> {};

TEST_P(AlteredAttentionTest, IsRefused) {
  TestPlan plan = GoodAttentionPlan();
  GetParam().alter(plan.table);
  const absl::Status status = plan.Make().status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(AttentionPlan, AlteredAttentionTest, ::testing::ValuesIn(kAttentionAlterations),
                         [](const ::testing::TestParamInfo<AttentionAlteration>& info) {
                           std::string name;
                           for (const char* c = info.param.name; *c != 0; ++c) name += *c == ' ' ? '_' : *c;
                           return name;
                         });

}  // namespace
}  // namespace sinter
