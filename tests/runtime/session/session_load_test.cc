// The order of a session's slow requests to a GPU, and the hints that it gives the GPU first.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session_state.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;

class NoStep : public Step {
 public:
  absl::Status Run(const StepArgs&) override { return absl::OkStatus(); }
};

// Records the calls it gets.
class AskedGpu : public FakeGpu {
 public:
  AskedGpu(CachingAllocator* allocator, std::vector<std::string>& asked)
      : FakeGpu(Device::Gpu(0), allocator), asked_(asked) {}
  void Prepare(const fb::Plan&, uint32_t device) override {
    asked_.push_back("prepare " + std::to_string(device));
  }
  absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan&, const fb::Step& step) override {
    asked_.push_back(step.name()->str());
    return std::make_unique<NoStep>();
  }

 private:
  std::vector<std::string>& asked_;
};

// The calls of a session, and the plan that it announced.
struct Load {
  std::vector<std::string> asked;
  std::string plan;
};

Load LoadOn(const TestPlan& plan) {
  Load load;
  const auto memory = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Gpu(0)));
  const auto make = [&](Device device, CachingAllocator* allocator,
                        const StepContext& context) -> absl::StatusOr<std::unique_ptr<DeviceRuntime>> {
    if (device.is_cpu()) return MakeDeviceRuntime(device, allocator, context);
    load.plan = context.plan->name()->str();
    return std::make_unique<AskedGpu>(memory.get(), load.asked);
  };
  const auto session = internal_session::SessionState::MakeSession(*plan.Make(), {}, make);
  EXPECT_TRUE(session.ok()) << session.status();
  return load;
}

void AddAttention(TestFunction& f) {
  fb::AttentionStepT step;
  step.dtype = fb::DType::BF16, step.batch = 2, step.queries = step.keys = 4, step.heads = step.key_heads = 3,
  step.width = 8, step.packed = true, step.scale = 0.5;
  f.Attention(step, {f.Arena(DType::kBf16, {2, 4, 3, 3, 8})}, {f.Arena(DType::kBf16, {2, 4, 3, 8})});
}

void AddMatmul(TestFunction& f, uint32_t device) {
  fb::MatmulStepT step;
  step.batch = 1, step.m = step.n = step.k = 2, step.dtype = fb::DType::F32;
  const uint32_t a = f.Arena(DType::kF32, {2, 2}, device);
  f.Matmul(step, {a, a}, {f.Arena(DType::kF32, {2, 2}, device)});
}

TEST(SessionLoadTest, SlowStepsComeLastWhichADevicePreparesMeanwhile) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  AddAttention(f);
  AddMatmul(f, 0);
  AddAttention(f);
  AddMatmul(f, 0);
  const Load load = LoadOn(plan);
  EXPECT_THAT(load.asked, ElementsAre("prepare 0", "matmul", "matmul", "attention", "attention"));
  EXPECT_EQ(load.plan, plan.table.name);
}

}  // namespace
}  // namespace sinter
