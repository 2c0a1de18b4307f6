#include "sinter/runtime/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/status.h"

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

// A name that no other writer of this or another process has, short enough for every file system.
std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(FolderOf(path), "/.", BaseOf(path).substr(0, 180), ".", getpid(), "-",
                      counter.fetch_add(1), ".tmp");
}

int OpenRetrying(const char* path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

absl::Status SyncFolder(const std::string& folder) {
  const int fd = OpenRetrying(folder.c_str(), O_RDONLY | O_DIRECTORY);
  // A folder that may be written but not read cannot be synced; the rename itself has happened.
  if (fd < 0) return errno == EACCES ? absl::OkStatus() : ErrnoError(errno, "open the folder", folder);
  // Some file systems have no fsync for folders (EINVAL): there the rename is as durable as it gets.
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
  file.path_ = path;
  if (char* resolved = realpath(path.c_str(), nullptr); resolved != nullptr) {
    file.path_ = resolved;
    std::free(resolved);
  }
  struct stat old{};
  const bool exists = stat(file.path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) return ErrnoError(errno, "write", path);
  if (exists && !S_ISREG(old.st_mode)) return RefuseIrregular("write", path, old.st_mode);
  // Renaming would go around the protection of a read-only file.
  if (exists && access(file.path_.c_str(), W_OK) != 0) return ErrnoError(errno, "write", path);
  // A name can only be taken if a crashed process with our id left it behind.
  for (int attempt = 0; file.fd_ < 0; ++attempt) {
    std::string name = TemporaryName(file.path_);
    file.fd_ = OpenRetrying(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file.fd_ >= 0) {
      file.temporary_ = std::move(name);
    } else if (errno != EEXIST || attempt == 100) {
      return ErrnoError(errno, "create a file beside", path);
    }
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
  while (!bytes.empty()) {
    // Linux writes at most 2 GiB a call anyway; asking for less keeps the return value in range everywhere.
    const size_t chunk = std::min<size_t>(bytes.size(), size_t{1} << 30);
    const ssize_t written = pwrite(fd_, bytes.data(), chunk, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Fail(ErrnoError(written < 0 ? errno : ENOSPC, "write", path_));
    bytes = bytes.subspan(written);
    offset += written;
    size_ = std::max(size_, offset);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  SINTER_RETURN_IF_ERROR(status_);
  if (fd_ < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot commit '", path_, "': it is committed already"));
  }
  if (fsync(fd_) != 0) return Fail(ErrnoError(errno, "make durable", path_));
  if (close(std::exchange(fd_, -1)) != 0) return Fail(ErrnoError(errno, "close", path_));
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return Fail(ErrnoError(errno, "replace", path_));
  temporary_.clear();
  return SyncFolder(FolderOf(path_));
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SINTER_RETURN_IF_ERROR(file.Write(contents));
  return file.Commit();
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("cannot open a file: its path holds a zero byte");
  }
  // Without O_NONBLOCK, opening a named pipe would wait for a writer before its kind can be looked at.
  const int fd = OpenRetrying(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd < 0) return ErrnoError(errno, "open", path);
  MappedFile file;
  file.path_ = path;
  struct stat info{};
  absl::Status status;
  if (fstat(fd, &info) != 0) {
    status = ErrnoError(errno, "read the size of", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = RefuseIrregular("read", path, info.st_mode);
  } else if (info.st_size > 0) {
    void* data = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      status = ErrnoError(errno, "map", path);
    } else {
      file.bytes_ = {static_cast<const std::byte*>(data), static_cast<size_t>(info.st_size)};
    }
  }
  close(fd);
  if (!status.ok()) return status;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    bytes_ = std::exchange(other.bytes_, {});
    path_ = std::move(other.path_);
  }
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace sinter
