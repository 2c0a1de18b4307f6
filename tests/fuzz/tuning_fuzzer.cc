// Fuzzes tuning files: any bytes give a table whose text parses to the same table, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/host/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<sinter::TuningTable> table = sinter::ParseTuning(text, "input");
  if (!table.ok()) return 0;
  const absl::StatusOr<sinter::TuningTable> again = sinter::ParseTuning(sinter::TuningText(*table), "text");
  SINTER_CHECK(again.ok() && *again == *table);
  return 0;
}
