// Files in and out: writing that either happens completely or not at all, and read-only mapping.
//
//   SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create("model.safetensors"));
//   SINTER_RETURN_IF_ERROR(file.Write(header));
//   SINTER_RETURN_IF_ERROR(file.Commit());       // Until here "model.safetensors" is what it was before.
//
//   SINTER_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open("model.safetensors"));
//   file.bytes();                                // std::span<const std::byte>, valid as long as `file`.
//
// Errors carry the code that errno stands for (NotFound, PermissionDenied, ResourceExhausted for a full disk,
// ...), and their message names the file and what the system said.
#ifndef SINTER_RUNTIME_FILE_H_
#define SINTER_RUNTIME_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

// The bytes of a string or of a vector of trivially copyable elements, as Write wants them.
inline std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Replaces a file as a whole. The bytes go to a temporary file in the same folder; Commit makes them durable
// and renames. Any error, and destruction without Commit, removes the temporary file and leaves the old file
// untouched. A symbolic link is followed, so that what it points at is replaced and the link stays; the
// permissions of a replaced file are kept. Paths that name something other than a regular file (a folder, a
// device) are refused.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // Appends. After an error every later call returns that error again.
  absl::Status Write(std::span<const std::byte> bytes);
  absl::Status Write(std::string_view text) { return Write(AsBytes(text)); }
  // Replaces bytes that were written already, from `offset` on: for what is known only after what follows it, such
  // as a checksum in a header. InvalidArgument when not all of them were written. Otherwise as Write.
  absl::Status Overwrite(int64_t offset, std::span<const std::byte> bytes);

  // fsync, rename over the target, fsync of the folder. No more writes after it.
  absl::Status Commit();

  // Bytes written so far.
  int64_t size() const { return size_; }

 private:
  AtomicFile() = default;
  absl::Status WriteAt(int64_t offset, std::span<const std::byte> bytes);
  absl::Status Fail(absl::Status status);
  void Discard();

  int fd_ = -1;
  int64_t size_ = 0;
  std::string path_;       // The target, symbolic links resolved.
  std::string temporary_;  // Empty once renamed or removed.
  absl::Status status_;
};

// Create, Write, Commit in one call.
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents);

// A regular file, mapped read-only. Another process that shortens the file in place while it is mapped makes
// reads fail with SIGBUS; replacing it, as AtomicFile does, is safe: the mapping keeps the old contents.
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;

  std::span<const std::byte> bytes_;
  std::string path_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_FILE_H_
