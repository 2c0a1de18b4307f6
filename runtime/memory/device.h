// The place of a tensor or an op: one CPU device or one GPU, as a value that compares, hashes and prints.
//
//   Device cpu = Device::Cpu();                       // "cpu:0": all cores and the main memory.
//   SINTER_ASSIGN_OR_RETURN(Device gpu, Device::Parse("gpu:1"));
//   gpu == Device::Gpu(1)                             // true
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
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sinter {

enum class DeviceKind : uint8_t { kCpu = 0, kGpu = 1 };

// "cpu" or "gpu".
constexpr std::string_view DeviceKindName(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "cpu" : "gpu";
}

class Device {
 public:
  // cpu:0.
  constexpr Device() = default;
  // `index` counts from 0. A negative index is a caller's bug and is stored unchanged.
  static constexpr Device Cpu(int32_t index = 0) { return Device(DeviceKind::kCpu, index); }
  static constexpr Device Gpu(int32_t index = 0) { return Device(DeviceKind::kGpu, index); }

  // Parses "cpu:0" or "gpu:3"; "cpu" and "gpu" mean index 0. InvalidArgument for any other text.
  static absl::StatusOr<Device> Parse(std::string_view text);

  constexpr DeviceKind kind() const { return kind_; }
  constexpr int32_t index() const { return index_; }
  constexpr bool is_cpu() const { return kind_ == DeviceKind::kCpu; }
  constexpr bool is_gpu() const { return kind_ == DeviceKind::kGpu; }

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
