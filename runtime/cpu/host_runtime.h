// A CPU as a device of a session: cpu:0, or a virtual CPU device that shares its cores and main memory.
//
//   HostRuntime cpu(Device::Cpu(1), {.pool = &pool, .shared_object = code.handle(), .scratch_stride = 128},
//                   allocator);
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, cpu.MakeStep(plan, table));
//
// Every call completes its work before it returns, on the threads of the pool. So no device ever waits for a
// CPU.
#ifndef SINTER_RUNTIME_CPU_HOST_RUNTIME_H_
#define SINTER_RUNTIME_CPU_HOST_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/device/device_runtime.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {

class HostRuntime : public DeviceRuntime {
 public:
  // The allocator, and the context's pool and code, must outlive the runtime.
  HostRuntime(Device device, const StepContext& context, CachingAllocator* allocator)
      : device_(device), context_(context), allocator_(allocator) {}

  Device device() const override { return device_; }
  const Backend& backend() const override;
  CachingAllocator& allocator() override { return *allocator_; }
  bool is_host_memory() const override { return true; }
  int64_t alignment() const override { return 64; }

  absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) override;
  // Returns the context's stride times the number of threads if a generated kernel needs scratch memory,
  // otherwise 0.
  size_t ScratchBytes() const override;

  absl::Status Upload(void* to, const void* from, size_t bytes) override;
  absl::Status Download(void* to, const void* from, size_t bytes) override;
  absl::Status Fill(void* to, uint8_t value, size_t bytes) override;
  absl::Status RunWhile(const void* flag, void* count, int64_t trips,
                        absl::FunctionRef<absl::Status()> body) override;
  absl::Status Synchronize() override { return absl::OkStatus(); }
  absl::Status WaitFor(DeviceRuntime& other) override;
  absl::Status CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) override;
  absl::StatusOr<std::unique_ptr<CapturedGraph>> Capture(const std::function<absl::Status()>& work) override;
  absl::StatusOr<std::unique_ptr<EventTimer>> MakeEventTimer(size_t events) override;
  Traffic traffic() const override { return traffic_; }

 private:
  Device device_;
  StepContext context_;
  CachingAllocator* allocator_;
  bool uses_scratch_ = false;
  Traffic traffic_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_HOST_RUNTIME_H_
