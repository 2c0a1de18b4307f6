// Atomic writing of files, and reading into private memory.
//
// A write happens completely or not at all. Other processes cannot change data after it was read.
//
//   SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create("model.safetensors"));
//   SINTER_RETURN_IF_ERROR(file.Write(header));
//   SINTER_RETURN_IF_ERROR(file.Commit());       // Until here "model.safetensors" is unchanged.
//
//   SINTER_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Read("lenet.plan"));
//   file.bytes();                                // std::span<const std::byte>, valid as long as `file`.
//
//   SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open("tokens.bin"));
//   SINTER_RETURN_IF_ERROR(file.Read(offset, out));        // Part of a file that may exceed the memory.
//
// No file is mapped. Another process could change a mapped file after the checks, and shortening it ends this
// process with SIGBUS.
//
// Errors have the code that fits errno (NotFound, PermissionDenied, ResourceExhausted for a full disk, ...).
// The message names the file and the system's reason.
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

// The bytes of a string, for Write.
inline std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Replaces a whole file. Writes go to a temporary file in the same folder; Commit makes them durable and
// renames the file. An error, or destruction without Commit, removes the temporary file and leaves the old
// file unchanged. A killed process leaves its temporary file (".<name>.<process>-<number>.tmp"). The next
// Create for the same path removes that file, because its writer's lock on it is gone. If the path is a
// symbolic link, the link's target is replaced. The permissions of a replaced file are kept. Create refuses
// paths of anything other than a regular file (a folder, a device).
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // Appends. After an error every later call returns the same error.
  absl::Status Write(std::span<const std::byte> bytes);
  absl::Status Write(std::string_view text) { return Write(AsBytes(text)); }
  // Replaces bytes already written, starting at `offset`: for values known only later, such as a checksum in
  // a header. InvalidArgument if any of these bytes is not yet written. Other errors as for Write.
  absl::Status Overwrite(int64_t offset, std::span<const std::byte> bytes);

  // Sets the file's size; new bytes are 0 and count as written. For a file whose parts several processes
  // write (SharedFile). Errors as for Write.
  absl::Status Resize(int64_t size);
  // Makes durable what is written so far, so that processes on other machines see it.
  absl::Status Sync();
  // The name of the temporary file in its folder.
  std::string temporary_name() const;

  // Calls fsync, renames the file over the target, and calls fsync on the folder. No writes are allowed
  // afterwards.
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

// The temporary file of an AtomicFile, which this or another process has made and sized: for the parts that
// this process writes. The maker commits it after all writers have called Sync.
//
//   SINTER_ASSIGN_OR_RETURN(SharedFile file, SharedFile::Open("model.safetensors", name_of_rank_0));
//   SINTER_RETURN_IF_ERROR(file.Write(offset, bytes));
//   SINTER_RETURN_IF_ERROR(file.Sync());
class SharedFile {
 public:
  // Bytes whose address and offset in the file are equal modulo this number go past the page cache where the
  // file system can do so, except for the first and the last few: the cache limits the rate of a quick disk.
  static constexpr size_t kAlignment = 4096;

  // `path`: as given to AtomicFile::Create. `name`: AtomicFile::temporary_name. NotFound if this process sees
  // another folder than the maker.
  static absl::StatusOr<SharedFile> Open(const std::string& path, const std::string& name);

  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  // Fills `out` with the bytes from `offset` on. DataLoss if the file ends before. Call it before Write.
  absl::Status Read(uint64_t offset, std::span<std::byte> out) const;
  // Several threads may write different bytes.
  absl::Status Write(int64_t offset, std::span<const std::byte> bytes) const;
  // Makes durable what this process has written.
  absl::Status Sync();

 private:
  SharedFile() = default;

  int fd_ = -1;
  int direct_fd_ = -1;  // Past the page cache; -1 if the file system cannot.
  std::string path_;
};

// Calls Create, Write and Commit.
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents);

// A regular file, open for reading. Movable. Several threads may call Read concurrently.
class FileReader {
 public:
  // `past_cache`: ReadPastCache may leave the page cache out.
  static absl::StatusOr<FileReader> Open(const std::string& path, bool past_cache = false);

  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  // Fills `out` with the bytes that start at `offset`. DataLoss if the file ends before, for example because
  // another process has shortened the file since Open.
  absl::Status Read(uint64_t offset, std::span<std::byte> out) const;
  // Returns the `count` bytes from `offset` on, in `room`: for large reads of bytes that are read once. After
  // the first bytes, as far as the page cache has them, the others are read past it where the file system can
  // do so, for the cache limits the rate of a quick disk. `room` is aligned to SharedFile::kAlignment and has
  // RoomFor(count) bytes. Errors as for Read.
  absl::StatusOr<std::span<std::byte>> ReadPastCache(uint64_t offset, size_t count,
                                                     std::span<std::byte> room) const;
  static constexpr size_t RoomFor(size_t count) { return count + 2 * SharedFile::kAlignment; }

  // Size in bytes at Open.
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  FileReader() = default;

  // Returns the number of bytes from `offset` on that the page cache has, at most `count`.
  size_t CachedBytes(uint64_t offset, size_t count) const;

  int fd_ = -1;
  int direct_fd_ = -1;  // Past the page cache; -1 if the file system cannot.
  uint64_t size_ = 0;
  void* map_ = nullptr;  // The whole file, to see what the page cache has. Never read. Null: none.
  std::string path_;
};

// The bytes of a regular file, or of a part of it, in memory of this process alone, aligned to 512.
class FileBytes {
 public:
  // ResourceExhausted: the file has more than `max_bytes`, or main memory has no room.
  static absl::StatusOr<FileBytes> Read(const std::string& path, uint64_t max_bytes = UINT64_MAX);
  // Reads `count` bytes, starting at `offset`. Errors as for FileReader::Read.
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
