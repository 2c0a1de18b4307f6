#include "sinter/runtime/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/file.h"
#include "sinter/runtime/npy_header.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/tensor_bytes.h"
#include "sinter/runtime/untrusted_bytes.h"

namespace sinter {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;

// Copies a tensor whose first dimension lies densest into one whose last does, a row of the result at a time.
void CopyFortranOrder(std::span<const std::byte> from, std::span<const int64_t> shape, int64_t element,
                      std::span<std::byte> to) {
  if (to.empty()) return;
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank);
  int64_t stride = element;
  for (size_t i = 0; i < rank; ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  std::vector<int64_t> index(rank, 0);
  const std::byte* source = from.data();
  for (size_t at = 0; at < to.size(); at += element) {
    std::memcpy(to.data() + at, source, element);
    for (size_t i = rank; i-- > 0;) {
      source += strides[i];
      if (++index[i] < shape[i]) break;
      source -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
}

struct Preamble {
  NpyHeader header;
  uint64_t bytes = 0;  // Of the file, in front of the data.
};

absl::StatusOr<Preamble> ReadPreamble(const ByteSource& source, uint64_t size, const std::string& name) {
  std::byte start[12];
  if (size < 10)
    return absl::DataLossError(absl::StrCat(name, ": ", size, " bytes are too few for a .npy file"));
  SINTER_RETURN_IF_ERROR(source({start, 10}));
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    return absl::DataLossError(absl::StrCat(name, ": no .npy file: it does not begin with \\x93NUMPY"));
  }
  const int major = std::to_integer<int>(start[6]);
  if (major < 1 || major > 3) {
    return absl::UnimplementedError(
        absl::StrCat(name, ": .npy version ", major, " is not supported; versions 1 to 3 are"));
  }
  Preamble preamble = {.header = {}, .bytes = major == 1 ? 10u : 12u};
  uint64_t header_bytes = LoadLittle<uint16_t>(start + 8);
  if (major > 1) {
    if (size < 12)
      return absl::DataLossError(absl::StrCat(name, ": ", size, " bytes are too few for a .npy file"));
    SINTER_RETURN_IF_ERROR(source({start + 10, 2}));
    header_bytes = LoadLittle<uint32_t>(start + 8);
  }
  if (header_bytes > size - preamble.bytes) {
    return absl::DataLossError(absl::StrCat(name, ": damaged .npy header: it claims ", header_bytes,
                                            " bytes, but only ", size - preamble.bytes, " follow"));
  }
  std::string text(header_bytes, '\0');
  SINTER_RETURN_IF_ERROR(source(std::as_writable_bytes(std::span(text))));
  SINTER_ASSIGN_OR_RETURN(preamble.header, ParseNpyHeader(text, name));
  preamble.bytes += header_bytes;
  return preamble;
}

}  // namespace

std::string NpyPreamble(const HostTensor& tensor) {
  std::string header = NpyHeaderText(tensor.dtype(), tensor.shape());
  // One more for the line break that ends a header.
  const bool long_header = header.size() + 1 + kAlignment > 0xffff;
  const size_t fixed = kMagic.size() + 2 + (long_header ? 4 : 2);
  header.append((kAlignment - (fixed + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  out += long_header ? '\2' : '\1';
  out += '\0';
  if (long_header) {
    AppendLittle(static_cast<uint32_t>(header.size()), &out);
  } else {
    AppendLittle(static_cast<uint16_t>(header.size()), &out);
  }
  return out + header;
}

absl::StatusOr<HostTensor> ReadNpy(const ByteSource& source, uint64_t size, const std::string& name) {
  SINTER_ASSIGN_OR_RETURN(const Preamble preamble, ReadPreamble(source, size, name));
  const NpyHeader& header = preamble.header;
  const absl::StatusOr<int64_t> bytes = DenseBytes(header.dtype, header.shape);
  const uint64_t left = size - preamble.bytes;
  if (!bytes.ok()) {
    return absl::Status(bytes.status().code(), absl::StrCat(name, ": ", bytes.status().message()));
  }
  if (static_cast<uint64_t>(*bytes) != left) {
    return absl::DataLossError(absl::StrCat(name, ": ", ShapeToString(header.dtype, header.shape), " takes ",
                                            *bytes, " bytes, but ", left, " follow the header"));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(header.dtype, header.shape));
  if (header.fortran_order && header.shape.size() > 1) {
    std::vector<std::byte> columns(left);
    SINTER_RETURN_IF_ERROR(source(columns));
    CopyFortranOrder(columns, header.shape, SizeOf(header.dtype), MutableBytesOf(tensor));
  } else {
    SINTER_RETURN_IF_ERROR(source(MutableBytesOf(tensor)));
  }
  if (header.dtype == DType::kI1) {
    if (const std::optional<size_t> bad = FindBadBool(BytesOf(tensor)); bad.has_value()) {
      return absl::DataLossError(
          absl::StrCat(name, ": element ", *bad, " of a boolean tensor is neither 0 nor 1"));
    }
  }
  return tensor;
}

absl::Status SaveNpy(const std::string& path, const HostTensor& tensor) {
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SINTER_RETURN_IF_ERROR(file.Write(NpyPreamble(tensor)));
  SINTER_RETURN_IF_ERROR(file.Write(BytesOf(tensor)));
  return file.Commit();
}

absl::StatusOr<HostTensor> LoadNpy(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  std::span<const std::byte> rest = file.bytes();
  const ByteSource source = [&rest, &path](std::span<std::byte> out) {
    if (out.size() > rest.size()) return absl::DataLossError(absl::StrCat(path, ": the file is cut short"));
    std::ranges::copy(rest.first(out.size()), out.begin());
    rest = rest.subspan(out.size());
    return absl::OkStatus();
  };
  return ReadNpy(source, rest.size(), path);
}

}  // namespace sinter
