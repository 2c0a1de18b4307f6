// safetensors headers: any bytes give entries that lie in the file and cover its data exactly, or an error.
#include <cstddef>
#include <cstdint>

#include "sinter/runtime/safetensors.h"
#include "sinter/runtime/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<sinter::SafetensorsHeader> header =
      sinter::ParseSafetensorsHeader(std::as_bytes(std::span(data, size)), "input");
  if (!header.ok()) {
    SINTER_CHECK(!header.status().message().empty());
    return 0;
  }
  uint64_t at = 0;
  for (const sinter::SafetensorsEntry& entry : header->entries) {
    SINTER_CHECK(entry.begin == at && entry.end >= entry.begin);
    SINTER_CHECK(*sinter::DenseBytes(entry.dtype, entry.shape) ==
                 static_cast<int64_t>(entry.end - entry.begin));
    at = entry.end;
  }
  SINTER_CHECK(header->data_begin + at == size);
  return 0;
}
