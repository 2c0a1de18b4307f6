#include "sinter/runtime/plan/plan_devices.h"

#include <functional>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a valid plan for cpu:0 (device 0) and gpu:3 (device 1).
TestPlan GoodDevicesPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Cpu(0), Device::Gpu(3)});
  plan.AddVariable("here", DType::kF32, {4});
  plan.AddVariable("there", DType::kF32, {4}, 0, 1);
  {
    TestFunction f(plan, "kernels");
    const uint32_t x = f.Input("x", DType::kF32, {4}), y = f.Arena(DType::kF32, {4}, 1);
    f.GpuKernel("add_f32", {f.InputOn(x, 1), f.Variable(1)}, {y}, 2, 2);
    const uint32_t z = f.Arena(DType::kF32, {4});
    f.Copy(y, z);
    f.Kernel("add_f32", {z, f.Variable(0)}, {f.Variable(0)}, 4);
    f.Output("y", y);
    f.Output("z", z);
  }
  TestFunction f(plan, "matmul");
  fb::MatmulStepT step;
  step.batch = 1, step.m = 2, step.n = 2, step.k = 2, step.dtype = fb::DType::F32,
  step.math = fb::MathMode::Tf32;
  const uint32_t a = f.Arena(DType::kF32, {2, 2}, 1);
  f.Matmul(step, {a, a}, {f.Arena(DType::kF32, {2, 2}, 1)});
  return plan;
}

TEST(PlanDevicesTest, AreListed) {
  const absl::StatusOr<Plan> plan = GoodDevicesPlan().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ElementsAre(Device::Cpu(0), Device::Gpu(3)));
  EXPECT_EQ(plan->Variables()[0].device, Device::Cpu(0));
  EXPECT_EQ(plan->Variables()[1].device, Device::Gpu(3));
  const FunctionInfo function = *plan->Function("matmul");
  EXPECT_THAT(function.device_arena_bytes, ElementsAre(0, 64 + 16));
  EXPECT_EQ(function.arena_bytes, 80);
}

// Returns GoodDevicesPlan with second:3 in the place of gpu:3.
TestPlan SecondKindPlan() {
  TestPlan plan = GoodDevicesPlan();
  plan.table.devices[1] = MakeDeviceName(Device::Of(SecondKind(), 3));
  return plan;
}

TEST(PlanDevicesTest, MayBeOfARegisteredKind) {
  const absl::StatusOr<Plan> plan = SecondKindPlan().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ElementsAre(Device::Cpu(0), Device::Of(SecondKind(), 3)));
  EXPECT_EQ(plan->Variables()[1].device.ToString(), "second:3");
}

TEST(PlanDevicesTest, AKindRunsTheStepsThatItsTraitsSay) {
  const auto error_of = [](const TestPlan& plan) { return std::string(plan.Make().status().message()); };
  TestPlan plan = SecondKindPlan();
  plan.table.functions[0]->steps[2]->device = 1;
  EXPECT_THAT(error_of(plan), HasSubstr("it runs on second:3, and its kernel is code of a CPU"));
  plan = SecondKindPlan();
  fb::MatmulStepT& matmul = *plan.table.functions[1]->steps[0]->body.AsMatmulStep();
  matmul.is_gradient = true, matmul.activation = fb::Activation::Relu;
  auto& inputs = plan.table.functions[1]->steps[0]->inputs;
  inputs.push_back(inputs[0]);
  EXPECT_THAT(error_of(plan),
              HasSubstr("it runs on second:3, and a matmul with an activation's gradient is a step of GPUs"));
  plan.table.devices[1] = MakeDeviceName(Device::Gpu(3));
  EXPECT_TRUE(plan.Make().ok()) << plan.Make().status();
}

TEST(PlanDevicesTest, APlanThatNamesNoneIsOnTheCpu) {
  TestPlan plan;
  plan.AddVariable("v", DType::kF32, {4});
  TestFunction f(plan, "f");
  f.Arena(DType::kF32, {4});
  const absl::StatusOr<Plan> made = plan.Make();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->table().devices(), nullptr);
  EXPECT_THAT(made->Devices(), ElementsAre(Device::Cpu()));
  EXPECT_EQ(made->Variables()[0].device, Device::Cpu());
  EXPECT_THAT(made->Functions()[0].device_arena_bytes, ElementsAre(16));
}

