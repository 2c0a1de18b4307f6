// The place of a tensor or an op: one CPU device or one GPU, as a value that compares, hashes and prints.
//
//   Device cpu = Device::Cpu();                       // "cpu:0": all cores and the main memory.
//   SINTER_ASSIGN_OR_RETURN(Device gpu, Device::Parse("gpu:1"));
//   gpu == Device::Gpu(1)                             // true
//   TraitsOf(gpu.kind()).runs_gpu_kernels             // true
//
// The kinds of devices are rows of a table: cpu and gpu are always there, and a program can register more
// before it parses a device's name or loads a plan. Code that is not a device's own asks a kind's traits, not
// its name.
//
// A Device is only a name. Making one calls no driver and does not guarantee that the device exists. Several
// CPU devices (cpu:0, cpu:1, ...) are virtual: they share the machine's cores and memory, so that programs
// for many devices run without a GPU. Plans, reports and errors use the text form, which is stable.
#ifndef SINTER_RUNTIME_MEMORY_DEVICE_H_
#define SINTER_RUNTIME_MEMORY_DEVICE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter {

// Registered kinds have the values after kGpu, in the order of their registration.
enum class DeviceKind : uint8_t { kCpu = 0, kGpu = 1 };

// The properties that all devices of a kind have.
struct DeviceKindTraits {
  std::string_view name;  // As in "cpu:0".
  // True if the devices compute in main memory, and their work is done when a call returns.
  bool is_host = false;
  bool runs_cpu_kernels = false;    // Generated code of Plan.shared_object.
  bool runs_gpu_kernels = false;    // Generated code of Plan.gpu_kernels.
  bool runs_gpu_libraries = false;  // Steps that only libraries for GPUs have, such as attention.
};

inline constexpr int kMaxDeviceKinds = 16;

// Adds a kind of devices to this process; it stays until the process ends. Thread-safe. InvalidArgument: the
// name is not of lower-case letters, digits and underscores with a letter first. AlreadyExists: there is such
// a kind. ResourceExhausted: there are kMaxDeviceKinds.
absl::StatusOr<DeviceKind> RegisterDeviceKind(const DeviceKindTraits& traits);
// Empty if there is no kind of this name.
std::optional<DeviceKind> FindDeviceKind(std::string_view name);
// All kinds, in the order of their values. Later registrations do not change it.
std::vector<DeviceKind> DeviceKinds();

const DeviceKindTraits& TraitsOf(DeviceKind kind);
// "cpu", "gpu".
std::string_view DeviceKindName(DeviceKind kind);
// "cpu or gpu": the names of all kinds, for errors.
std::string DeviceKindNames();

class Device {
 public:
  // cpu:0.
  constexpr Device() = default;
  // `index` counts from 0. A negative index is a caller's bug and is stored unchanged.
  static constexpr Device Cpu(int32_t index = 0) { return Device(DeviceKind::kCpu, index); }
  static constexpr Device Gpu(int32_t index = 0) { return Device(DeviceKind::kGpu, index); }
  static constexpr Device Of(DeviceKind kind, int32_t index) { return Device(kind, index); }

  // Parses the name of a kind, a colon and an index: "cpu:0" or "gpu:3". Without an index, 0 is meant.
  // InvalidArgument for any other text; lists the kinds.
  static absl::StatusOr<Device> Parse(std::string_view text);

  constexpr DeviceKind kind() const { return kind_; }
  constexpr int32_t index() const { return index_; }
  constexpr bool is_cpu() const { return kind_ == DeviceKind::kCpu; }
  constexpr bool is_gpu() const { return kind_ == DeviceKind::kGpu; }
  // True if the device computes in main memory (DeviceKindTraits::is_host).
  bool is_host() const { return TraitsOf(kind_).is_host; }

  // "cpu:0", "gpu:1".
  std::string ToString() const;

  // Ordered by kind, then index: cpu:0 < cpu:1 < gpu:0.
  friend constexpr auto operator<=>(const Device&, const Device&) = default;
  friend std::ostream& operator<<(std::ostream& os, const Device& device) { return os << device.ToString(); }
  template <typename H>
  friend H AbslHashValue(H h, const Device& device) {
    return H::combine(std::move(h), device.kind_, device.index_);
  }

 private:
  constexpr Device(DeviceKind kind, int32_t index) : kind_(kind), index_(index) {}

  DeviceKind kind_ = DeviceKind::kCpu;
  int32_t index_ = 0;
};

}  // namespace sinter

template <>
struct std::hash<sinter::Device> {
  size_t operator()(const sinter::Device& device) const noexcept {
    return std::hash<uint64_t>()(static_cast<uint64_t>(device.kind()) << 32 |
                                 static_cast<uint32_t>(device.index()));
  }
};

#endif  // SINTER_RUNTIME_MEMORY_DEVICE_H_
