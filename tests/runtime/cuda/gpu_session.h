// Sessions of test plans on real GPUs, with real code for the kernels that test_plan.h only names.
//
//   std::map<Device, DeviceRuntime*> runtimes;
//   absl::StatusOr<Session> session = MakeGpuSession(ScalePlan(Device::Gpu(0), 64), {}, &runtimes);
#ifndef SINTER_TESTS_RUNTIME_CUDA_GPU_SESSION_H_
#define SINTER_TESTS_RUNTIME_CUDA_GPU_SESSION_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/session_state.h"
#include "sinter/tests/runtime/cuda/cuda_compiler.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

inline constexpr char kTestKernels[] = R"(
struct Three { float* p[3]; };
__device__ unsigned Index() { return blockIdx.x * blockDim.x + threadIdx.x; }
extern "C" __global__ void add_f32(Three b) { b.p[2][Index()] = b.p[0][Index()] + b.p[1][Index()]; }
extern "C" __global__ void scale_f32(Three b) { b.p[2][Index()] = b.p[0][Index()] * b.p[1][0]; }
extern "C" __global__ void trap_f32(Three) { asm("trap;"); }
)";

// Adds code for gpu:0 to the plan's kernels. The other GPUs must have the same architecture.
inline absl::Status GiveCode(TestPlan& plan) {
  const std::string architecture = DescribeCudaDevice(0)->Architecture();
  // Compiles once, because it takes some tens of milliseconds.
  static const auto& cubin = *new absl::StatusOr<std::string>(CompileCuda(kTestKernels, architecture));
  SINTER_RETURN_IF_ERROR(cubin.status());
  for (auto& kernel : plan.table.gpu_kernels) {
    kernel->images[0]->architecture = architecture;
    kernel->images[0]->cubin.assign(cubin->begin(), cubin->end());
  }
  return absl::OkStatus();
}

// Makes a session. Stores the device runtimes of the session in `runtimes`, which may be null.
inline absl::StatusOr<Session> MakeGpuSession(TestPlan plan, const SessionOptions& options = {},
                                              std::map<Device, DeviceRuntime*>* runtimes = nullptr) {
  SINTER_RETURN_IF_ERROR(GiveCode(plan));
  SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
  const auto make = [runtimes](Device device, CachingAllocator* allocator, const StepContext& context) {
    absl::StatusOr<std::unique_ptr<DeviceRuntime>> runtime = MakeDeviceRuntime(device, allocator, context);
    if (runtime.ok() && runtimes != nullptr) (*runtimes)[device] = runtime->get();
    return runtime;
  };
  return internal_session::SessionState::MakeSession(std::move(made), options, make);
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_GPU_SESSION_H_