struct DevicesAlteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};
void PrintTo(const DevicesAlteration& alteration, std::ostream* out) { *out << alteration.name; }

fb::StepT& DevicesStepOf(fb::PlanT& plan, int function, int step = 0) {
  return *plan.functions[function]->steps[step];
}
fb::GpuKernelStepT& KernelOf(fb::PlanT& plan) { return *DevicesStepOf(plan, 0).body.AsGpuKernelStep(); }
fb::BufferT& BufferOf(fb::PlanT& plan, int buffer) { return *plan.functions[0]->buffers[buffer]; }
fb::GpuImageT& ImageOf(fb::PlanT& plan) { return *plan.gpu_kernels[0]->images[0]; }

const DevicesAlteration kDevicesAlterations[] = {
    {"twice", [](auto& p) { p.devices[1] = std::make_unique<fb::DeviceNameT>(); },
     "the plan is malformed: device 1: cpu:0 is named twice"},
    {"kind", [](auto& p) { p.devices[1]->kind = fb::DeviceKind{3}; }, "device 1: kind 3 does not exist"},
    {"kind without a name", [](auto& p) { p.devices[1]->kind = fb::DeviceKind::Named; },
     "device 1: its kind, 2, has no name"},
    {"name of a built in kind", [](auto& p) { p.devices[1]->kind_name = "gpu"; },
     "device 1: its kind, 1, has a name"},
    {"built in kind by name",
     [](auto& p) { p.devices[1]->kind = fb::DeviceKind::Named, p.devices[1]->kind_name = "gpu"; },
     "device 1: it names its kind, gpu, which has a number"},
    {"kind that is not registered",
     [](auto& p) { p.devices[1]->kind = fb::DeviceKind::Named, p.devices[1]->kind_name = "tpu\x1b"; },
     "the plan is malformed: device 1: this program knows no devices of kind \"tpu\\x1b\": it knows cpu"},
    {"negative index", [](auto& p) { p.devices[1]->index = -1; }, "device 1: index -1 is outside 0..65535"},
    {"large index", [](auto& p) { p.devices[1]->index = 65536; }, "device 1: index 65536 is outside"},
    {"too many",
     [](auto& p) {
       for (int i = 0; i < 255; ++i) {
         p.devices.push_back(std::make_unique<fb::DeviceNameT>(*p.devices[1]));
         p.devices.back()->index = 4 + i;
       }
     },
     "it names 257 devices: at most 256"},
    {"arenas", [](auto& p) { p.functions[0]->more_arena_bytes.clear(); },
     "function \"kernels\": it has arenas on 1 devices, and the plan has 2"},
    {"more arenas", [](auto& p) { p.functions[0]->more_arena_bytes.push_back(0); },
     "it has arenas on 3 devices, and the plan has 2"},
    {"large arena", [](auto& p) { p.functions[0]->more_arena_bytes[0] = ~0ull; },
     "its arena exceeds an address space"},
    {"variable", [](auto& p) { p.variables[1]->device = 2; }, "variable 1: device 2 of 2"},
    {"buffer", [](auto& p) { BufferOf(p, 1).device = 2; }, "buffer 1: device 2 of 2"},
    {"buffer outside the arena there", [](auto& p) { p.functions[0]->more_arena_bytes[0] = 8; },
     "buffer 1: bytes 0 to 0 + 16 are outside its arena of 8 bytes"},
    {"buffer of a variable elsewhere", [](auto& p) { p.variables[1]->device = 0; },
     "it is on gpu:3, and its variable on cpu:0"},
    {"step", [](auto& p) { DevicesStepOf(p, 0).device = 2; }, "step 0 (add_f32): it runs on device 2 of 2"},
    {"step without devices",
     [](auto& p) {
       p.devices.clear();
       p.variables[1]->device = 0;
       for (auto& function : p.functions) {
         function->more_arena_bytes.clear();
         function->arena_bytes = 1024;
         for (auto& buffer : function->buffers) buffer->device = 0;
       }
     },
     "it runs on device 1 of 1"},
    {"operand elsewhere", [](auto& p) { BufferOf(p, 2).device = 0; },
     "it runs on gpu:3, and its input 0 is on cpu:0: only a copy may read from another device"},
    {"result elsewhere", [](auto& p) { DevicesStepOf(p, 0, 1).device = 1; },
     "step 1 (copy): it runs on gpu:3, and its output 0 is on cpu:0: only a copy may read"},
    {"matmul elsewhere", [](auto& p) { DevicesStepOf(p, 1).device = 0; },
     "it runs on cpu:0, and its input 0 is on gpu:3"},
    {"kernel of a CPU", [](auto& p) { DevicesStepOf(p, 0, 2).device = 1; },
     "it runs on gpu:3, and its kernel is code of a CPU"},
    {"kernel of a GPU", [](auto& p) { DevicesStepOf(p, 0).device = 0; },
     "it runs on cpu:0, and its kernel is code of a GPU"},
    {"workspace", [](auto& p) { DevicesStepOf(p, 1).workspace_bytes = 81; },
     "its workspace, bytes 0 to 0 + 81, is outside the arena of 80 bytes"},
    // GPU kernels.
    {"kernel index", [](auto& p) { KernelOf(p).kernel = 1; }, "it launches GPU kernel 1 of 1"},
    {"no grid", [](auto& p) { KernelOf(p).grid = 0; }, "a grid of 0 blocks is outside 1..2147483647"},
    {"large grid", [](auto& p) { KernelOf(p).grid = 1u << 31; }, "a grid of 2147483648 blocks is outside"},
    {"no block", [](auto& p) { KernelOf(p).block = 0; }, "a block of 0 threads is outside 1..1024"},
    {"large block", [](auto& p) { KernelOf(p).block = 1025; }, "a block of 1025 threads is outside"},
    {"shared memory", [](auto& p) { KernelOf(p).shared_bytes = 227 * 1024 + 1; },
     "232449 bytes of shared memory a block are more than 232448"},
    {"kernel operands", [](auto& p) { DevicesStepOf(p, 0).inputs.assign(4095, 2); },
     "its kernel has 4096 operands: at most 4095"},
    {"kernel outputs", [](auto& p) { DevicesStepOf(p, 0).outputs.clear(); }, "its kernel has no outputs"},
    {"symbol", [](auto& p) { p.gpu_kernels[0]->symbol = ""; }, "GPU kernel 0: it has no symbol"},
    {"images", [](auto& p) { p.gpu_kernels[0]->images.clear(); }, "GPU kernel 0 (add_f32): it has no image"},
    {"architecture", [](auto& p) { ImageOf(p).architecture = ""; },
     "image 0 does not say for which architecture"},
    {"empty image", [](auto& p) { ImageOf(p).cubin.clear(); }, "its image for sm_90 is empty"},
    {"image twice",
     [](auto& p) { p.gpu_kernels[0]->images.push_back(std::make_unique<fb::GpuImageT>(ImageOf(p))); },
     "it has two images for sm_90"},
    {"math mode", [](auto& p) { DevicesStepOf(p, 1).body.AsMatmulStep()->math = fb::MathMode{3}; },
     "math mode 3 does not exist"},
};

