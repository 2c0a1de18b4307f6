// Cubins that were compiled before, in a folder to which this user alone may write.
//
//   CubinCache cache = CubinCache::Open("/home/me/.cache/sinter", /*max_bytes=*/int64_t{1} << 30);
//   if (std::optional<std::string> cubin = cache.Find(key)) return *cubin;
//   cache.Store(key, cubin);
//   cache.Trim();                                   // When all of a program is stored.
//   if (!cache.problem().empty()) std::cerr << cache.problem();
//
// Kernels that are found here go into plans and run, so that whoever can write to the folder can run code as its user. As ssh does
// with its keys, a folder is not used, and a file not read, that belongs to somebody else or that others may write to. Folders
// are made with mode 0700, files with 0600. A file holds a hash of its key and its contents, which shows damage; what is no
// whole regular file of at most kMaxFileBytes is as if it were not there, and is replaced.
//
// Processes may share a folder. A file appears whole or not at all; what is left of a process that was killed is removed
// after an hour. Beyond max_bytes the files go that were not used for longest.
#ifndef SINTER_CODEGEN_CUDA_CUBIN_CACHE_H_
#define SINTER_CODEGEN_CUDA_CUBIN_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sinter::codegen {

// Movable. Find and Store may be called by several threads at once.
class CubinCache {
 public:
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

  // No folder: finds nothing and stores nothing.
  CubinCache() = default;
  // Makes the folder, and those above it, where they are missing. Where it cannot be used, problem() says why, and the cache
  // is one without a folder.
  static CubinCache Open(const std::string& folder, int64_t max_bytes);

  CubinCache(CubinCache&& other) noexcept;
  CubinCache& operator=(CubinCache&& other) noexcept;
  ~CubinCache();

  // A key is 1 to 128 letters and digits.
  std::optional<std::string> Find(const std::string& key) const;
  // Keeps nothing where it cannot write.
  void Store(const std::string& key, const std::string& cubin) const;
  void Trim() const;

  const std::string& problem() const { return problem_; }

 private:
  int fd_ = -1;  // Of the folder with the files: its name may come to mean another one.
  int64_t max_bytes_ = 0;
  std::string problem_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUBIN_CACHE_H_
