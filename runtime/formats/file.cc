#include "sinter/runtime/formats/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {
namespace {

absl::Status ErrnoError(int error, absl::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", action, " '", path, "'"));
}

absl::Status RefuseIrregular(absl::string_view action, const std::string& path, mode_t mode) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", action, " '", path, "': it is ",
                   S_ISDIR(mode) ? "a folder; name a file in it" : "not a regular file"));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string BaseOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Returns the prefix of the temporary files for a path, short enough for every file system.
std::string TemporaryPrefix(const std::string& path) {
  return absl::StrCat(".", BaseOf(path).substr(0, 180), ".");
}
constexpr std::string_view kTemporarySuffix = ".tmp";

// Returns a name that no other writer in any process uses.
std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(FolderOf(path), "/", TemporaryPrefix(path), getpid(), "-", counter.fetch_add(1),
                      std::string(kTemporarySuffix));
}

bool IsTemporaryName(std::string_view name, std::string_view prefix) {
  if (name.size() < prefix.size() + kTemporarySuffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(kTemporarySuffix)) {
    return false;
  }
  name = name.substr(prefix.size(), name.size() - prefix.size() - kTemporarySuffix.size());
  const size_t dash = name.find('-');
  constexpr std::string_view kDigits = "0123456789";
  return dash != std::string_view::npos && dash > 0 && dash + 1 < name.size() &&
         name.find_first_not_of(kDigits) == dash &&
         name.find_first_not_of(kDigits, dash + 1) == std::string_view::npos;
}

