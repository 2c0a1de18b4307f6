#include "sinter/runtime/memory/device.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace sinter {

absl::StatusOr<Device> Device::Parse(std::string_view text) {
  const auto bad = [&] {
    return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text),
                                                   "\" is not a device: write cpu or gpu, a colon and an "
                                                   "index from 0, such as cpu:0 or gpu:1"));
  };
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  DeviceKind kind = DeviceKind::kCpu;
  if (name == DeviceKindName(DeviceKind::kGpu)) {
    kind = DeviceKind::kGpu;
  } else if (name != DeviceKindName(DeviceKind::kCpu)) {
    return bad();
  }
  if (colon == std::string_view::npos) return Device(kind, 0);
  const std::string_view digits = text.substr(colon + 1);
  int32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0) return bad();
  // Only one spelling per device: "cpu:-0" and "cpu:00" are refused.
  if (Device(kind, index).ToString() != text) return bad();
  return Device(kind, index);
}

std::string Device::ToString() const { return absl::StrCat(std::string(DeviceKindName(kind_)), ":", index_); }

}  // namespace sinter
