#include "sinter/runtime/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/tensor_bytes.h"
#include "sinter/runtime/untrusted_bytes.h"
#include "zlib.h"

namespace sinter {
namespace {

using Json = nlohmann::json;

constexpr char kMetadataKey[] = "__metadata__";
constexpr char kChecksumKey[] = "sinter.crc32";
constexpr uint64_t kAlignment = 64;
constexpr std::string_view kTypeNames[kNumDTypes] = {"F64", "F32", "BF16", "F16", "I64",
                                                     "I32", "I8",  "U8",   "BOOL"};

std::string Checksum(std::span<const std::byte> bytes) {
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return absl::StrCat(absl::Hex(static_cast<uint32_t>(crc), absl::kZeroPad8));
}

// Names that share the longest beginning with `name`: what a misspelt name probably meant.
std::string NearestNames(std::string_view name, const std::vector<SafetensorsEntry>& entries) {
  size_t longest = 0;
  std::vector<std::string> nearest;
  for (const SafetensorsEntry& entry : entries) {
    const auto [end, unused] = std::ranges::mismatch(entry.name, name);
    const size_t shared = end - entry.name.begin();
    if (shared > longest) nearest.clear();
    longest = std::max(longest, shared);
    if (shared == longest && nearest.size() < 5) nearest.push_back(entry.name);
  }
  return absl::StrJoin(nearest, ", ");
}

using Sources = std::vector<const TensorSource*>;

// The order of the data: tensors stay aligned to their elements, and the order given does not matter.
Sources InOrderOfData(std::span<const TensorSource> tensors) {
  Sources sorted;
  for (const TensorSource& tensor : tensors) sorted.push_back(&tensor);
  std::ranges::sort(sorted, [](const TensorSource* a, const TensorSource* b) {
    const int64_t a_size = SizeOf(a->dtype);
    const int64_t b_size = SizeOf(b->dtype);
    return a_size != b_size ? a_size > b_size : a->name < b->name;
  });
  return sorted;
}

absl::Status CheckNames(const std::string& path, const Sources& sorted, const Metadata& metadata) {
  std::vector<std::string> names;
  for (const TensorSource* tensor : sorted) names.push_back(tensor->name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path, "': two tensors are named '", *twice, "'"));
  }
  if (std::ranges::binary_search(names, kMetadataKey)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "': no tensor may be named '",
                                                   kMetadataKey, "', the format reserves it"));
  }
  if (metadata.contains(kChecksumKey)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "': the metadata key '",
                                                   kChecksumKey, "' is reserved for checksums"));
  }
  return absl::OkStatus();
}

// The JSON text, in the order of the data, padded so that the data begins at a multiple of kAlignment. Its length does
// not depend on the checksums.
absl::StatusOr<std::string> HeaderText(const std::string& path, const Sources& sorted,
                                       const Metadata& metadata, const std::vector<std::string>& checksums) {
  try {
    Json texts = metadata;
    texts[kChecksumKey] = absl::StrJoin(checksums, " ");
    std::string out = absl::StrCat("{\"", kMetadataKey, "\":", texts.dump());
    uint64_t at = 0;
    for (const TensorSource* tensor : sorted) {
      SINTER_ASSIGN_OR_RETURN(const int64_t bytes, DenseBytes(tensor->dtype, tensor->shape));
      absl::StrAppend(&out, ",", Json(tensor->name).dump(), ":{\"dtype\":\"",
                      std::string(kTypeNames[static_cast<int>(tensor->dtype)]), "\",\"shape\":[",
                      absl::StrJoin(tensor->shape, ","), "],\"data_offsets\":[", at, ",",
                      at + static_cast<uint64_t>(bytes), "]}");
      at += static_cast<uint64_t>(bytes);
    }
    out += '}';
    out.append((kAlignment - (8 + out.size()) % kAlignment) % kAlignment, ' ');
    return out;
  } catch (const Json::exception& exception) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot write '", path, "': a name or a metadata text is not UTF-8: ", exception.what()));
  }
}

// Writes the values of one tensor and returns their checksum.
absl::StatusOr<std::string> AppendValues(const std::string& path, const TensorSource& source,
                                         AtomicFile& file) {
  if (!source.read) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path, "': tensor '", source.name, "' has no `read`: set it"));
  }
  SINTER_ASSIGN_OR_RETURN(const HostTensor tensor, source.read());
  if (tensor.dtype() != source.dtype || tensor.shape() != source.shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot write '", path, "': tensor '", source.name, "' was said to be ",
        ShapeToString(source.dtype, source.shape), ", and its source gives ", tensor.ToString()));
  }
  SINTER_RETURN_IF_ERROR(file.Write(BytesOf(tensor)));
  return Checksum(BytesOf(tensor));
}

}  // namespace

