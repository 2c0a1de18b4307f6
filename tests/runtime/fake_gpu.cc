#include "sinter/tests/runtime/fake_gpu.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device_runtimes.h"
#include "sinter/runtime/session_state.h"
#include "sinter/runtime/status.h"

namespace sinter {
namespace {

using Kernel = void (*)(const std::vector<void*>& buffers, int64_t count);

float* Floats(void* buffer) { return static_cast<float*>(buffer); }

void Add(const std::vector<void*>& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Floats(b[2])[i] = Floats(b[0])[i] + Floats(b[1])[i];
}
void Scale(const std::vector<void*>& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Floats(b[2])[i] = Floats(b[0])[i] * Floats(b[1])[0];
}
void Count(const std::vector<void*>& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) Floats(b[0])[i] = static_cast<float>(i);
}

class FakeStep : public Step {
 public:
  FakeStep(FakeGpu* gpu, size_t operands, std::function<void(const std::vector<void*>&)> work)
      : gpu_(gpu), operands_(operands), work_(std::move(work)) {}

  absl::Status Run(const StepArgs& args) override {
    gpu_->CountStep();
    gpu_->Give([work = work_, buffers = std::vector<void*>(args.buffers, args.buffers + operands_)] {
      work(buffers);
    });
    return absl::OkStatus();
  }

 private:
  FakeGpu* gpu_;
  size_t operands_;
  std::function<void(const std::vector<void*>&)> work_;
};

class FakeRecording : public RecordedWork {
 public:
  FakeRecording(FakeGpu* gpu, std::vector<FakeGpu::Work> work) : gpu_(gpu), work_(std::move(work)) {}

  absl::Status Launch() override {
    gpu_->CountLaunch();
    for (const FakeGpu::Work& work : work_) gpu_->Give(work);
    return absl::OkStatus();
  }

 private:
  FakeGpu* gpu_;
  std::vector<FakeGpu::Work> work_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> FakeGpu::MakeStep(const fb::Plan& plan, const fb::Step& step) {
  static const std::map<std::string, Kernel> kKernels = {
      {"add_f32", Add}, {"scale_f32", Scale}, {"count_f32", Count}};
  size_t operands = 0;
  for (const auto* list : {step.inputs(), step.outputs()}) operands += list == nullptr ? 0 : list->size();
  if (const fb::CopyStep* copy = step.body_as_CopyStep(); copy != nullptr) {
    return std::make_unique<FakeStep>(this, operands, [bytes = copy->bytes()](const std::vector<void*>& b) {
      std::memmove(b[1], b[0], bytes);
    });
  }
  const fb::GpuKernelStep* const kernel = step.body_as_GpuKernelStep();
  if (kernel == nullptr) return absl::UnimplementedError("a fake GPU runs kernels and copies");
  const std::string symbol = plan.gpu_kernels()->Get(kernel->kernel())->symbol()->str();
  const auto found = kKernels.find(symbol);
  if (found == kKernels.end()) return absl::NotFoundError(absl::StrCat("a fake GPU has no kernel ", symbol));
  const int64_t count = int64_t{kernel->grid()} * kernel->block();
  return std::make_unique<FakeStep>(
      this, operands, [count, run = found->second](const std::vector<void*>& b) { run(b, count); });
}

void FakeGpu::Give(Work work) {
  if (recording_ != nullptr) {
    recording_->push_back(std::move(work));
    return;
  }
  ++given_;
  queue_.push_back(std::move(work));
}

void FakeGpu::RunUpTo(size_t number) {
  while (done_ < number) {
    const Work work = std::move(queue_.front());
    queue_.erase(queue_.begin());
    ++done_;
    work();
  }
}

absl::Status FakeGpu::Upload(void* to, const void* from, size_t bytes) {
  SINTER_CHECK(recording_ == nullptr) << "an upload in a recording";
  if (breaks_uploads_) return broken_;
  ++counts_.uploads;
  traffic_.uploaded += static_cast<int64_t>(bytes);
  const std::byte* const data = static_cast<const std::byte*>(from);
  Give(
      [to, copy = std::vector<std::byte>(data, data + bytes)] { std::memcpy(to, copy.data(), copy.size()); });
  return absl::OkStatus();
}

absl::Status FakeGpu::Download(void* to, const void* from, size_t bytes) {
  SINTER_RETURN_IF_ERROR(Synchronize());
  ++counts_.downloads;
  traffic_.downloaded += static_cast<int64_t>(bytes);
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status FakeGpu::Fill(void* to, uint8_t value, size_t bytes) {
  SINTER_CHECK(recording_ == nullptr) << "a fill in a recording";
  Give([=] { std::memset(to, value, bytes); });
  return absl::OkStatus();
}

absl::Status FakeGpu::Synchronize() {
  SINTER_CHECK(recording_ == nullptr) << "a wait in a recording";
  RunUpTo(given_);
  return broken_;
}

absl::Status FakeGpu::WaitFor(DeviceRuntime& other) {
  SINTER_CHECK(recording_ == nullptr) << "a wait in a recording";
  ++counts_.waits;
  if (other.is_host_memory()) return absl::OkStatus();
  FakeGpu* const gpu = static_cast<FakeGpu*>(&other);
  Give([gpu, number = gpu->given_] { gpu->RunUpTo(number); });
  return absl::OkStatus();
}

absl::Status FakeGpu::CopyFrom(DeviceRuntime& other, void* to, const void* from, size_t bytes) {
  SINTER_CHECK(recording_ == nullptr) << "a copy between devices in a recording";
  if (other.is_host_memory()) return Upload(to, from, bytes);
  traffic_.copied += static_cast<int64_t>(bytes);
  Give([=] { std::memcpy(to, from, bytes); });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RecordedWork>> FakeGpu::Record(const std::function<absl::Status()>& work) {
  SINTER_CHECK(recording_ == nullptr) << "a recording in a recording";
  ++counts_.recordings;
  std::vector<Work> recorded;
  recording_ = &recorded;
  const absl::Status status = work();
  recording_ = nullptr;
  SINTER_RETURN_IF_ERROR(status);
  return std::make_unique<FakeRecording>(this, std::move(recorded));
}

absl::StatusOr<Session> FakeGpus::MakeSession(const TestPlan& test_plan, const SessionOptions& options) {
  SINTER_ASSIGN_OR_RETURN(Plan plan, test_plan.Make());
  gpus_.clear();
  const auto make = [this](Device device, CachingAllocator* allocator,
                           const StepContext& context) -> absl::StatusOr<std::unique_ptr<DeviceRuntime>> {
    if (device.is_cpu()) return MakeDeviceRuntime(device, allocator, context);
    if (allocator == nullptr) {
      std::unique_ptr<CachingAllocator>& own = allocators_[device.index()];
      if (own == nullptr) {
        SINTER_ASSIGN_OR_RETURN(own, CachingAllocator::Create(std::make_unique<HostMemory>(device)));
      }
      allocator = own.get();
    }
    auto gpu = std::make_unique<FakeGpu>(device, allocator);
    gpus_[device.index()] = gpu.get();
    return gpu;
  };
  return internal_session::State::MakeSession(std::move(plan), options, make);
}

}  // namespace sinter
