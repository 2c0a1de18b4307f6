#include "sinter/runtime/formats/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "zlib.h"

namespace sinter {
namespace {

using Json = nlohmann::json;

constexpr char kMetadataKey[] = "__metadata__";
constexpr char kReserved[] = "sinter.";  // Prefix of Sinter's own keys.
constexpr char kChecksumKey[] = "sinter.checksums", kOldChecksumKey[] = "sinter.crc32";
constexpr size_t kReadBytes = size_t{1} << 20;  // Bytes read at a time by Verify.
constexpr uint64_t kDataAlignment = 64;

uint32_t AddToCrc(uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string CrcText(uint32_t crc) { return absl::StrCat(absl::Hex(crc, absl::kZeroPad8)); }

std::string Checksum(std::span<const std::byte> bytes) { return CrcText(AddToCrc(0, bytes)); }

// Returns the position of the hash's digits in the header text. The key with its quotes occurs nowhere else,
// because quotes inside JSON texts are escaped.
size_t FindHash(std::string_view header) {
  const std::string before = absl::StrCat("\"", kChecksumKey, "\":\"");
  const size_t at = header.find(before);
  if (at == std::string_view::npos || header.size() - at < before.size() + kSha256Digits) return header.npos;
  return at + before.size();
}

// Returns the hash of all bytes before the data, with the digits at `at` replaced by '0'.
std::string HeaderHash(std::string_view header, size_t at) {
  Sha256 hash;
  hash.Update(AsBytes(header.substr(0, at)));
  hash.Update(AsBytes(std::string(kSha256Digits, '0')));
  hash.Update(AsBytes(header.substr(at + kSha256Digits)));
  return HexText(hash.Digest());
}

// Returns the names that share the longest prefix with `name`: a misspelt name probably meant one of them.
std::string NearestNames(std::string_view name, const std::vector<SafetensorsEntry>& entries) {
  size_t longest = 0;
  std::vector<std::string> nearest;
  for (const SafetensorsEntry& entry : entries) {
    const auto [end, unused] = std::ranges::mismatch(entry.name, name);
    const size_t shared = end - entry.name.begin();
    if (shared > longest) nearest.clear();
    longest = std::max(longest, shared);
    if (shared == longest && nearest.size() < 5) nearest.push_back(PrintableText(entry.name));
  }
  return absl::StrJoin(nearest, ", ");
}

absl::Status CheckNames(const std::string& path, std::span<const TensorSource> tensors,
                        const Metadata& metadata) {
  std::vector<std::string> names;
  for (const TensorSource& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path, "': two tensors are named '", PrintableText(*twice), "'"));
  }
  if (std::ranges::binary_search(names, kMetadataKey)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "': no tensor may be named '",
                                                   kMetadataKey, "', the format reserves it"));
  }
  for (const auto& [key, text] : metadata) {
    if (!key.starts_with(kReserved)) continue;
    return absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "': the metadata key '",
                                                   PrintableText(key), "' begins with '", kReserved,
                                                   "', which is reserved for checksums; name it otherwise"));
  }
  return absl::OkStatus();
}

// Writes the values of one tensor and returns their CRC.
absl::StatusOr<uint32_t> AppendValues(const std::string& path, const TensorSource& source, AtomicFile& file) {
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
  return AddToCrc(0, BytesOf(tensor));
}

}  // namespace

// The data order keeps tensors aligned to their elements and does not depend on the given order.
absl::StatusOr<SafetensorsLayout> SafetensorsLayout::Of(std::string path,
                                                        std::span<const TensorSource> tensors,
                                                        Metadata metadata) {
  SINTER_RETURN_IF_ERROR(CheckNames(path, tensors, metadata));
  SafetensorsLayout layout;
  layout.path_ = std::move(path);
  layout.metadata_ = std::move(metadata);
  for (size_t i = 0; i < tensors.size(); ++i) layout.places_.push_back({.source = i});
  std::ranges::sort(layout.places_, [&](const Place& a, const Place& b) {
    const TensorSource &x = tensors[a.source], &y = tensors[b.source];
    const int64_t x_size = SizeOf(x.dtype), y_size = SizeOf(y.dtype);
    return x_size != y_size ? x_size > y_size : x.name < y.name;
  });
  for (Place& place : layout.places_) {
    const TensorSource& tensor = tensors[place.source];
    SINTER_ASSIGN_OR_RETURN(const int64_t bytes, DenseBytes(tensor.dtype, tensor.shape));
    place.begin = layout.data_bytes_;
    place.bytes = static_cast<uint64_t>(bytes);
    layout.data_bytes_ += place.bytes;
    layout.tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, {}});
  }
  const std::vector<uint32_t> zeros(layout.places_.size());
  SINTER_ASSIGN_OR_RETURN(const std::string draft, layout.Header(zeros));
  layout.data_begin_ = draft.size();
  layout.hash_begin_ = FindHash(draft);
  return layout;
}

