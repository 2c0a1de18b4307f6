// .npz archives and the .npy files in them: any bytes give tensors or an error. An input that begins as a
// .npy file is read as one.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sinter/runtime/npy.h"
#include "sinter/runtime/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  if (size == 0 || data[0] != 0x93) {
    sinter::ParseNpz(bytes, "input").IgnoreError();
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
