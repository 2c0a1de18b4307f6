// A limit on the memory that a caching allocator may hold: bytes, a fraction of the device, or none.
//
//   MemoryLimit{.bytes = int64_t{4} << 30}          // 4 GiB
//   MemoryLimit{.fraction = 0.5}                    // Half of the device's memory.
//   MemoryLimit{}                                   // No limit; .bytes = 0 and .fraction = 0 mean the same.
//   SINTER_CPU_MEMORY_LIMIT=50% ./train             // Or in bytes: SINTER_CPU_MEMORY_LIMIT=4294967296
//
// The variable is named after the device kind: SINTER_CPU_MEMORY_LIMIT or SINTER_GPU_MEMORY_LIMIT. An
// allocator reads it when it is created. The process-wide allocator (runtime/memory/process_allocator.h) is
// created at its first use.
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

  // Returns the limit in bytes on a device with `total_bytes`; 0 means no limit. InvalidArgument if both
  // fields are set, if bytes are negative, or if the fraction is outside 0..1.
  absl::StatusOr<int64_t> Resolve(int64_t total_bytes) const;
};

// Returns "SINTER_CPU_MEMORY_LIMIT", "SINTER_GPU_MEMORY_LIMIT" and so on, from the kind's name.
std::string MemoryLimitVariable(DeviceKind kind);

// Parses "1073741824" (bytes) or "50%". `source` names the origin of the text; the error message starts with
// it.
absl::StatusOr<MemoryLimit> ParseMemoryLimit(std::string_view text, std::string_view source);

// Returns the environment's limit for devices of this kind; no limit if the variable is unset or empty.
absl::StatusOr<MemoryLimit> MemoryLimitFromEnvironment(DeviceKind kind);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_MEMORY_LIMIT_H_