absl::Status SaveSafetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const Metadata& metadata) {
  std::vector<TensorSource> sources;
  for (const NamedTensor& named : tensors) {
    const HostTensor& tensor = named.tensor;
    sources.push_back({named.name, tensor.dtype(), tensor.shape(), [&tensor] {
                         return HostTensor::View(tensor.dtype(), tensor.shape(), tensor.data());
                       }});
  }
  return SaveSafetensorsOneByOne(path, sources, metadata);
}

absl::Status SaveSafetensorsOneByOne(const std::string& path, std::span<const TensorSource> tensors,
                                     const Metadata& metadata) {
  const Sources sorted = InOrderOfData(tensors);
  SINTER_RETURN_IF_ERROR(CheckNames(path, sorted, metadata));
  // The checksums stand in front of the data, but are known after it: the header is written twice, the values once.
  std::vector<std::string> checksums(sorted.size(), Checksum({}));
  SINTER_ASSIGN_OR_RETURN(const std::string draft, HeaderText(path, sorted, metadata, checksums));
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  std::string length;
  AppendLittle<uint64_t>(draft.size(), &length);
  SINTER_RETURN_IF_ERROR(file.Write(length));
  SINTER_RETURN_IF_ERROR(file.Write(draft));
  for (size_t i = 0; i < sorted.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(checksums[i], AppendValues(path, *sorted[i], file));
  }
  SINTER_ASSIGN_OR_RETURN(const std::string header, HeaderText(path, sorted, metadata, checksums));
  SINTER_CHECK(header.size() == draft.size()) << header.size() << " and " << draft.size() << " bytes";
  SINTER_RETURN_IF_ERROR(file.Overwrite(static_cast<int64_t>(length.size()), AsBytes(header)));
  return file.Commit();
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  SafetensorsFile file(std::move(mapped));
  SINTER_ASSIGN_OR_RETURN(file.header_, ParseSafetensorsHeader(file.file_.bytes(), path));
  if (const auto found = file.header_.metadata.find(kChecksumKey); found != file.header_.metadata.end()) {
    file.checksums_ = found->second;
    file.header_.metadata.erase(found);
  }
  return file;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : header_.entries) names.push_back(entry.name);
  return names;
}

absl::StatusOr<HostTensor> SafetensorsFile::Get(std::string_view name) const {
  const auto entry = std::ranges::find(header_.entries, name, &SafetensorsEntry::name);
  if (entry == header_.entries.end()) {
    return absl::NotFoundError(absl::StrCat(file_.path(), ": no tensor '", std::string(name), "' among its ",
                                            header_.entries.size(),
                                            "; nearest: ", NearestNames(name, header_.entries)));
  }
  const std::span<const std::byte> data = Data(*entry);
  if (entry->dtype == DType::kI1) {
    if (const std::optional<size_t> bad = FindBadBool(data); bad.has_value()) {
      return absl::DataLossError(absl::StrCat(file_.path(), ": element ", *bad, " of the BOOL tensor '",
                                              entry->name, "' is neither 0 nor 1"));
    }
  }
  if (reinterpret_cast<uintptr_t>(data.data()) % SizeOf(entry->dtype) == 0) {
    return HostTensor::View(entry->dtype, entry->shape, data.data());
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::Empty(entry->dtype, entry->shape));
  std::ranges::copy(data, MutableBytesOf(copy).begin());
  return copy;
}

absl::Status SafetensorsFile::Verify() const {
  if (checksums_.empty() && !header_.entries.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(file_.path(), ": carries no checksums, it was not written by Sinter"));
  }
  std::vector<std::string> damaged;
  std::string_view rest = checksums_;
  for (const SafetensorsEntry& entry : header_.entries) {
    const std::string_view expected = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), expected.size() + 1));
    if (Checksum(Data(entry)) != expected) damaged.push_back(absl::StrCat("'", entry.name, "'"));
  }
  if (damaged.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file_.path(), ": the checksum is wrong for ", absl::StrJoin(damaged, ", ")));
}

}  // namespace sinter
