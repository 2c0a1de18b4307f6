// Plans over several devices with known results, for fake GPUs, real GPUs and CPUs.
//
//   TestPlan plan = TwoDevicesPlan(Device::Cpu(0), Device::Gpu(0));
//   ExpectTwoDevices(session, /*runs=*/3);
#ifndef SINTER_TESTS_RUNTIME_DEVICE_PLANS_H_
#define SINTER_TESTS_RUNTIME_DEVICE_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

inline HostTensor Filled(int64_t size, float value) {
  return *HostTensor::FromVector<float>({size}, std::vector<float>(static_cast<size_t>(size), value));
}

// Adds one step to = a + b, of the kind that runs on the result's device.
inline void AddSum(TestFunction& f, const TestPlan& plan, uint32_t a, uint32_t b, uint32_t to) {
  const fb::BufferT& buffer = *f.table().buffers[to];
  const int64_t size = buffer.type->shape[0];
  if (!plan.table.devices.empty() && plan.table.devices[buffer.device]->kind != fb::DeviceKind::Cpu) {
    f.GpuKernel("add_f32", {a, b}, {to}, static_cast<uint32_t>(size));
  } else {
    f.Kernel("add_f32", {a, b}, {to}, size, 10);
  }
}

// A function without inputs, which leaves all devices but the first idle.
inline TestPlan PlanOnDevices(const std::vector<Device>& devices) {
  TestPlan plan;
  plan.UseDevices(devices);
  TestFunction f(plan, "f");
  f.Output("y", f.Arena(DType::kF32, {4}));
  return plan;
}

inline constexpr int64_t kTwoDevicesSize = 100;

// The first device computes y = x + a.
// The second device computes z = copy of y, b = b + z, w = z + z.
// The first device computes t = copy of w.
inline TestPlan TwoDevicesPlan(Device first, Device second) {
  constexpr int64_t kSize = kTwoDevicesSize;
  TestPlan plan;
  plan.UseDevices({first, second});
  plan.AddVariable("a", DType::kF32, {kSize}, 1, 0);
  plan.AddVariable("b", DType::kF32, {kSize}, 10, 1);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {kSize}), a = f.Variable(0), b = f.Variable(1);
  const uint32_t y = f.Arena(DType::kF32, {kSize}), t = f.Arena(DType::kF32, {kSize});
  const uint32_t z = f.Arena(DType::kF32, {kSize}, 1), w = f.Arena(DType::kF32, {kSize}, 1);
  AddSum(f, plan, x, a, y);
  f.Copy(y, z);
  AddSum(f, plan, b, z, b);
  AddSum(f, plan, z, z, w);
  f.Copy(w, t);
  f.Output("y", y);
  f.Output("w", w);
  f.Output("t", t);
  f.Output("b", b);
  f.Output("x", x);
  return plan;
}

inline void ExpectTwoDevices(Session& session, int runs) {
  using ::testing::Each;
  const HostTensor x = Filled(kTwoDevicesSize, 2);
  for (int run = 1; run <= runs; ++run) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(*(*out)["t"].Span<float>(), Each(6.0f)) << "run " << run;
    EXPECT_THAT(*(*out)["y"].Span<float>(), Each(3.0f));
    EXPECT_THAT(*(*out)["w"].Span<float>(), Each(6.0f));
    EXPECT_THAT(*(*out)["b"].Span<float>(), Each(10.0f + 3.0f * static_cast<float>(run)));
    EXPECT_THAT(*(*out)["x"].Span<float>(), Each(2.0f));
  }
}

// Functions f and g are the same: y = x + x, sum += copy of y, y = y + y, sum += copy of y.
// The first device overwrites y immediately after the second copies it.
inline TestPlan OverwritingPlan(Device first, Device second, int64_t size) {
  TestPlan plan;
  plan.UseDevices({first, second});
  plan.AddVariable("sum", DType::kF32, {size}, 0, 1);
  for (const char* name : {"f", "g"}) {
    TestFunction f(plan, name);
    const uint32_t x = f.Input("x", DType::kF32, {size}), y = f.Arena(DType::kF32, {size});
    const uint32_t copy = f.Arena(DType::kF32, {size}, 1), sum = f.Variable(0);
    AddSum(f, plan, x, x, y);
    f.Copy(y, copy);
    AddSum(f, plan, copy, sum, sum);
    AddSum(f, plan, y, y, y);
    f.Copy(y, copy);
    AddSum(f, plan, copy, sum, sum);
    f.Output("y", y);
    f.Output("sum", sum);
  }
  return plan;
}

// Runs f and g in turn and checks only every third run, so that several runs are pending at once.
inline void ExpectOverwriting(Session& session, int64_t size, int runs, bool first_first) {
  using ::testing::Each;
  float sum = 0;
  for (int run = 0; run < runs; ++run) {
    const HostTensor x = Filled(size, static_cast<float>(run % 7));
    absl::StatusOr<Outputs> out = session.Run(run % 2 == 0 ? "f" : "g", {{"x", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    const float y = static_cast<float>(4 * (run % 7));
    sum += y * 1.5f;
    if (run % 3 != 2) continue;
    if (first_first) {
      ASSERT_THAT(*(*out)["y"].Span<float>(), Each(y)) << run;
    }
    ASSERT_THAT(*(*out)["sum"].Span<float>(), Each(sum)) << run;
    ASSERT_THAT(*(*out)["y"].Span<float>(), Each(y)) << run;
  }
}

// y = x * s and z = y + w on the device; t is passed through.
inline TestPlan ScalePlan(Device device, int64_t size) {
  TestPlan plan;
  plan.UseDevices({device});
  plan.AddVariable("w", DType::kF32, {size}, 0.5);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {size}), s = f.Input("s", DType::kF32, {}),
                 t = f.Input("t", DType::kF32, {size});
  const uint32_t y = f.Arena(DType::kF32, {size}), z = f.Arena(DType::kF32, {size});
  if (device.is_gpu()) {
    f.GpuKernel("scale_f32", {x, s}, {y}, static_cast<uint32_t>(size));
  } else {
    f.Kernel("scale_f32", {x, s}, {y}, size, 10);
  }
  AddSum(f, plan, y, f.Variable(0), z);
  f.Output("y", y);
  f.Output("z", z);
  f.Output("t", t);
  return plan;
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_DEVICE_PLANS_H_
