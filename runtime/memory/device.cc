#include "sinter/runtime/memory/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Rows are only ever appended, so that reading them needs no lock.
struct KindTable {
  std::mutex mutex;  // Held while a row is added.
  std::array<DeviceKindTraits, kMaxDeviceKinds> rows;
  std::array<std::string, kMaxDeviceKinds> names;  // Names of the registered kinds.
  std::atomic<size_t> count = 0;

  KindTable() {
    rows[0] = {.name = "cpu", .is_host = true, .runs_cpu_kernels = true};
    rows[1] = {.name = "gpu", .runs_gpu_kernels = true, .runs_gpu_libraries = true};
    count = 2;
  }
};

KindTable& Kinds() {
  static KindTable& table = *new KindTable;
  return table;
}

bool IsKindName(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

absl::StatusOr<DeviceKind> RegisterDeviceKind(const DeviceKindTraits& traits) {
  const std::string name(traits.name);
  if (!IsKindName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", PrintableText(name),
                     "\" cannot name a kind of devices: write lower-case letters, digits and "
                     "underscores, a letter first"));
  }
  KindTable& kinds = Kinds();
  const std::lock_guard lock(kinds.mutex);
  if (FindDeviceKind(name).has_value()) {
    return absl::AlreadyExistsError(absl::StrCat("there are devices of kind ", name, " already"));
  }
  const size_t index = kinds.count;
  if (index == kMaxDeviceKinds) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, " is one kind of devices too many: there are ", kMaxDeviceKinds));
  }
  kinds.names[index] = name;
  kinds.rows[index] = traits;
  kinds.rows[index].name = kinds.names[index];
  kinds.count = index + 1;
  return static_cast<DeviceKind>(index);
}

std::vector<DeviceKind> DeviceKinds() {
  std::vector<DeviceKind> kinds;
  for (size_t i = 0; i < Kinds().count; ++i) kinds.push_back(static_cast<DeviceKind>(i));
  return kinds;
}

std::optional<DeviceKind> FindDeviceKind(std::string_view name) {
  for (const DeviceKind kind : DeviceKinds()) {
    if (DeviceKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

const DeviceKindTraits& TraitsOf(DeviceKind kind) {
  const auto index = static_cast<size_t>(kind);
  SINTER_CHECK(index < Kinds().count) << "device kind " << index << " is not registered";
  return Kinds().rows[index];
}

std::string_view DeviceKindName(DeviceKind kind) { return TraitsOf(kind).name; }

std::string DeviceKindNames() {
  const std::vector<DeviceKind> kinds = DeviceKinds();
  std::string names;
  for (size_t i = 0; i < kinds.size(); ++i) {
    absl::StrAppend(&names,
                    i == 0                 ? ""
                    : i + 1 < kinds.size() ? ", "
                                           : " or ",
                    std::string(DeviceKindName(kinds[i])));
  }
  return names;
}

absl::StatusOr<Device> Device::Parse(std::string_view text) {
  const auto bad = [&] {
    return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text), "\" is not a device: write ",
                                                   DeviceKindNames(),
                                                   ", a colon and an index from 0, such as cpu:0 or gpu:1"));
  };
  const size_t colon = text.find(':');
  const std::optional<DeviceKind> kind = FindDeviceKind(text.substr(0, colon));
  if (!kind.has_value()) return bad();
  if (colon == std::string_view::npos) return Device(*kind, 0);
  const std::string_view digits = text.substr(colon + 1);
  int32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0) return bad();
  // Only one spelling per device: "cpu:-0" and "cpu:00" are refused.
  if (Device(*kind, index).ToString() != text) return bad();
  return Device(*kind, index);
}

std::string Device::ToString() const { return absl::StrCat(std::string(DeviceKindName(kind_)), ":", index_); }

}  // namespace sinter
