#include "sinter/runtime/formats/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/npy_header.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kNpyAlignment = 64;

// Far above the header of any supported rank. NumPy itself reads at most 10,000 characters.
constexpr uint64_t kMaxHeaderBytes = 64 << 10;

// Bytes read at a time from a tensor in Fortran order.
constexpr int64_t kBlockBytes = 1 << 20;

// Iterates over the columns of a Fortran-order tensor (all indices but the first) and gives their offsets in
// the C-order result, in elements.
class Columns {
 public:
  explicit Columns(std::span<const int64_t> shape)
      : shape_(shape), strides_(shape.size()), index_(shape.size(), 0) {
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      strides_[i] = stride;
      stride *= shape[i];
    }
  }

  int64_t first_stride() const { return strides_[0]; }
  // Returns the offset of the next column, starting with the first.
  int64_t Next() {
    const int64_t offset = offset_;
    for (size_t i = 1; i < shape_.size(); ++i) {
      offset_ += strides_[i];
      if (++index_[i] < shape_[i]) break;
      offset_ -= strides_[i] * shape_[i];
      index_[i] = 0;
    }
    return offset;
  }

 private:
  std::span<const int64_t> shape_;
  std::vector<int64_t> strides_, index_;
  int64_t offset_ = 0;
};

// Copies `rows` elements of each column, stored one column after another in `from`, to `to`, one result row
// at a time.
template <typename T>
void CopyColumns(const std::byte* from, int64_t rows, int64_t first_row, int64_t row_stride,
                 std::span<const int64_t> columns, std::byte* to) {
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns.size(); ++c) {
      const int64_t at = columns[c] + (first_row + r) * row_stride;
      std::memcpy(to + at * int64_t{sizeof(T)},
                  from + (static_cast<int64_t>(c) * rows + r) * int64_t{sizeof(T)}, sizeof(T));
    }
  }
}

// Reads a non-empty Fortran-order tensor into C order. A block holds several whole columns, or a part of one
// column that is longer than a block.
template <typename T>
absl::Status ReadFortranOrder(const ByteSource& source, std::span<const int64_t> shape, std::byte* to) {
  constexpr int64_t kBlock = kBlockBytes / int64_t{sizeof(T)}, kMostColumns = 4096;
  int64_t columns = 1;
  for (const int64_t size : shape.subspan(1)) columns *= size;
  const int64_t rows = std::min(shape[0], kBlock);
  const int64_t together = rows < shape[0] ? 1 : std::min({columns, kBlock / rows, kMostColumns});
  std::vector<std::byte> block(static_cast<size_t>(rows * together) * sizeof(T));
  std::vector<int64_t> offsets;
  Columns next(shape);
  for (int64_t column = 0; column < columns; column += together) {
    offsets.resize(static_cast<size_t>(std::min(together, columns - column)));
    for (int64_t& offset : offsets) offset = next.Next();
    for (int64_t row = 0; row < shape[0]; row += rows) {
      const int64_t count = std::min(rows, shape[0] - row);
      const std::span<std::byte> piece =
          std::span(block).first(static_cast<size_t>(count) * offsets.size() * sizeof(T));
      SINTER_RETURN_IF_ERROR(source(piece));
      CopyColumns<T>(piece.data(), count, row, next.first_stride(), offsets, to);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFortranOrder(const ByteSource& source, HostTensor& tensor) {
  std::byte* const to = MutableBytesOf(tensor).data();
  switch (SizeOf(tensor.dtype())) {
    case 1:
      return ReadFortranOrder<uint8_t>(source, tensor.shape(), to);
    case 2:
      return ReadFortranOrder<uint16_t>(source, tensor.shape(), to);
    case 4:
      return ReadFortranOrder<uint32_t>(source, tensor.shape(), to);
    default:
      return ReadFortranOrder<uint64_t>(source, tensor.shape(), to);
  }
}

struct Preamble {
  NpyHeader header;
  uint64_t bytes = 0;  // Bytes of the file before the data.
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
  if (header_bytes > kMaxHeaderBytes) {
    return absl::DataLossError(absl::StrCat(name, ": damaged .npy header: it claims ", header_bytes,
                                            " bytes, and at most ", kMaxHeaderBytes, " are read"));
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
  const size_t fixed = kMagic.size() + 2 + 2;
  // Plus 1 for the line break that ends the header.
  header.append((kNpyAlignment - (fixed + header.size() + 1) % kNpyAlignment) % kNpyAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\1';
  out += '\0';
  AppendLittle(static_cast<uint16_t>(header.size()), &out);
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
  if (header.fortran_order && header.shape.size() > 1 && left > 0) {
    SINTER_RETURN_IF_ERROR(ReadFortranOrder(source, tensor));
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
  SINTER_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
  const ByteSource source = [&file, at = uint64_t{0}](std::span<std::byte> out) mutable {
    SINTER_RETURN_IF_ERROR(file.Read(at, out));
    at += out.size();
    return absl::OkStatus();
  };
  return ReadNpy(source, file.size(), path);
}

}  // namespace sinter
