// Fuzzes safetensors files: any bytes give consistent entries and tensors, or an error.
//
// Entries must be inside the file and cover its data exactly. Tensors must have their entries' types and
// shapes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/status.h"

namespace {

// Reads the bytes through a file in memory.
void ReadAll(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  SINTER_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == static_cast<ssize_t>(size));
  const absl::StatusOr<sinter::SafetensorsFile> file =
      sinter::SafetensorsFile::Open("/proc/self/fd/" + std::to_string(fd));
  if (!file.ok()) return;
  file->Verify().IgnoreError();
  for (const sinter::SafetensorsEntry& entry : file->entries()) {
    const absl::StatusOr<sinter::HostTensor> tensor = file->Get(entry.name);
    SINTER_CHECK(!tensor.ok() || (tensor->dtype() == entry.dtype && tensor->shape() == entry.shape));
  }
}

}  // namespace

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
  ReadAll(data, size);
  return 0;
}
