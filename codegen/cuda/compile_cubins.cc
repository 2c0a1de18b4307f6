#include "sinter/codegen/cuda/compile_cubins.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iostream>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "sinter/codegen/cuda/cubin_cache.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/environment.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kDefaultLimit = int64_t{1} << 30;

std::string Digest(const std::string& bytes) {
  auto digest =
      llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

// Returns the cache's folder; empty for no cache.
std::string CacheFolder(const CubinOptions& options) {
  std::string folder = options.cache_folder.empty() ? Environment("SINTER_CACHE_DIR") : options.cache_folder;
  if (folder == "off") return "";
  if (!folder.empty()) return folder;
  if (std::string cache = Environment("XDG_CACHE_HOME"); !cache.empty()) return cache + "/sinter";
  if (std::string home = Environment("HOME"); !home.empty()) return home + "/.cache/sinter";
  return "";
}

absl::StatusOr<int64_t> CacheLimit(const CubinOptions& options) {
  if (options.cache_limit.has_value()) return *options.cache_limit;
  const std::string text = Environment("SINTER_CACHE_LIMIT");
  if (text.empty()) return kDefaultLimit;
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error == std::errc() && end == text.data() + text.size() && bytes >= 0) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("SINTER_CACHE_LIMIT is \"", text, "\": write a number of bytes, such as 1073741824"));
}

absl::StatusOr<CubinCache> OpenCache(const CubinOptions& options) {
  const std::string folder = CacheFolder(options);
  SINTER_ASSIGN_OR_RETURN(const int64_t limit, CacheLimit(options));
  if (folder.empty()) return CubinCache();
  CubinCache cache = CubinCache::Open(folder, limit);
  if (cache.problem().empty()) return cache;
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (said.insert(cache.problem()).second) std::cerr << "sinter: " << cache.problem() << std::endl;
  return cache;
}

}  // namespace

std::string WholeText(const CudaSource& source) {
  return absl::StrCat(std::string(kernels::CudaText("prelude")), "\n", source.text);
}

absl::StatusOr<std::vector<std::vector<std::string>>> CompileCubins(
    const std::vector<CudaSource>& sources, const std::vector<std::string>& architectures,
    const CubinOptions& options, CubinStatistics* statistics) {
  SINTER_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
  std::vector<std::vector<std::string>> cubins(sources.size(),
                                               std::vector<std::string>(architectures.size()));
  SINTER_ASSIGN_OR_RETURN(const CubinCache cache, OpenCache(options));
  const size_t count = sources.size() * architectures.size();
  // The longest texts first, so that no thread starts one when the others have nothing left.
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].text.size() > sources[b].text.size(); });
  std::atomic<size_t> next = 0;
  std::atomic<int> compiled = 0, cached = 0;
  std::mutex mutex;
  size_t first_failed = count;
  absl::Status failure;
  auto work = [&] {
    for (size_t turn = next++; turn < count; turn = next++) {
      const size_t i =
          order[turn / architectures.size()] * architectures.size() + turn % architectures.size();
      const CudaSource& source = sources[i / architectures.size()];
      const CudaLanguage language = source.subject.empty() ? CudaLanguage::kMinimal : CudaLanguage::kWhole;
      const std::string architecture = source.TargetOf(architectures[i % architectures.size()]);
      std::string& cubin = cubins[i / architectures.size()][i % architectures.size()];
      std::string text = WholeText(source);
      const std::string key = Digest(absl::StrCat(nvrtc->build(), "\n",
                                                  absl::StrJoin(nvrtc->Options(architecture, language), " "),
                                                  "\n", Nvrtc::kSourceFolder, source.symbol, "\n", text));
      if (std::optional<std::string> known = cache.Find(key)) {
        cubin = *std::move(known);
        ++cached;
        continue;
      }
      absl::StatusOr<std::string> made = nvrtc->Compile(text, source.symbol + ".cu", architecture, language);
      if (!made.ok() && !source.subject.empty()) {
        made = absl::Status(made.status().code(),
                            absl::StrCat(source.subject, " does not compile:\n", made.status().message()));
      }
      if (!made.ok()) {
        // Keeps the failure with the lowest number, so that the result does not depend on the threads.
        std::lock_guard lock(mutex);
        if (i < first_failed) failure = made.status(), first_failed = i;
        continue;
      }
      cubin = *std::move(made);
      ++compiled;
      cache.Store(key, cubin);
    }
  };
  size_t threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (compiled > 0) cache.Trim();
  if (statistics) *statistics = {compiled, cached, cache.problem()};
  SINTER_RETURN_IF_ERROR(failure);
  return cubins;
}

}  // namespace sinter::codegen