// The number of bytes does not depend on the checksums' values. It is a multiple of kDataAlignment.
absl::StatusOr<std::string> SafetensorsLayout::Header(std::span<const uint32_t> crcs) const {
  std::string json;
  try {
    Json texts = metadata_;
    std::string sums(kSha256Digits, '0');
    for (const uint32_t crc : crcs) absl::StrAppend(&sums, " ", CrcText(crc));
    texts[kChecksumKey] = sums;
    json = absl::StrCat("{\"", kMetadataKey, "\":", texts.dump());
    for (size_t i = 0; i < places_.size(); ++i) {
      const TensorSource& tensor = tensors_[i];
      absl::StrAppend(&json, ",", Json(tensor.name).dump(), ":{\"dtype\":\"",
                      std::string(SafetensorsTypeName(tensor.dtype)), "\",\"shape\":[",
                      absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[", places_[i].begin, ",",
                      places_[i].begin + places_[i].bytes, "]}");
    }
  } catch (const Json::exception& exception) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write '", path_,
                     "': a name or a metadata text is not UTF-8: ", PrintableText(exception.what())));
  }
  json += '}';
  json.append((kDataAlignment - (8 + json.size()) % kDataAlignment) % kDataAlignment, ' ');
  std::string header;
  AppendLittle<uint64_t>(json.size(), &header);
  header += json;
  const size_t hash = FindHash(header);
  SINTER_CHECK(hash != header.npos);
  return header.replace(hash, kSha256Digits, HeaderHash(header, hash));
}

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
  SINTER_ASSIGN_OR_RETURN(const SafetensorsLayout layout, SafetensorsLayout::Of(path, tensors, metadata));
  // The checksums precede the data but are known only after it: write the header twice and the values once.
  std::vector<uint32_t> crcs(tensors.size());
  SINTER_ASSIGN_OR_RETURN(const std::string draft, layout.Header(crcs));
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SINTER_RETURN_IF_ERROR(file.Write(draft));
  for (size_t i = 0; i < crcs.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(crcs[i], AppendValues(path, tensors[layout.places()[i].source], file));
  }
  SINTER_ASSIGN_OR_RETURN(const std::string header, layout.Header(crcs));
  SINTER_CHECK(header.size() == draft.size()) << header.size() << " and " << draft.size() << " bytes";
  SINTER_RETURN_IF_ERROR(file.Overwrite(0, AsBytes(header)));
  return file.Commit();
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  return WithinMemory(path, [&] { return OpenAndCheck(path); });
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::OpenAndCheck(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(FileReader reader, FileReader::Open(path, /*past_cache=*/true));
  // Read the header's length first, then the whole header. The parser checks the claimed length.
  SINTER_ASSIGN_OR_RETURN(const FileBytes length,
                          FileBytes::Read(reader, 0, std::min<uint64_t>(8, reader.size())));
  uint64_t bytes = length.bytes().size();
  if (bytes == 8) {
    const uint64_t claimed = LoadLittle<uint64_t>(length.bytes().data());
    if (claimed <= kMaxSafetensorsHeaderBytes) bytes = std::min(8 + claimed, reader.size());
  }
  SINTER_ASSIGN_OR_RETURN(const FileBytes header, FileBytes::Read(reader, 0, bytes));
  SafetensorsFile file(std::move(reader));
  SINTER_ASSIGN_OR_RETURN(file.header_, ParseSafetensorsHeader(header.bytes(), file.file_.size(), path));
  SINTER_RETURN_IF_ERROR(file.TakeChecksums(header.bytes()));
  Sha256 hash;
  hash.Update(header.bytes());
  file.header_hash_ = HexText(hash.Digest());
  return file;
}