class AlteredDevicesTest : public ::testing::TestWithParam<DevicesAlteration> {};

TEST_P(AlteredDevicesTest, IsRefusedByName) {
  TestPlan plan = GoodDevicesPlan();
  GetParam().alter(plan.table);
  const absl::Status status = plan.Make().status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(PlanDevices, AlteredDevicesTest, ::testing::ValuesIn(kDevicesAlterations),
                         [](const ::testing::TestParamInfo<DevicesAlteration>& info) {
                           std::string name;
                           for (const char* c = info.param.name; *c != 0; ++c) name += *c == ' ' ? '_' : *c;
                           return name;
                         });

TEST(PlanDevicesTest, ConvolutionsHaveAMathModeToo) {
  TestPlan plan;
  TestFunction f(plan, "f");
  fb::ConvStepT step;
  step.dtype = fb::DType::F32, step.batch = 1, step.in_channels = 1, step.out_channels = 1, step.groups = 1;
  step.in_size = {2, 2}, step.out_size = {2, 2}, step.kernel = {1, 1}, step.strides = {1, 1},
  step.dilations = {1, 1};
  step.padding = {0, 0, 0, 0}, step.math = fb::MathMode{4};
  const uint32_t x = f.Arena(DType::kF32, {1, 1, 2, 2}), w = f.Arena(DType::kF32, {1, 1, 1, 1});
  f.Conv(step, {x, w}, {f.Arena(DType::kF32, {1, 1, 2, 2})});
  EXPECT_THAT(std::string(plan.Make().status().message()), HasSubstr("math mode 4 does not exist"));
}

}  // namespace
}  // namespace sinter
