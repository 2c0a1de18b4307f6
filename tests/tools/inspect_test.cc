#include "sinter/tools/inspect.h"

#include <cstdlib>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cut_plans.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tools/run_plan.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TestPlan TwoDevices(Device second) {
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), second});
  plan.AddVariable("w", DType::kF32, {4}, 1, 1);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4});
  const uint32_t y = f.Arena(DType::kF32, {4}), far = f.Arena(DType::kF32, {4}, 1);
  const uint32_t sum = f.Arena(DType::kF32, {4}, 1);
  f.Kernel("add_f32", {x, x}, {y}, 4);
  f.Copy(y, far);
  if (second.is_gpu()) {
    f.GpuKernel("add_f32", {far, f.Variable(0)}, {sum}, 2, 32);
  } else {
    f.Kernel("add_f32", {far, f.Variable(0)}, {sum}, 4);
  }
  f.Output("sum", sum);
  return plan;
}

TEST(InspectTest, SaysWhereThingsAreOnSeveralDevices) {
  const absl::StatusOr<Plan> plan = TwoDevices(Device::Gpu(1)).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string text = *tools::InspectText(*plan);
  EXPECT_THAT(text, HasSubstr("  GPU code   1 kernels: 1 for sm_90\n  devices    cpu:0, gpu:1\n"));
  EXPECT_THAT(text, HasSubstr("  gpu:1  trainable"));
  EXPECT_THAT(text, HasSubstr("  kernel add_f32, 4 units, cpu:0\n"));
  EXPECT_THAT(text, HasSubstr("  copy, cpu:0 to gpu:1\n"));
  EXPECT_THAT(text, HasSubstr("  kernel add_f32, 2 blocks of 32, gpu:1\n"));
  EXPECT_THAT(text, HasSubstr("  memory on cpu:0: arena of 16 bytes; peak at step 0 with 16 bytes alive:\n"));
  EXPECT_THAT(text, HasSubstr("  memory on gpu:1: arena of 80 bytes; peak at step 2 with 32 bytes alive:\n"));
}

TEST(InspectTest, ShowsThePartsOfVariables) {
  const absl::StatusOr<Plan> plan = CutPlan({2, 3}, Device::Cpu()).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string text = *tools::InspectText(*plan);
  EXPECT_THAT(text, ContainsRegex("heads +f32\\[8,144\\] +4.61 kB  cpu:0  parts of 1.54 kB  trainable"));
  EXPECT_THAT(text, ContainsRegex("whole +f32\\[5\\] +20 B  cpu:0  trainable"));
  EXPECT_THAT(text,
              ContainsRegex("sums +f32\\[4,12\\] +192 B  cpu:0  parts of 64 B  terms of a sum  trainable"));
}

TEST(InspectTest, ShowsTheMeshAndTheExchangesOverItsAxes) {
  TestPlan made = MeshPlan({2, 3}, Device::Cpu());
  const absl::StatusOr<Plan> plan = made.Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string text = *tools::InspectText(*plan);
  EXPECT_THAT(text, HasSubstr("format version 5\n"));
  EXPECT_THAT(text, HasSubstr("  mesh       a 2 x b 3: 6 ranks\n"
                              "  devices    cpu:0, cpu:1, cpu:2, cpu:3, cpu:4, cpu:5\n"));
  EXPECT_THAT(text, HasSubstr("\nfunction f: 11 steps"));
  EXPECT_THAT(text, HasSubstr("  exchange  all_gather over a, b: 5, 72 B\n"
                              "  exchange  all_reduce over a: 1, 16 B\n"
                              "  exchange  all_reduce over a, b: 1, 16 B\n"
                              "  exchange  all_reduce over b: 1, 16 B\n"
                              "  exchange  reduce_scatter over a, b: 1, 96 B\n"));
  EXPECT_THAT(text, HasSubstr("  all_reduce over b, epoch 3\n"));
  const absl::StatusOr<Plan> large = MeshPlan({8, 3}, Device::Gpu()).Make();
  EXPECT_THAT(*tools::InspectText(*large), HasSubstr("gpu:14, gpu:15 and 8 more\n"));
  made.table.functions[0]->ranks = {{0, 1}, {0, 3}};
  made.table.functions.push_back(std::make_unique<fb::FunctionT>(*made.table.functions[0]));
  made.table.functions[1]->ranks = {{1, 2}, {0, 3}};
  EXPECT_THAT(*tools::InspectText(*made.Make()),
              HasSubstr("\nfunction f of ranks [1, 2) x [0, 3): 11 steps"));
}

TEST(InspectTest, NamesAttention) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  fb::AttentionStepT step;
  step.dtype = fb::DType::BF16, step.packed = step.causal = true, step.batch = 2,
  step.queries = step.keys = 4;
  step.heads = step.key_heads = 3, step.width = 8, step.scale = 0.5;
  f.Attention(step, {f.Arena(DType::kBf16, {2, 4, 3, 3, 8})}, {f.Arena(DType::kBf16, {2, 4, 3, 8})});
  EXPECT_THAT(*tools::InspectText(*plan.Make()),
              HasSubstr("  attention forward 2x3x4x8 by 4 causal packed\n"));
}

TEST(InspectTest, SaysLittleOfOneDevice) {
  TestPlan plan;
  plan.AddVariable("w", DType::kF32, {4});
  TestFunction f(plan, "f");
  f.Copy(f.Variable(0), f.Arena(DType::kF32, {4}));
  EXPECT_THAT(
      *tools::InspectText(*plan.Make()),
      AllOf(HasSubstr("  devices    cpu:0\n  runs here  yes\n"), HasSubstr("  copy\n"),
            HasSubstr("  memory: arena"), Not(HasSubstr("GPU")), Not(HasSubstr("  cpu:0  trainable"))));
}

TEST(InspectTest, SaysWhyAPlanDoesNotRunHere) {
  unsetenv("SINTER_CPU_DEVICES");
  const Plan plan = *TwoDevices(Device::Cpu(1)).Make();
  EXPECT_THAT(*tools::InspectText(plan), HasSubstr("  runs here  cpu:1 does not exist: "));
  setenv("SINTER_CPU_DEVICES", "2", 1);
  EXPECT_THAT(*tools::InspectText(plan), HasSubstr("  runs here  yes\n"));
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(RunPlanTest, RunsOnSeveralDevices) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  const ScratchFolder folder;
  const std::string path = folder.File("two.plan");
  ASSERT_TRUE(TwoDevices(Device::Cpu(1)).Make()->Save(path).ok());
  std::ostringstream out;
  tools::RunOptions options;
  options.call.plan = path;
  options.output = folder.File("out.npz");
  options.repeat = 2;
  options.profile = true;
  const absl::Status status = tools::RunPlan(options, out);
  unsetenv("SINTER_CPU_DEVICES");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(out.str(),
              AllOf(HasSubstr("output sum: f32[4] min "), HasSubstr("kernel add_f32 on cpu:0; net.cc:12"),
                    HasSubstr("copy copy on cpu:1; net.cc:12")));
}

}  // namespace
}  // namespace sinter
