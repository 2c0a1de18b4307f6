// Fuzzes .npz archives and .npy files: any bytes give tensors or an error, within the reader's memory limits.
//
// An input that begins as a .npy file is read as one.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/host/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  if (size == 0 || data[0] != 0x93) {
    constexpr int64_t kMostBytes = int64_t{16} << 20;
    const auto tensors = sinter::ParseNpz(bytes, "input", {.max_bytes = kMostBytes, .max_ratio = 200});
    if (!tensors.ok()) {
      SINTER_CHECK(!tensors.status().message().empty());
      return 0;
    }
    int64_t total = 0;
    for (const sinter::NamedTensor& named : *tensors) total += named.tensor.num_bytes();
    SINTER_CHECK(total <= kMostBytes && static_cast<uint64_t>(total) <= 200 * static_cast<uint64_t>(size));
    return 0;
  }
  const auto source = [&bytes](std::span<std::byte> out) {
    if (out.size() > bytes.size()) return absl::DataLossError("cut short");
    std::copy_n(bytes.begin(), out.size(), out.begin());
    bytes = bytes.subspan(out.size());
    return absl::OkStatus();
  };
  sinter::ReadNpy(source, size, "input").IgnoreError();
  return 0;
}
