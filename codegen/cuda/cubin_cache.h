// A cache of compiled cubins in a folder to which only this user can write.
//
//   CubinCache cache = CubinCache::Open("/home/me/.cache/sinter", /*max_bytes=*/int64_t{1} << 30);
//   if (std::optional<std::string> cubin = cache.Find(key)) return *cubin;
//   cache.Store(key, cubin);
//   cache.Trim();                                   // After storing all cubins of a program.
//   if (!cache.problem().empty()) std::cerr << cache.problem();
//
// Cached kernels go into plans and run, so a user who can write to the folder can run code as the cache's
// user. Like ssh with its keys, the cache uses no folder and reads no file that belongs to another user or
// that others may write to. Folders are made with mode 0700, files with 0600. A file holds a hash of its key
// and its contents, which detects damage. A damaged entry, or one that is not a regular file of at most
// kMaxFileBytes, counts as missing and is replaced.
//
// Processes may share a folder. Files appear atomically. Leftovers of a killed process are removed after an
// hour. Beyond max_bytes the least recently used files are removed.
#ifndef SINTER_CODEGEN_CUDA_CUBIN_CACHE_H_
#define SINTER_CODEGEN_CUDA_CUBIN_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sinter::codegen {

// Movable. Find and Store are thread-safe.
class CubinCache {
 public:
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

  // A cache without a folder: finds nothing and stores nothing.
  CubinCache() = default;
  // Opens the folder, and makes it and its parents if they are missing. If the folder cannot be used,
  // problem() gives the reason, and the cache has no folder.
  static CubinCache Open(const std::string& folder, int64_t max_bytes);

  CubinCache(CubinCache&& other) noexcept;
  CubinCache& operator=(CubinCache&& other) noexcept;
  ~CubinCache();

  // A key is 1 to 128 letters and digits.
  std::optional<std::string> Find(const std::string& key) const;
  // Has no effect if the file cannot be written.
  void Store(const std::string& key, const std::string& cubin) const;
  void Trim() const;

  const std::string& problem() const { return problem_; }

 private:
  int fd_ = -1;  // The open folder of the files; by name it could be replaced by another one.
  int64_t max_bytes_ = 0;
  std::string problem_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUBIN_CACHE_H_
