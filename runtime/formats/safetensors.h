// Reads and writes safetensors files: named tensors, each readable alone, and text metadata.
//
//   SINTER_RETURN_IF_ERROR(SaveSafetensors("model.safetensors", tensors, {{"step", "100"}}));
//
//   SINTER_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open("model.safetensors"));
//   SINTER_ASSIGN_OR_RETURN(HostTensor w, file.Get("encoder.weight"));
//
// Layout: the header's length (u64); the header (JSON: name -> dtype, shape, data_offsets; "__metadata__" ->
// texts; then spaces); the data, little-endian, row-major, without holes. The writer starts the data at a
// multiple of 64 bytes and orders tensors by element size, widest first, then by name. So every tensor is
// aligned for its type, and equal tensors and metadata give equal bytes in whatever order they were given. i1
// is the format's BOOL.
//
// Open verifies the header as untrusted bytes. Sinter adds checksums to find damage, which the format itself
// does not detect. They are in the metadata under "sinter.checksums" (metadata() leaves this key out): the
// SHA-256 of all bytes before the data, computed with its own 64 digits as '0', then the CRC-32 of each
// tensor in data order. Together they cover every bit of the file. Open checks the hash; Get and Verify check
// the CRCs. Processes that have parts of a tensor make and check its CRC together (part_crc.h).
//
// Older files have "sinter.crc32" instead, with only the CRC-32s: their names, shapes and metadata are not
// covered. Saving their contents again gives a fully covered file.
#ifndef SINTER_RUNTIME_FORMATS_SAFETENSORS_H_
#define SINTER_RUNTIME_FORMATS_SAFETENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/tensor/named_tensor.h"

namespace sinter {

using Metadata = std::map<std::string, std::string>;

// Writes the whole file or nothing. InvalidArgument if two tensors have one name, a name is "__metadata__", a
// metadata key begins with "sinter.", or a text is not UTF-8.
absl::Status SaveSafetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const Metadata& metadata = {});

// A tensor to write and the source of its values.
//
//   TensorSource{"w", DType::kF32, {2, 3}, [&] { return session.ViewVariable("w"); }}
struct TensorSource {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  // Called once. Returns a view, or a copy for values in another device's memory. The writer releases the
  // tensor before it calls the next source.
  std::function<absl::StatusOr<HostTensor>()> read;
};

// Writes the same file as SaveSafetensors, but the tensors need not fit in main memory together: it holds the
// result of one source at a time. Errors also: a source's own error; InvalidArgument if a source is missing
// or returns another element type or shape than declared. After any error the old file is unchanged.
absl::Status SaveSafetensorsOneByOne(const std::string& path, std::span<const TensorSource> tensors,
                                     const Metadata& metadata = {});

// The bytes of a file but for the tensors' values, and the places of these: for values that several writers
// write in parts. `read` of the sources is not used.
//
//   SINTER_ASSIGN_OR_RETURN(SafetensorsLayout layout, SafetensorsLayout::Of(path, tensors, metadata));
//   for (const SafetensorsLayout::Place& place : layout.places()) ...  // Write tensors[place.source].
//   SINTER_ASSIGN_OR_RETURN(std::string header, layout.Header(crcs));  // In the order of places().
class SafetensorsLayout {
 public:
  struct Place {
    size_t source;   // Index into the tensors.
    uint64_t begin;  // From the end of the header.
    uint64_t bytes;
  };

  // `path` is for errors, which are those of SaveSafetensors.
  static absl::StatusOr<SafetensorsLayout> Of(std::string path, std::span<const TensorSource> tensors,
                                              Metadata metadata);

  std::span<const Place> places() const { return places_; }  // In data order.
  uint64_t data_begin() const { return data_begin_; }
  uint64_t file_bytes() const { return data_begin_ + data_bytes_; }
  // All bytes before the data. `crcs`: the CRC-32 of each tensor, in data order.
  absl::StatusOr<std::string> Header(std::span<const uint32_t> crcs) const;
  // Place of the header's hash, of 64 digits.
  uint64_t hash_begin() const { return hash_begin_; }

 private:
  SafetensorsLayout() = default;

  std::string path_;
  std::vector<TensorSource> tensors_;  // In data order.
  Metadata metadata_;
  std::vector<Place> places_;
  uint64_t data_begin_ = 0, data_bytes_ = 0, hash_begin_ = 0;
};

// The place of one tensor: the header's data_offsets, relative to the end of the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // The format's own limit.

// A verified header. Entries are in data order.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  Metadata metadata;
  uint64_t data_begin = 0;  // Offset of the data in the file.
};

// Returns the name of the type in a header, such as "BF16".
std::string_view SafetensorsTypeName(DType dtype);

// Parses and verifies the header of a file of `file_bytes`. `bytes` is the beginning of the file and includes
// at least the header. Errors call the file `name`. DataLoss for anything that the format forbids, with the
// tensor or byte concerned; Unimplemented for an element type that Sinter lacks; ResourceExhausted if memory
// is short.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> bytes,
                                                         uint64_t file_bytes, const std::string& name);
// Like the above, for a whole file in memory.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> bytes,
                                                         const std::string& name);

// The part of a file that its checksums cover.
enum class SafetensorsChecks {
  kNone,   // None: another program's file.
  kData,   // The tensors' values: an older Sinter file.
  kWhole,  // Every bit.
};

class SafetensorsFile {
 public:
  // DataLoss if ParseSafetensorsHeader refuses the header or its hash is wrong. ResourceExhausted if there is
  // no memory for the header.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  // Returns the names in data order.
  std::vector<std::string> names() const;
  const Metadata& metadata() const { return header_.metadata; }
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  SafetensorsChecks checks() const { return checks_; }

  // Reads one tensor. NotFound names the file's nearest tensors; DataLoss if its checksum is wrong or a BOOL
  // tensor has elements other than 0 and 1; ResourceExhausted if there is no memory for it.
  absl::StatusOr<HostTensor> Get(std::string_view name) const;

  // Reads bytes of the data, whose offset is from the end of the header, and checks nothing.
  absl::Status ReadData(uint64_t offset, std::span<std::byte> out) const;
  // The same for large reads of bytes that are read once: FileReader::ReadPastCache.
  absl::StatusOr<std::span<std::byte>> ReadDataPastCache(uint64_t offset, size_t count,
                                                         std::span<std::byte> room) const;
  // True if this is the CRC-32 of entry `entry`, or if the file has no checksums.
  bool HasCrc(size_t entry, uint32_t crc) const;
  // The SHA-256 of all bytes before the data: 64 digits.
  const std::string& header_hash() const { return header_hash_; }
  const std::string& path() const { return file_.path(); }

  // Reads all data and checks the CRCs. DataLoss names the damaged tensors. FailedPrecondition if the file
  // has no checksums, because another program wrote it.
  absl::Status Verify() const;

 private:
  explicit SafetensorsFile(FileReader file) : file_(std::move(file)) {}
  static absl::StatusOr<SafetensorsFile> OpenAndCheck(const std::string& path);
  absl::Status TakeChecksums(std::span<const std::byte> header);

  FileReader file_;
  SafetensorsHeader header_;
  SafetensorsChecks checks_ = SafetensorsChecks::kNone;
  std::string header_hash_;
  std::vector<std::string> checksums_;  // One CRC per entry, in order; empty if the file has none.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_SAFETENSORS_H_
