#include "sinter/runtime/host_runtime.h"

#include <cstring>

#include "sinter/runtime/steps.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<Step>> HostRuntime::MakeStep(const fb::Plan&, const fb::Step& step) {
  const fb::KernelStep* const kernel = step.body_as_KernelStep();
  if (kernel != nullptr && kernel->scratch_bytes() > 0) uses_scratch_ = true;
  // oneDNN plans for the threads that it sees when a primitive is made.
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
  return absl::OkStatus();
}

absl::Status HostRuntime::Fill(void* to, uint8_t value, size_t bytes) {
  if (bytes > 0) std::memset(to, value, bytes);
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

absl::StatusOr<std::unique_ptr<RecordedWork>> HostRuntime::Record(const std::function<absl::Status()>&) {
  return std::unique_ptr<RecordedWork>();
}

}  // namespace sinter
