#include "sinter/codegen/cuda/cubin_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace sinter::codegen {

namespace {

constexpr char kSubfolder[] = "cubin";
constexpr std::string_view kTemporarySuffix = ".tmp";
// No process takes this long to write a file.
constexpr time_t kLeftoverSeconds = 3600;
constexpr size_t kDigits = 64;

std::string Digest(const std::string& key, std::string_view cubin) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(key));
  hash.update(llvm::StringRef("\n"));
  hash.update(llvm::StringRef(cubin.data(), cubin.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string Reason(int error) { return std::strerror(error); }

// Describes why the file or folder cannot be trusted; empty if it can.
std::string WhyOthersWrite(const struct stat& info) {
  if (info.st_uid != geteuid()) {
    return absl::StrCat("it belongs to the user ", info.st_uid, ", and this is the user ", geteuid());
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return "";
  return absl::StrCat("others may write to it (mode ", absl::Hex((info.st_mode >> 6) & 7),
                      absl::Hex((info.st_mode >> 3) & 7), absl::Hex(info.st_mode & 7), "); chmod go-w it");
}

// Makes the folder and its parents. Errors show when the folder is opened.
void MakeFolders(const std::string& folder) {
  for (size_t at = folder.find('/', 1); at != std::string::npos; at = folder.find('/', at + 1)) {
    mkdir(folder.substr(0, at).c_str(), 0700);
  }
  mkdir(folder.c_str(), 0700);
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// False if the file is too short, or on an error.
bool ReadAll(int fd, std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

struct StoredFile {
  std::string name;
  int64_t bytes = 0;
  timespec used = {};
};

// Returns the regular files of a folder, and removes leftovers.
std::vector<StoredFile> ListFiles(int folder) {
  std::vector<StoredFile> files;
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = fd < 0 ? nullptr : fdopendir(fd);
  if (entries == nullptr) {
    if (fd >= 0) close(fd);
    return files;
  }
  while (const dirent* const entry = readdir(entries)) {
    struct stat info{};
    if (fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
    if (!std::string_view(entry->d_name).ends_with(kTemporarySuffix)) {
      files.push_back({entry->d_name, info.st_size, info.st_mtim});
    } else if (time(nullptr) - info.st_mtim.tv_sec > kLeftoverSeconds) {
      unlinkat(folder, entry->d_name, 0);
    }
  }
  closedir(entries);
  return files;
}

}  // namespace

CubinCache CubinCache::Open(const std::string& folder, int64_t max_bytes) {
  CubinCache cache;
  cache.max_bytes_ = max_bytes;
  const auto refuse = [&](int fd, const std::string& reason) {
    if (fd >= 0) close(fd);
    CubinCache none;
    none.problem_ = absl::StrCat("the cache of compiled kernels, '", folder, "', is not used: ", reason);
    return none;
  };
  MakeFolders(folder);
  // Symbolic links to the folder are its user's choice; the checks apply to their target.
  const int outer = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (outer < 0) return refuse(outer, Reason(errno));
  struct stat info{};
  if (fstat(outer, &info) != 0) return refuse(outer, Reason(errno));
  if (const std::string why = WhyOthersWrite(info); !why.empty()) return refuse(outer, why);
  mkdirat(outer, kSubfolder, 0700);
  cache.fd_ = openat(outer, kSubfolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (cache.fd_ < 0 || fstat(cache.fd_, &info) != 0) {
    return refuse(outer, absl::StrCat("its folder '", kSubfolder, "': ", Reason(errno)));
  }
  if (const std::string why = WhyOthersWrite(info); !why.empty()) {
    return refuse(outer, absl::StrCat("of its folder '", kSubfolder, "', ", why));
  }
  close(outer);
  return cache;
}

CubinCache::CubinCache(CubinCache&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), max_bytes_(other.max_bytes_), problem_(std::move(other.problem_)) {}

CubinCache& CubinCache::operator=(CubinCache&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(max_bytes_, other.max_bytes_);
  std::swap(problem_, other.problem_);
  return *this;
}

CubinCache::~CubinCache() {
  if (fd_ >= 0) close(fd_);
}

std::optional<std::string> CubinCache::Find(const std::string& key) const {
  if (fd_ < 0) return std::nullopt;
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int fd = openat(fd_, key.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> cubin;
  struct stat info{};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && WhyOthersWrite(info).empty() &&
      info.st_size > static_cast<off_t>(kDigits) && info.st_size <= kMaxFileBytes) {
    std::string bytes(static_cast<size_t>(info.st_size), '\0');
    const bool is_whole = ReadAll(fd, bytes);
    if (is_whole && Digest(key, std::string_view(bytes).substr(kDigits)) == bytes.substr(0, kDigits)) {
      cubin = bytes.substr(kDigits);
      // File systems may not record access times, so the modification time records the last use.
      futimens(fd, nullptr);
    }
  }
  close(fd);
  return cubin;
}

void CubinCache::Store(const std::string& key, const std::string& cubin) const {
  if (fd_ < 0 || cubin.empty() || cubin.size() + kDigits > static_cast<size_t>(kMaxFileBytes)) return;
  static std::atomic<uint64_t> counter = 0;
  const std::string temporary =
      absl::StrCat(key, ".", getpid(), ".", counter.fetch_add(1), std::string(kTemporarySuffix));
  // O_EXCL: the file is new, not a link to another file.
  const int fd = openat(fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  // No fsync: a file damaged by a crash has the wrong hash and is written again.
  const bool is_written = WriteAll(fd, Digest(key, cubin)) && WriteAll(fd, cubin);
  const bool is_closed = close(fd) == 0;
  if (is_written && is_closed && renameat(fd_, temporary.c_str(), fd_, key.c_str()) == 0) return;
  unlinkat(fd_, temporary.c_str(), 0);
}

void CubinCache::Trim() const {
  if (fd_ < 0) return;
  std::vector<StoredFile> files = ListFiles(fd_);
  int64_t total = 0;
  for (const StoredFile& file : files) total += file.bytes;
  if (total <= max_bytes_) return;
  std::ranges::sort(files, [](const StoredFile& a, const StoredFile& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  // Removes more than necessary, so that the next programs need not trim again.
  for (const StoredFile& file : files) {
    if (total <= max_bytes_ / 4 * 3) break;
    if (unlinkat(fd_, file.name.c_str(), 0) == 0) total -= file.bytes;
  }
}

}  // namespace sinter::codegen