// Moves the checksums out of the metadata and checks the header's hash.
absl::Status SafetensorsFile::TakeChecksums(std::span<const std::byte> header) {
  const auto damaged = [&](const auto&... parts) {
    return absl::DataLossError(absl::StrCat(file_.path(), ": its header is damaged: ", parts...));
  };
  std::string sums;
  for (auto& [key, text] : header_.metadata) {
    if (!key.starts_with(kReserved)) continue;
    if (checks_ != SafetensorsChecks::kNone || (key != kChecksumKey && key != kOldChecksumKey)) {
      return damaged("it has the metadata key '", PrintableText(key), "', which Sinter does not write");
    }
    checks_ = key == kChecksumKey ? SafetensorsChecks::kWhole : SafetensorsChecks::kData;
    sums = std::move(text);
  }
  std::erase_if(header_.metadata, [](const auto& entry) { return entry.first.starts_with(kReserved); });
  if (checks_ == SafetensorsChecks::kNone) return absl::OkStatus();
  checksums_ = absl::StrSplit(sums, ' ', absl::SkipEmpty());
  if (checks_ == SafetensorsChecks::kWhole) {
    const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
    const size_t at = FindHash(text);
    if (at == text.npos || HeaderHash(text, at) != text.substr(at, kSha256Digits)) {
      return damaged("its hash is not the one in '", kChecksumKey, "'; take another copy of the file");
    }
    checksums_.erase(checksums_.begin());
  }
  if (checksums_.size() == header_.entries.size()) return absl::OkStatus();
  return damaged("it has ", checksums_.size(), " checksums for ", header_.entries.size(), " tensors");
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
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(entry->dtype, entry->shape));
  SINTER_RETURN_IF_ERROR(file_.Read(header_.data_begin + entry->begin, MutableBytesOf(tensor)));
  const std::span<const std::byte> data = BytesOf(tensor);
  const auto damaged = [&](const auto&... parts) {
    return absl::DataLossError(absl::StrCat(file_.path(), ": ", parts...));
  };
  // Checks the returned copy, not the file: another process may write to the file at any time.
  const auto index = static_cast<size_t>(entry - header_.entries.begin());
  if (!checksums_.empty() && Checksum(data) != checksums_[index]) {
    return damaged("the checksum is wrong for '", PrintableText(name), "'");
  }
  if (entry->dtype == DType::kI1) {
    if (const std::optional<size_t> bad = FindBadBool(data); bad.has_value()) {
      return damaged("element ", *bad, " of the BOOL tensor '", PrintableText(name), "' is neither 0 nor 1");
    }
  }
  return tensor;
}

absl::Status SafetensorsFile::ReadData(uint64_t offset, std::span<std::byte> out) const {
  return file_.Read(header_.data_begin + offset, out);
}

absl::StatusOr<std::span<std::byte>> SafetensorsFile::ReadDataPastCache(uint64_t offset, size_t count,
                                                                        std::span<std::byte> room) const {
  return file_.ReadPastCache(header_.data_begin + offset, count, room);
}

bool SafetensorsFile::HasCrc(size_t entry, uint32_t crc) const {
  return checksums_.empty() || checksums_[entry] == CrcText(crc);
}

absl::Status SafetensorsFile::Verify() const {
  if (checks_ == SafetensorsChecks::kNone) {
    return absl::FailedPreconditionError(
        absl::StrCat(file_.path(), ": carries no checksums, it was not written by Sinter"));
  }
  std::vector<std::string> damaged;
  uint64_t largest = 0;
  for (const SafetensorsEntry& entry : header_.entries) largest = std::max(largest, entry.end - entry.begin);
  std::vector<std::byte> block(std::min<uint64_t>(largest, kReadBytes));
  for (size_t i = 0; i < header_.entries.size(); ++i) {
    const SafetensorsEntry& entry = header_.entries[i];
    uint32_t crc = 0;
    for (uint64_t at = entry.begin; at < entry.end;) {
      const std::span<std::byte> piece =
          std::span(block).first(std::min<uint64_t>(entry.end - at, block.size()));
      SINTER_RETURN_IF_ERROR(file_.Read(header_.data_begin + at, piece));
      crc = AddToCrc(crc, piece);
      at += piece.size();
    }
    if (CrcText(crc) != checksums_[i]) damaged.push_back(absl::StrCat("'", PrintableText(entry.name), "'"));
  }
  if (damaged.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file_.path(), ": the checksum is wrong for ", absl::StrJoin(damaged, ", ")));
}

}  // namespace sinter
