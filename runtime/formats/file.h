// Files in and out: writing that either happens completely or not at all, and reading that copies, so that nobody can
// change what was read.
//
//   SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create("model.safetensors"));
//   SINTER_RETURN_IF_ERROR(file.Write(header));
//   SINTER_RETURN_IF_ERROR(file.Commit());       // Until here "model.safetensors" is what it was before.
//
//   SINTER_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Read("lenet.plan"));
//   file.bytes();                                // std::span<const std::byte>, valid as long as `file`.
//
//   SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open("tokens.bin"));
//   SINTER_RETURN_IF_ERROR(file.Read(offset, out));        // A part of a file that need not fit in memory.
//
// Nothing is mapped: what another process writes into a mapped file changes what was checked before, and a mapped file
// that is shortened ends the process with SIGBUS.
//
// Errors carry the code that errno stands for (NotFound, PermissionDenied, ResourceExhausted for a full disk,
// ...), and their message names the file and what the system said.
#ifndef SINTER_RUNTIME_FORMATS_FILE_H_
#define SINTER_RUNTIME_FORMATS_FILE_H_

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
// untouched. A process that is killed leaves its temporary file behind (".<name>.<process>-<number>.tmp"): the next
// Create for the same path removes it, by the lock on it that ends with its writer. A symbolic link is followed, so
// that what it points at is replaced and the link stays; the permissions of a replaced file are kept. Paths that name
// something other than a regular file (a folder, a device) are refused.
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

// A regular file, open for reading. Movable; Read may be called by several threads at once.
class FileReader {
 public:
  static absl::StatusOr<FileReader> Open(const std::string& path);

  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  // Fills `out` with the bytes from `offset` on. DataLoss when the file ends before, as one does that another process
  // has shortened since it was opened.
  absl::Status Read(uint64_t offset, std::span<std::byte> out) const;

  // In bytes, when it was opened.
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  FileReader() = default;

  int fd_ = -1;
  uint64_t size_ = 0;
  std::string path_;
};

// The bytes of a regular file, or of a part of it, in memory of this process alone. They start at a multiple of 512.
class FileBytes {
 public:
  // ResourceExhausted: the file has more than `max_bytes`, or the main memory has no room.
  static absl::StatusOr<FileBytes> Read(const std::string& path, uint64_t max_bytes = UINT64_MAX);
  // The `count` bytes from `offset` on. Errors as those of FileReader::Read.
  static absl::StatusOr<FileBytes> Read(const FileReader& file, uint64_t offset, uint64_t count);

  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  const std::string& path() const { return path_; }

 private:
  FileBytes() = default;

  std::span<const std::byte> bytes_;
  std::string path_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_FILE_H_
