// Fuzzes sessions: a plan that passes the verifier runs or gives an error, and touches only its own memory.
//
// The fuzzer first repairs the hash. All session memory ends at an inaccessible page and is filled with NaNs
// before each run. Plans with generated code are skipped: native code is only as trustworthy as its author.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace {

using sinter::Device;

constexpr int64_t kMostBytes = int64_t{64}
                               << 20;  // Limit for a session and for an input; more only takes time.
constexpr size_t kMostDevices = 64;
constexpr int64_t kPage = 4096, kGuard = 65536;

// Host memory whose blocks end exactly at an inaccessible page.
class GuardedMemory : public sinter::DeviceMemory {
 public:
  explicit GuardedMemory(Device device) : device_(device) {}

  absl::StatusOr<void*> Allocate(int64_t bytes) override {
    if (bytes <= 0 || bytes > kMostBytes) return absl::ResourceExhaustedError("more than a fuzzer takes");
    const int64_t pages = Pages(bytes);
    void* const all =
        mmap(nullptr, static_cast<size_t>(pages + 2 * kGuard), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return absl::ResourceExhaustedError("mmap");
    char* const begin = static_cast<char*>(all) + kGuard;
    SINTER_CHECK(mprotect(begin, static_cast<size_t>(pages), PROT_READ | PROT_WRITE) == 0);
    return begin + pages - bytes;
  }
  void Free(void* ptr, int64_t bytes) noexcept override {
    const int64_t pages = Pages(bytes);
    munmap(static_cast<char*>(ptr) + bytes - pages - kGuard, static_cast<size_t>(pages + 2 * kGuard));
  }
  void Fill(void* ptr, uint8_t value, int64_t bytes) noexcept override {
    std::fill_n(static_cast<uint8_t*>(ptr), bytes, value);
  }
  int64_t TotalBytes() const override { return int64_t{1} << 30; }
  int64_t FreeBytes() const override { return int64_t{1} << 30; }
  Device device() const override { return device_; }
  int64_t alignment() const override { return 512; }

 private:
  static int64_t Pages(int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
  Device device_;
};

bool HasGeneratedCode(const sinter::Plan& plan) {
  const auto* const functions = plan.table().functions();
  for (size_t i = 0; functions != nullptr && i < functions->size(); ++i) {
    const auto* const steps = functions->Get(static_cast<uint32_t>(i))->steps();
    for (size_t k = 0; steps != nullptr && k < steps->size(); ++k) {
      if (steps->Get(static_cast<uint32_t>(k))->body_as_KernelStep() != nullptr) return true;
    }
  }
  return plan.table().shared_object() != nullptr && plan.table().shared_object()->size() > 0;
}

// Fills a tensor with zeros, ones (NaN, -1) or random bytes, as `seed` selects. Bytes of i1 are 0 or 1.
void Fill(sinter::HostTensor& tensor, uint64_t seed) {
  uint64_t state = seed;
  for (std::byte& byte : sinter::MutableBytesOf(tensor)) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int any = static_cast<int>(state >> 56);
    const int value = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 0xff : any;
    byte = static_cast<std::byte>(tensor.dtype() == sinter::DType::kI1 ? value & 1 : value);
  }
}

void RunTwice(sinter::Session& session, const sinter::FunctionInfo& function, uint64_t seed) {
  std::vector<sinter::HostTensor> inputs;
  for (const sinter::TensorInfo& info : function.inputs) {
    const absl::StatusOr<int64_t> bytes = sinter::DenseBytes(info.dtype, info.shape);
    if (!bytes.ok() || *bytes > kMostBytes) return;
    absl::StatusOr<sinter::HostTensor> tensor = sinter::HostTensor::Zeros(info.dtype, info.shape);
    if (!tensor.ok()) return;
    Fill(*tensor, seed++);
    inputs.push_back(*std::move(tensor));
  }
  std::vector<sinter::Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) arguments.emplace_back(function.inputs[i].name, inputs[i]);
  for (int run = 0; run < 2; ++run) {
    absl::StatusOr<sinter::Outputs> outputs = session.Run(function.name, arguments);
    if (!outputs.ok()) {
      SINTER_CHECK(!outputs.status().message().empty());
      return;
    }
    int read = 0;
    for (size_t i = 0; i < outputs->size(); ++i) {
      for (const std::byte byte : sinter::BytesOf(outputs->tensor(i))) read ^= std::to_integer<int>(byte);
    }
    SINTER_CHECK(read >= 0);
  }
}

// The parts of a variable are within it, and make it; there may be several terms of a part.
void ReadVariables(const sinter::Session& session) {
  for (const sinter::VariableInfo& variable : session.variables()) {
    if (variable.bytes > kMostBytes) continue;
    const auto parts = session.ReadParts(variable.name);
    const auto whole = session.ReadVariable(variable.name);
    if (!parts.ok() || !whole.ok()) continue;
    int64_t elements = 0;
    for (const sinter::VariablePart& part : *parts) elements += part.value.num_elements();
    SINTER_CHECK(variable.is_sum ? elements >= whole->num_elements() : elements == whole->num_elements());
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("SINTER_CPU_DEVICES", "8", /*overwrite=*/1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  sinter::SealPlan(bytes).IgnoreError();
  absl::StatusOr<sinter::Plan> plan = sinter::Plan::FromBytes(bytes);
  if (!plan.ok() || HasGeneratedCode(*plan)) return 0;
  if (plan->Devices().size() > kMostDevices) return 0;
  std::vector<std::unique_ptr<sinter::CachingAllocator>> allocators;
  sinter::SessionOptions options = {
      .threads = 2, .memory_limit = sinter::MemoryLimit{.bytes = kMostBytes}, .poison = true};
  for (const Device device : plan->Devices()) {
    if (!device.is_cpu()) return 0;
    absl::StatusOr<std::unique_ptr<sinter::CachingAllocator>> made =
        sinter::CachingAllocator::Create(std::make_unique<GuardedMemory>(device));
    SINTER_CHECK(made.ok()) << made.status();
    allocators.push_back(*std::move(made));
    options.allocators.push_back(allocators.back().get());
  }
  absl::StatusOr<sinter::Session> session = sinter::Session::Create(*std::move(plan), options);
  if (!session.ok()) {
    SINTER_CHECK(!session.status().message().empty());
    return 0;
  }
  for (const sinter::FunctionInfo& function : session->plan().Functions()) RunTwice(*session, function, size);
  ReadVariables(*session);
  return 0;
}
