// The safetensors format: named tensors and text metadata in one file, of which any tensor can be read by itself.
//
//   SINTER_RETURN_IF_ERROR(SaveSafetensors("model.safetensors", tensors, {{"step", "100"}}));
//
//   SINTER_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open("model.safetensors"));
//   SINTER_ASSIGN_OR_RETURN(HostTensor w, file.Get("encoder.weight"));
//
// Layout: the header's length (u64), the header (JSON: name -> dtype, shape, data_offsets; "__metadata__" ->
// texts; then spaces), the data, little-endian and row-major, without holes. Written with the data at a multiple of
// 64 bytes and the widest element types first, then by name, so that every tensor is aligned for its type and
// the same tensors and metadata give the same bytes whatever order they came in. i1 is the format's BOOL.
//
// The header is verified as untrusted bytes at Open. Damage, which no format shows, is found by checksums, which files
// written here carry in the metadata under "sinter.checksums" (metadata() leaves it out): the SHA-256 of all in front of
// the data, taken with its own 64 digits as '0', and then the CRC-32 of each tensor in the data's order. Together they
// cover every bit of the file. Open compares the first, Get and Verify the others.
//
// Files of before have "sinter.crc32" in its place, the CRC-32s alone: their names, shapes and metadata are not covered.
// Saving what they hold makes a file that is covered whole.
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

// Writes the file whole or not at all. InvalidArgument: two tensors of one name, a name that is
// "__metadata__", a metadata key that begins with "sinter.", or a text that is not UTF-8.
absl::Status SaveSafetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const Metadata& metadata = {});

// A tensor to write, and where its values come from.
//
//   TensorSource{"w", DType::kF32, {2, 3}, [&] { return session.ViewVariable("w"); }}
struct TensorSource {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  // Called once. A view, or a copy made for the purpose, as values from another device's memory need: it is written
  // and gone before the next source is asked.
  std::function<absl::StatusOr<HostTensor>()> read;
};

// The same file as SaveSafetensors, from tensors that need not all be in main memory at once: no more of it is taken
// than the sources take one at a time. Errors besides: a source's own, and InvalidArgument for a source that gives
// another element type or shape than it has said, or that cannot be read. After any of them the old file is what it was.
absl::Status SaveSafetensorsOneByOne(const std::string& path, std::span<const TensorSource> tensors,
                                     const Metadata& metadata = {});

// Where one tensor lies: data_offsets of the header, counted from the end of the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // The format's own limit.

// A verified header: entries in the order of their data.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  Metadata metadata;
  uint64_t data_begin = 0;  // Where the data begins in the file.
};

// Its name in a header, such as "BF16".
std::string_view SafetensorsTypeName(DType dtype);

// Reads and verifies the header of a file of `file_bytes`, whose beginning `bytes` are: the header at least. `name` is
// what errors call it. DataLoss for anything that the format forbids, with the tensor or the byte concerned;
// Unimplemented for an element type that we do not have; ResourceExhausted: no memory for what it says.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> bytes,
                                                         uint64_t file_bytes, const std::string& name);
// The same for a file that is in memory as a whole.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> bytes,
                                                         const std::string& name);

// How much of a file its checksums cover.
enum class SafetensorsChecks {
  kNone,   // Another program's file.
  kData,   // The tensors' values: a file of Sinter before the header was covered.
  kWhole,  // Every bit.
};

class SafetensorsFile {
 public:
  // DataLoss: what ParseSafetensorsHeader refuses, and a header that is not what was written. ResourceExhausted: no memory
  // for the header.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  // Names in the order of the data.
  std::vector<std::string> names() const;
  const Metadata& metadata() const { return header_.metadata; }
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  SafetensorsChecks checks() const { return checks_; }

  // Reads the tensor of that name. NotFound names the file's nearest tensors; DataLoss: its checksum is wrong, or
  // a BOOL tensor has elements other than 0 and 1; ResourceExhausted: no memory for it.
  absl::StatusOr<HostTensor> Get(std::string_view name) const;

  // Reads all data and compares the checksums; DataLoss names the damaged tensors. FailedPrecondition: the
  // file was written by something else and carries none.
  absl::Status Verify() const;

 private:
  explicit SafetensorsFile(FileReader file) : file_(std::move(file)) {}
  static absl::StatusOr<SafetensorsFile> OpenAndCheck(const std::string& path);
  absl::Status TakeChecksums(std::span<const std::byte> header);

  FileReader file_;
  SafetensorsHeader header_;
  SafetensorsChecks checks_ = SafetensorsChecks::kNone;
  std::vector<std::string> checksums_;  // Of the entries, in their order; empty if there are none.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_SAFETENSORS_H_
