// How much memory a caching allocator may hold: a number of bytes, a fraction of the device, or no limit.
//
//   MemoryLimit{.bytes = int64_t{4} << 30}          // 4 GiB
//   MemoryLimit{.fraction = 0.5}                    // Half of what the device has in all.
//   MemoryLimit{}                                   // No limit; so is .bytes = 0 or .fraction = 0.
//   SINTER_CPU_MEMORY_LIMIT=50% ./train             // Or bytes: SINTER_CPU_MEMORY_LIMIT=4294967296
//
// The variable is named after the kind of the device: SINTER_CPU_MEMORY_LIMIT, SINTER_GPU_MEMORY_LIMIT. It is
// read when an allocator is made; the one that the process shares (runtime/memory/process_allocator.h) is made at its
// first use.
#ifndef SINTER_RUNTIME_MEMORY_MEMORY_LIMIT_H_
#define SINTER_RUNTIME_MEMORY_MEMORY_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

struct MemoryLimit {
  std::optional<int64_t> bytes = std::nullopt;
  std::optional<double> fraction = std::nullopt;

  // The limit in bytes on a device that has `total_bytes`; 0 is no limit. InvalidArgument when both fields
  // are set, when bytes are negative, or when the fraction is outside 0..1.
  absl::StatusOr<int64_t> Resolve(int64_t total_bytes) const;
};

// "SINTER_CPU_MEMORY_LIMIT" or "SINTER_GPU_MEMORY_LIMIT".
std::string MemoryLimitVariable(DeviceKind kind);

// Reads "1073741824" (bytes) or "50%". `source` says where the text is from and opens the error message.
absl::StatusOr<MemoryLimit> ParseMemoryLimit(std::string_view text, std::string_view source);

// The limit that the environment sets for devices of this kind; no limit when the variable is unset or empty.
absl::StatusOr<MemoryLimit> MemoryLimitFromEnvironment(DeviceKind kind);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_MEMORY_LIMIT_H_
