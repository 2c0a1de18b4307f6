// Plans of gpu_driver_test, for the machine's GPUs or GPUs in software.
//
//   absl::StatusOr<Session> session = MakeDriverSession(TwoBranchesPlan(), {pool.get()});
#ifndef SINTER_TESTS_RUNTIME_CUDA_DRIVER_PLANS_H_
#define SINTER_TESTS_RUNTIME_CUDA_DRIVER_PLANS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/runtime/cuda/faulty_calls.h"
#include "sinter/tests/runtime/cuda/gpu_session.h"
#include "sinter/tests/runtime/device_plans.h"

namespace sinter {

inline constexpr int64_t kDriverSide = 32, kDriverSize = kDriverSide * kDriverSide;

// y = x w and t = x + x in two branches, z = y + t, sum = sum + z, on gpu:0.
inline TestPlan TwoBranchesPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  plan.AddVariable("w", DType::kF32, {kDriverSide, kDriverSide});
  fb::InitializerT& init = *plan.table.variables[0]->initializer;
  init.kind = fb::InitializerKind::Normal, init.b = 1, init.seed = 7;
  plan.AddVariable("sum", DType::kF32, {kDriverSize}, 1);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {kDriverSize});
  const uint32_t y = f.Arena(DType::kF32, {kDriverSize}), t = f.Arena(DType::kF32, {kDriverSize}),
                 z = f.Arena(DType::kF32, {kDriverSize});
  fb::MatmulStepT matmul;
  matmul.dtype = fb::DType::F32;
  matmul.batch = 1, matmul.m = matmul.n = matmul.k = kDriverSide;
  AddSum(f, plan, x, x, t);
  f.Matmul(matmul, {x, f.Variable(0)}, {y});
  AddSum(f, plan, y, t, z);
  AddSum(f, plan, f.Variable(1), z, f.Variable(1));
  f.Output("z", z);
  return plan;
}

// y = x convolved with w, on gpu:0; y has as many elements as x.
inline TestPlan ConvolutionPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  fb::ConvStepT step;
  step.dtype = fb::DType::F32;
  step.batch = 2, step.in_channels = step.out_channels = 8, step.groups = 1;
  step.in_size = step.out_size = {8, 8};
  step.kernel = {3, 3}, step.strides = step.dilations = {1, 1}, step.padding = {1, 1, 1, 1};
  plan.AddVariable("w", DType::kF32, {8, 8, 3, 3}, 0.25);
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {2, 8, 8, 8}), y = f.Arena(DType::kF32, {2, 8, 8, 8});
  f.Conv(step, {x, f.Variable(0)}, {y});
  f.Output("y", y);
  return plan;
}

// y = the result of a kernel that traps, on gpu:0.
inline TestPlan TrapPlan() {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {kDriverSize}), y = f.Arena(DType::kF32, {kDriverSize});
  f.GpuKernel("trap_f32", {x, x}, {y}, kDriverSize);
  f.Output("y", y);
  return plan;
}

// Returns values from -0.5 to 0.5, drawn from `seed`.
inline HostTensor DriverInput(uint32_t seed) {
  std::vector<float> values(kDriverSize);
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / (1 << 24) - 0.5f;
  }
  return *HostTensor::FromVector<float>({kDriverSize}, values);
}

inline std::string BytesOf(const HostTensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

// Makes a session. `allocators` are those of the GPUs; if empty, the session uses the allocators of the
// process.
inline absl::StatusOr<Session> MakeDriverSession(
    TestPlan plan, std::vector<CachingAllocator*> allocators = {},
    std::optional<std::chrono::milliseconds> exchange_patience = std::nullopt) {
  if (!UsesSoftwareGpu()) SINTER_RETURN_IF_ERROR(GiveCode(plan));
  // GPUs in software accept any image.
  for (auto& kernel : plan.table.gpu_kernels) {
    if (UsesSoftwareGpu()) kernel->images[0]->architecture = "sm_90";
  }
  SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
  return Session::Create(
      std::move(made),
      {.threads = 1, .allocators = std::move(allocators), .exchange_patience = exchange_patience});
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_DRIVER_PLANS_H_