int OpenRetrying(const char* path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Locks a temporary file, to show other processes that its writer is alive. False if another process has
// taken the file for a leftover and removes it. On file systems without locks no leftovers are removed.
bool LockTemporary(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat info{};
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

// Removes the temporary files of killed writers of `path`: a lock ends with its process.
void RemoveLeftovers(const std::string& path) {
  const std::string folder = FolderOf(path), prefix = TemporaryPrefix(path);
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* const entry = readdir(entries)) {
    if (!IsTemporaryName(entry->d_name, prefix)) continue;
    const std::string name = absl::StrCat(folder, "/", entry->d_name);
    const int fd = OpenRetrying(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    struct stat info{};
    const bool is_ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
    if (is_ours && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(name.c_str());
    close(fd);
  }
  closedir(entries);
}

// Fewer bytes are not worth a read or write of their own.
constexpr size_t kLeastDirectBytes = size_t{64} << 10;

absl::Status WriteFully(int fd, const std::string& path, int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Linux writes at most 2 GiB per call. A smaller chunk keeps the return value in range on all systems.
    const size_t chunk = std::min<size_t>(bytes.size(), size_t{1} << 30);
    const ssize_t written = pwrite(fd, bytes.data(), chunk, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return ErrnoError(written < 0 ? errno : ENOSPC, "write", path);
    bytes = bytes.subspan(written);
    offset += written;
  }
  return absl::OkStatus();
}

absl::Status ReadFully(int fd, const std::string& path, uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    if (offset > static_cast<uint64_t>(INT64_MAX)) {
      return absl::DataLossError(absl::StrCat(path, ": the file is cut short: it has no byte ", offset));
    }
    const size_t chunk = std::min<size_t>(out.size(), size_t{1} << 30);
    const ssize_t got = pread(fd, out.data(), chunk, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, "read", path);
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path, ": the file is cut short: ", out.size(),
                                              " bytes were to follow after ", offset));
    }
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

// Reads past the page cache until the file ends or cannot be read so, and returns the number of bytes. The
// offset, the address and the size of `out` are multiples of SharedFile::kAlignment.
size_t ReadDirect(int fd, uint64_t offset, std::span<std::byte> out) {
  size_t have = 0;
  while (have < out.size() && have % SharedFile::kAlignment == 0) {
    const ssize_t got = pread(fd, out.data() + have, out.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  return have;
}

// The path with its symbolic links resolved; the path itself if there is no such file.
std::string ResolvedPath(const std::string& path) {
  char* const resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string text = resolved;
  std::free(resolved);
  return text;
}

absl::Status SyncFolder(const std::string& folder) {
  const int fd = OpenRetrying(folder.c_str(), O_RDONLY | O_DIRECTORY);
  // A folder that is writable but not readable cannot be synced. The rename has already happened.
  if (fd < 0) return errno == EACCES ? absl::OkStatus() : ErrnoError(errno, "open the folder", folder);
  // Some file systems have no fsync for folders (EINVAL): there the rename cannot be made more durable.
  const int error = fsync(fd) != 0 && errno != EINVAL ? errno : 0;
  close(fd);
  return error == 0 ? absl::OkStatus() : ErrnoError(error, "make durable the folder", folder);
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("cannot write a file: its path is empty");
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("cannot write a file: its path holds a zero byte");
  }
  AtomicFile file;
  file.path_ = ResolvedPath(path);
  struct stat old{};
  const bool exists = stat(file.path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) return ErrnoError(errno, "write", path);
  if (exists && !S_ISREG(old.st_mode)) return RefuseIrregular("write", path, old.st_mode);
  // A rename would bypass the protection of a read-only file.
  if (exists && access(file.path_.c_str(), W_OK) != 0) return ErrnoError(errno, "write", path);
  RemoveLeftovers(file.path_);
  // A name is in use only if a crashed process with the same id left its file on a file system without locks.
  for (int attempt = 0; file.fd_ < 0; ++attempt) {
    std::string name = TemporaryName(file.path_);
    file.fd_ = OpenRetrying(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file.fd_ < 0) {
      if (errno != EEXIST || attempt == 100) return ErrnoError(errno, "create a file beside", path);
      continue;
    }
    file.temporary_ = std::move(name);
    if (LockTemporary(file.fd_)) continue;
    file.Discard();
    if (attempt == 100) return absl::UnavailableError(absl::StrCat("cannot lock a file beside '", path, "'"));
  }
  if (exists && fchmod(file.fd_, old.st_mode & 07777) != 0) {
    return file.Fail(ErrnoError(errno, "keep the permissions of", path));
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      status_(std::move(other.status_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    Discard();
    fd_ = std::exchange(other.fd_, -1);
    size_ = other.size_;
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, std::string());
    status_ = std::move(other.status_);
  }
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (!temporary_.empty()) unlink(std::exchange(temporary_, std::string()).c_str());
}

absl::Status AtomicFile::Fail(absl::Status status) {
  Discard();
  status_ = status;
  return status;
}

absl::Status AtomicFile::Write(std::span<const std::byte> bytes) { return WriteAt(size_, bytes); }

absl::Status AtomicFile::Overwrite(int64_t offset, std::span<const std::byte> bytes) {
  SINTER_RETURN_IF_ERROR(status_);
  const int64_t count = static_cast<int64_t>(bytes.size());
  if (offset < 0 || count > size_ || offset > size_ - count) {
    return absl::InvalidArgumentError(absl::StrCat("cannot overwrite ", count, " bytes from ", offset,
                                                   " on in '", path_, "': only ", size_,
                                                   " are written, append with Write"));
  }
  return WriteAt(offset, bytes);
}

absl::Status AtomicFile::WriteAt(int64_t offset, std::span<const std::byte> bytes) {
  SINTER_RETURN_IF_ERROR(status_);
  if (fd_ < 0) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write '", path_, "': it is committed already"));
  }
  if (absl::Status status = WriteFully(fd_, path_, offset, bytes); !status.ok())
    return Fail(std::move(status));
  size_ = std::max(size_, offset + static_cast<int64_t>(bytes.size()));
  return absl::OkStatus();
}

absl::Status AtomicFile::Resize(int64_t size) {
  SINTER_RETURN_IF_ERROR(status_);
  if (fd_ < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot resize '", path_, "': it is committed already"));
  }
  if (ftruncate(fd_, size) != 0) return Fail(ErrnoError(errno, "resize", path_));
  size_ = size;
  return absl::OkStatus();
}

absl::Status AtomicFile::Sync() {
  SINTER_RETURN_IF_ERROR(status_);
  return fsync(fd_) == 0 ? absl::OkStatus() : Fail(ErrnoError(errno, "make durable", path_));
}

std::string AtomicFile::temporary_name() const { return BaseOf(temporary_); }

// For writing alone: a client of NFS would otherwise read the pages that it writes in part, and write them
// back whole, with old bytes in the places of other processes.
absl::StatusOr<SharedFile> SharedFile::Open(const std::string& path, const std::string& name) {
  SharedFile file;
  file.path_ = absl::StrCat(FolderOf(ResolvedPath(path)), "/", name);
  file.fd_ = OpenRetrying(file.path_.c_str(), O_WRONLY | O_NOFOLLOW);
  if (file.fd_ < 0) return ErrnoError(errno, "open", file.path_);
  file.direct_fd_ = OpenRetrying(file.path_.c_str(), O_WRONLY | O_NOFOLLOW | O_DIRECT);
  return file;
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      direct_fd_(std::exchange(other.direct_fd_, -1)),
      path_(std::move(other.path_)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(direct_fd_, other.direct_fd_);
  std::swap(path_, other.path_);
  return *this;
}

SharedFile::~SharedFile() {
  if (fd_ >= 0) close(fd_);
  if (direct_fd_ >= 0) close(direct_fd_);
}

absl::Status SharedFile::Read(uint64_t offset, std::span<std::byte> out) const {
  const int fd = OpenRetrying(path_.c_str(), O_RDONLY | O_NOFOLLOW);
  if (fd < 0) return ErrnoError(errno, "open", path_);
  const absl::Status status = ReadFully(fd, path_, offset, out);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);  // So that no page is held which is then written in part.
  close(fd);
  return status;
}

absl::Status SharedFile::Write(int64_t offset, std::span<const std::byte> bytes) const {
  const size_t head = (kAlignment - static_cast<size_t>(offset) % kAlignment) % kAlignment;
  if (direct_fd_ < 0 || bytes.size() < head + kLeastDirectBytes ||
      (reinterpret_cast<uintptr_t>(bytes.data()) + head) % kAlignment != 0) {
    return WriteFully(fd_, path_, offset, bytes);
  }
  const size_t middle = (bytes.size() - head) / kAlignment * kAlignment;
  // Pages are written by one way alone: no page of the middle is in the page cache.
  absl::Status direct =
      WriteFully(direct_fd_, path_, offset + static_cast<int64_t>(head), bytes.subspan(head, middle));
  // The device needs a larger alignment, for example.
  if (absl::IsInvalidArgument(direct)) return WriteFully(fd_, path_, offset, bytes);
  SINTER_RETURN_IF_ERROR(direct);
  SINTER_RETURN_IF_ERROR(WriteFully(fd_, path_, offset, bytes.first(head)));
  return WriteFully(fd_, path_, offset + static_cast<int64_t>(head + middle), bytes.subspan(head + middle));
}

absl::Status SharedFile::Sync() {
  return fsync(fd_) == 0 ? absl::OkStatus() : ErrnoError(errno, "make durable", path_);
}

absl::Status AtomicFile::Commit() {
  SINTER_RETURN_IF_ERROR(status_);
  if (fd_ < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot commit '", path_, "': it is committed already"));
  }
  if (fsync(fd_) != 0) return Fail(ErrnoError(errno, "make durable", path_));
  // Rename before close: without the lock, another process would remove the file as a leftover. After fsync,
  // close cannot report new errors.
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return Fail(ErrnoError(errno, "replace", path_));
  temporary_.clear();
  close(std::exchange(fd_, -1));
  return SyncFolder(FolderOf(path_));
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SINTER_RETURN_IF_ERROR(file.Write(contents));
  return file.Commit();
}

absl::StatusOr<FileReader> FileReader::Open(const std::string& path, bool past_cache) {
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("cannot open a file: its path holds a zero byte");
  }
  // Without O_NONBLOCK, open would wait for the writer of a named pipe before the file type can be checked.
  FileReader file;
  file.fd_ = OpenRetrying(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (file.fd_ < 0) return ErrnoError(errno, "open", path);
  file.path_ = path;
  struct stat info{};
  if (fstat(file.fd_, &info) != 0) return ErrnoError(errno, "read the size of", path);
  if (!S_ISREG(info.st_mode)) return RefuseIrregular("read", path, info.st_mode);
  file.size_ = static_cast<uint64_t>(info.st_size);
  // The same file, even if `path` is another one by now.
  const std::string same = absl::StrCat("/proc/self/fd/", file.fd_);
  if (past_cache) file.direct_fd_ = OpenRetrying(same.c_str(), O_RDONLY | O_DIRECT);
  if (file.direct_fd_ >= 0 && file.size_ > 0) {
    void* const map = mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, file.fd_, 0);
    if (map != MAP_FAILED) file.map_ = map;
  }
  return file;
}

FileReader::FileReader(FileReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      direct_fd_(std::exchange(other.direct_fd_, -1)),
      size_(other.size_),
      map_(std::exchange(other.map_, nullptr)),
      path_(std::move(other.path_)) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(direct_fd_, other.direct_fd_);
  std::swap(size_, other.size_);
  std::swap(map_, other.map_);
  std::swap(path_, other.path_);
  return *this;
}

FileReader::~FileReader() {
  if (map_ != nullptr) munmap(map_, size_);
  if (fd_ >= 0) close(fd_);
  if (direct_fd_ >= 0) close(direct_fd_);
}

absl::Status FileReader::Read(uint64_t offset, std::span<std::byte> out) const {
  return ReadFully(fd_, path_, offset, out);
}

size_t FileReader::CachedBytes(uint64_t offset, size_t count) const {
  if (map_ == nullptr || offset >= size_) return 0;
  // preadv2 with RWF_NOWAIT would tell as well, but then the system reads ahead into the page cache what is
  // read past it right after: that took half the rate of a disk and more. Of a file that this user may not
  // write, mincore says that all of it is there.
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page, end = std::min<uint64_t>(offset + count, size_);
  std::vector<unsigned char> has((end - begin + page - 1) / page);
  if (mincore(static_cast<std::byte*>(map_) + begin, end - begin, has.data()) != 0) return 0;
  const auto first = std::ranges::find_if(has, [](unsigned char bits) { return (bits & 1) == 0; });
  const uint64_t cached = begin + static_cast<uint64_t>(first - has.begin()) * page;
  return std::clamp(cached, offset, end) - offset;
}

absl::StatusOr<std::span<std::byte>> FileReader::ReadPastCache(uint64_t offset, size_t count,
                                                               std::span<std::byte> room) const {
  constexpr size_t kPage = SharedFile::kAlignment;
  const size_t skew = offset % kPage;
  const std::span<std::byte> wanted = room.subspan(skew, count);
  size_t have = 0;  // Bytes of `wanted`.
  if (direct_fd_ >= 0 && offset <= size_ && count >= kLeastDirectBytes) {
    have = CachedBytes(offset, count);
    SINTER_RETURN_IF_ERROR(ReadFully(fd_, path_, offset, wanted.first(have)));
    const size_t from = (skew + have) / kPage * kPage, all = RoundUp(skew + count, kPage);
    if (count - have >= kLeastDirectBytes) {
      const size_t end = from + ReadDirect(direct_fd_, offset - skew + from, room.subspan(from, all - from));
      have = std::clamp(end, skew + have, skew + count) - skew;
    }
  }
  SINTER_RETURN_IF_ERROR(ReadFully(fd_, path_, offset + have, wanted.subspan(have)));
  return wanted;
}

absl::StatusOr<FileBytes> FileBytes::Read(const std::string& path, uint64_t max_bytes) {
  SINTER_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
  if (file.size() > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has ", file.size(), " bytes, and at most ", max_bytes, " are read"));
  }
  return Read(file, 0, file.size());
}

absl::StatusOr<FileBytes> FileBytes::Read(const FileReader& file, uint64_t offset, uint64_t count) {
  FileBytes read;
  read.path_ = file.path();
  if (count == 0) return read;
  const absl::StatusOr<void*> data =
      HostMemory().Allocate(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
  if (!data.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot read '", file.path(), "': ", data.status().message()));
  }
  const std::span<std::byte> bytes(static_cast<std::byte*>(*data), static_cast<size_t>(count));
  read.bytes_ = bytes;
  SINTER_RETURN_IF_ERROR(file.Read(offset, bytes));
  return read;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), path_(std::move(other.path_)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
  return *this;
}

FileBytes::~FileBytes() {
  if (bytes_.empty()) return;
  HostMemory().Free(const_cast<std::byte*>(bytes_.data()), static_cast<int64_t>(bytes_.size()));
}

}  // namespace sinter
