// Fuzzes plain and compressed IDX files: any bytes give a tensor of a plausible size, or an error.
#include <cstddef>
#include <cstdint>

#include "sinter/frontend/data/idx.h"
#include "sinter/runtime/host/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<sinter::HostTensor> tensor =
      sinter::ParseIdx(std::as_bytes(std::span(data, size)), "input");
  if (!tensor.ok()) {
    SINTER_CHECK(!tensor.status().message().empty());
    return 0;
  }
  // Bounds the tensor by the input's size: i16 elements double in size, and gzip expands at most 1040 times.
  SINTER_CHECK(static_cast<uint64_t>(tensor->num_bytes()) <= 2 * 1040 * static_cast<uint64_t>(size));
  return 0;
}
