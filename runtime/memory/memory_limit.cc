#include "sinter/runtime/memory/memory_limit.h"

#include <charconv>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sinter {

absl::StatusOr<int64_t> MemoryLimit::Resolve(int64_t total_bytes) const {
  if (bytes.has_value() && fraction.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("a memory limit is given both in bytes (", *bytes,
                                                   ") and as a fraction (", *fraction, "): give one"));
  }
  if (bytes.has_value()) {
    if (*bytes >= 0) return *bytes;
    return absl::InvalidArgumentError(
        absl::StrCat("a memory limit of ", *bytes, " bytes is negative: 0 means no limit"));
  }
  if (!fraction.has_value()) return int64_t{0};
  if (!(*fraction >= 0.0 && *fraction <= 1.0)) {  // Also rejects NaN.
    return absl::InvalidArgumentError(
        absl::StrCat("a memory limit of ", *fraction, " of the device is outside 0..1: one half is 0.5"));
  }
  return static_cast<int64_t>(*fraction * static_cast<double>(total_bytes));
}

std::string MemoryLimitVariable(DeviceKind kind) {
  // Spelt out, so that a search for the variable finds its reader.
  if (kind == DeviceKind::kCpu) return "SINTER_CPU_MEMORY_LIMIT";
  if (kind == DeviceKind::kGpu) return "SINTER_GPU_MEMORY_LIMIT";
  return absl::StrCat("SINTER_", absl::AsciiStrToUpper(std::string(DeviceKindName(kind))), "_MEMORY_LIMIT");
}

absl::StatusOr<MemoryLimit> ParseMemoryLimit(std::string_view text, std::string_view source) {
  const auto bad = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(source), " is \"", std::string(text),
        "\": write a number of bytes, such as 1073741824, or a share of the device, such as 50%"));
  };
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (!text.ends_with('%')) {
    int64_t bytes = 0;
    const auto [rest, error] = std::from_chars(begin, end, bytes);
    if (error != std::errc() || rest != end || bytes < 0) return bad();
    return MemoryLimit{.bytes = bytes};
  }
  double percent = 0.0;
  const auto [rest, error] = std::from_chars(begin, end - 1, percent);
  if (error != std::errc() || rest != end - 1 || !(percent >= 0.0 && percent <= 100.0)) return bad();
  return MemoryLimit{.fraction = percent / 100.0};
}

absl::StatusOr<MemoryLimit> MemoryLimitFromEnvironment(DeviceKind kind) {
  const std::string variable = MemoryLimitVariable(kind);
  const char* const text = std::getenv(variable.c_str());
  if (text == nullptr || *text == '\0') return MemoryLimit{};
  return ParseMemoryLimit(text, variable);
}

}  // namespace sinter
