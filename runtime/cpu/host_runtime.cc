#include "sinter/runtime/cpu/host_runtime.h"

#include <chrono>
#include <cstring>
#include <vector>

#include "sinter/runtime/cpu/cpu_backend.h"
#include "sinter/runtime/cpu/steps.h"

namespace sinter {
namespace {

// CPU work is done when the call returns. So an event only reads the clock, which takes about 25 ns.
class HostEventTimer : public EventTimer {
 public:
  explicit HostEventTimer(size_t events) : times_(events) {}

  absl::Status RecordEvent(size_t index) override {
    times_[index] = std::chrono::steady_clock::now();
    return absl::OkStatus();
  }
  absl::StatusOr<double> SecondsBetween(size_t first, size_t second) const override {
    return std::chrono::duration<double>(times_[second] - times_[first]).count();
  }
  double SecondsPerEvent() const override { return 0; }

 private:
  std::vector<std::chrono::steady_clock::time_point> times_;
};

}  // namespace

const Backend& HostRuntime::backend() const { return CpuBackend(); }

absl::StatusOr<std::unique_ptr<Step>> HostRuntime::MakeStep(const fb::Plan&, const fb::Step& step) {
  const fb::KernelStep* const kernel = step.body_as_KernelStep();
  if (kernel != nullptr && kernel->scratch_bytes() > 0) uses_scratch_ = true;
  // oneDNN plans a primitive for the thread count at its creation.
  context_.pool->BindCallingThread();
  return sinter::MakeStep(step, context_);
}

size_t HostRuntime::ScratchBytes() const {
  return uses_scratch_ ? context_.scratch_stride * static_cast<size_t>(context_.pool->threads()) : 0;
}

absl::Status HostRuntime::Upload(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
  traffic_.uploaded += static_cast<int64_t>(bytes);
  return absl::OkStatus();
}

absl::Status HostRuntime::Download(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
  traffic_.downloaded += static_cast<int64_t>(bytes);
  ++traffic_.downloads;
  return absl::OkStatus();
}

absl::Status HostRuntime::Fill(void* to, uint8_t value, size_t bytes) {
  if (bytes > 0) std::memset(to, value, bytes);
  return absl::OkStatus();
}

absl::Status HostRuntime::RunWhile(const void* flag, void*, int64_t trips,
                                   absl::FunctionRef<absl::Status()> body) {
  for (int64_t trip = 0; trip < trips && *static_cast<const uint8_t*>(flag) != 0; ++trip) {
    SINTER_RETURN_IF_ERROR(body());
  }
  return absl::OkStatus();
}

absl::Status HostRuntime::WaitFor(DeviceRuntime& other) {
  return other.is_host_memory() ? absl::OkStatus() : other.Synchronize();
}

absl::Status HostRuntime::CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) {
  traffic_.copied += static_cast<int64_t>(bytes);
  if (!other.is_host_memory()) return other.Download(to, from, bytes);
  CopyBytes(to, from, bytes, *context_.pool);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CapturedGraph>> HostRuntime::Capture(const std::function<absl::Status()>&) {
  return std::unique_ptr<CapturedGraph>();
}

absl::StatusOr<std::unique_ptr<EventTimer>> HostRuntime::MakeEventTimer(size_t events) {
  return std::make_unique<HostEventTimer>(events);
}

}  // namespace sinter
