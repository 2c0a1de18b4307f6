// Reads and writes zip archives as .npz files need: stored or deflated members, zip64 sizes, CRC-32.
//
//   SINTER_ASSIGN_OR_RETURN(std::vector<ZipMember> members, ReadZipDirectory(file.bytes(), "weights.npz"));
//   ZipMemberReader reader(members[0], "weights.npz");
//   SINTER_RETURN_IF_ERROR(reader.Read(first_bytes));
//   SINTER_RETURN_IF_ERROR(reader.Finish());                 // The whole member was read; its CRC matches.
//
// The directory is verified as untrusted bytes: every member is inside the archive, no two overlap, no name
// repeats, and no deflated member claims more bytes than its compressed bytes can hold. Encrypted members,
// other compression methods and split archives are errors. The writer uses a fixed time stamp, so equal
// members give equal bytes.
#ifndef SINTER_RUNTIME_FORMATS_ZIP_ARCHIVE_H_
#define SINTER_RUNTIME_FORMATS_ZIP_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/inflate.h"

namespace sinter {

struct ZipMember {
  std::string name;
  uint64_t size = 0;  // Bytes after inflating.
  uint32_t crc = 0;
  bool deflated = false;
  std::span<const std::byte> packed;  // The member's bytes in the archive.
};

// Returns the members in directory order; `packed` points into `archive`. Errors call the archive `name`.
absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(std::span<const std::byte> archive,
                                                        const std::string& name);

// Reads one member from its beginning. The archive's bytes must outlive the reader.
class ZipMemberReader {
 public:
  ZipMemberReader(const ZipMember& member, const std::string& archive_name);

  // Fills `out`. DataLoss if the member is damaged or has too few bytes left.
  absl::Status Read(std::span<std::byte> out);

  // DataLoss unless everything was read and the checksum holds.
  absl::Status Finish();

 private:
  std::string name_;  // "archive.npz(member.npy)"
  uint64_t left_;
  uint32_t expected_crc_;
  uint32_t crc_ = 0;
  std::span<const std::byte> stored_;
  std::optional<Inflater> inflater_;
};

// Writes an archive through AtomicFile: it appears as a whole at Commit, or never.
class ZipWriter {
 public:
  static absl::StatusOr<ZipWriter> Create(const std::string& path);

  // Adds a member made of `pieces` in order. `compress` deflates it (in memory) if that makes it smaller.
  absl::Status Add(const std::string& name, std::span<const std::span<const std::byte>> pieces,
                   bool compress);

  absl::Status Commit();

 private:
  explicit ZipWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  std::string directory_;
  uint64_t num_members_ = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_ZIP_ARCHIVE_H_
