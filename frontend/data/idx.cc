#include "sinter/frontend/data/idx.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/inflate.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter {
namespace {

struct ElementType {
  int code;
  int64_t bytes;  // In the file.
  DType dtype;    // In memory.
};
constexpr ElementType kElementTypes[] = {{0x08, 1, DType::kU8},  {0x09, 1, DType::kI8},
                                         {0x0b, 2, DType::kI32}, {0x0c, 4, DType::kI32},
                                         {0x0d, 4, DType::kF32}, {0x0e, 8, DType::kF64}};

// Reads plain or compressed bytes sequentially.
class Source {
 public:
  Source(std::span<const std::byte> bytes, const std::string& name) : name_(name), rest_(bytes) {
    if (IsGzip(bytes)) inflater_.emplace(Inflater::Format::kGzip, bytes, name);
    most_ = inflater_.has_value() ? MaxInflatedSize(bytes.size()) : bytes.size();
  }

  absl::Status Read(std::span<std::byte> out) {
    most_ -= std::min<uint64_t>(most_, out.size());
    if (inflater_.has_value()) return inflater_->Read(out);
    if (out.size() > rest_.size()) {
      return absl::DataLossError(
          absl::StrCat(name_, ": IDX file cut short: ", out.size() - rest_.size(), " bytes are missing"));
    }
    std::ranges::copy(rest_.first(out.size()), out.begin());
    rest_ = rest_.subspan(out.size());
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (inflater_.has_value()) return inflater_->Finish();
    if (rest_.empty()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(name_, ": ", rest_.size(), " bytes follow the last element"));
  }

  // An upper bound of the bytes that can follow; exact for plain bytes.
  uint64_t most() const { return most_; }

 private:
  const std::string& name_;
  std::span<const std::byte> rest_;
  std::optional<Inflater> inflater_;
  uint64_t most_ = 0;
};

absl::StatusOr<ElementType> CheckMagic(std::span<const std::byte, 4> magic, const std::string& name) {
  const int code = std::to_integer<int>(magic[2]);
  const auto* type = std::ranges::find(kElementTypes, code, &ElementType::code);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || type == std::end(kElementTypes)) {
    return absl::DataLossError(absl::StrCat(name, ": no IDX file: it begins with 0x",
                                            absl::Hex(LoadBig<uint32_t>(magic.data()), absl::kZeroPad8),
                                            "; images begin with 0x00000803, labels with 0x00000801"));
  }
  return *type;
}

template <typename T>
void SwapElements(std::span<std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T value = LoadBig<T>(bytes.data() + at);
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

// Reads in pieces, because the file's elements are narrower than the tensor's.
absl::Status ReadInt16(Source& source, std::span<int32_t> out) {
  std::byte piece[4096];
  while (!out.empty()) {
    const size_t count = std::min(out.size(), sizeof(piece) / 2);
    SINTER_RETURN_IF_ERROR(source.Read({piece, 2 * count}));
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<int16_t>(LoadBig<uint16_t>(piece + 2 * i));
    out = out.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status ReadElements(Source& source, const ElementType& type, HostTensor& tensor) {
  if (type.bytes == 2) {
    SINTER_ASSIGN_OR_RETURN(const std::span<int32_t> values, tensor.MutableSpan<int32_t>());
    return ReadInt16(source, values);
  }
  const std::span<std::byte> bytes = MutableBytesOf(tensor);
  SINTER_RETURN_IF_ERROR(source.Read(bytes));
  if (type.bytes == 4) SwapElements<uint32_t>(bytes);
  if (type.bytes == 8) SwapElements<uint64_t>(bytes);
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> ReadKind(const std::string& path, int rank, absl::string_view wanted) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, ReadIdx(path));
  if (tensor.dtype() == DType::kU8 && tensor.rank() == rank) return tensor;
  absl::string_view hint = "";
  if (tensor.dtype() == DType::kU8 && tensor.rank() == 1) hint = ", which are labels";
  if (tensor.dtype() == DType::kU8 && tensor.rank() == 3) hint = ", which are images";
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", wanted, " of rank ", rank,
                                                 " were expected, it holds ", tensor.ToString(), hint));
}

}  // namespace

absl::StatusOr<HostTensor> ParseIdx(std::span<const std::byte> bytes, const std::string& name) {
  Source source(bytes, name);
  std::byte magic[4];
  SINTER_RETURN_IF_ERROR(source.Read(magic));
  SINTER_ASSIGN_OR_RETURN(const ElementType type, CheckMagic(magic, name));
  const size_t rank = std::to_integer<size_t>(magic[3]);
  std::vector<std::byte> sizes(4 * rank);
  SINTER_RETURN_IF_ERROR(source.Read(sizes));
  std::vector<int64_t> shape(rank);
  for (size_t i = 0; i < rank; ++i) shape[i] = LoadBig<uint32_t>(sizes.data() + 4 * i);
  const absl::StatusOr<int64_t> dense = DenseBytes(type.dtype, shape);
  if (!dense.ok())
    return absl::Status(dense.status().code(), absl::StrCat(name, ": ", dense.status().message()));
  const uint64_t declared = static_cast<uint64_t>(*dense / SizeOf(type.dtype) * type.bytes);
  if (declared > source.most()) {
    return absl::DataLossError(absl::StrCat(name, ": IDX file cut short: its header declares ",
                                            ShapeToString(type.dtype, shape), ", ", declared,
                                            " bytes, but at most ", source.most(), " can follow"));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(type.dtype, std::move(shape)));
  SINTER_RETURN_IF_ERROR(ReadElements(source, type, tensor));
  SINTER_RETURN_IF_ERROR(source.Finish());
  return tensor;
}

absl::StatusOr<HostTensor> ReadIdx(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  return ParseIdx(file.bytes(), path);
}

absl::StatusOr<HostTensor> ReadIdxImages(const std::string& path) { return ReadKind(path, 3, "u8 images"); }

absl::StatusOr<HostTensor> ReadIdxLabels(const std::string& path) { return ReadKind(path, 1, "u8 labels"); }

}  // namespace sinter
