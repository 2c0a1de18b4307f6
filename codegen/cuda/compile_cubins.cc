#include "sinter/codegen/cuda/compile_cubins.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/status.h"

namespace sinter::codegen {

namespace {

namespace fs = std::filesystem;

std::string Digest(const std::string& bytes) {
  auto digest =
      llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

// Empty: no cache.
std::string CacheFolder(const CubinOptions& options) {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = options.cache_folder.empty() ? variable("SINTER_CACHE_DIR") : options.cache_folder;
  if (folder == "off") return "";
  if (!folder.empty()) return folder;
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/sinter";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/sinter";
  return "";
}

std::optional<std::string> ReadCached(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream stream;
  stream << file.rdbuf();
  std::string bytes = std::move(stream).str();
  constexpr size_t kDigits = 64;
  if (bytes.size() <= kDigits) return std::nullopt;
  std::string cubin = bytes.substr(kDigits);
  if (Digest(cubin) != bytes.substr(0, kDigits)) return std::nullopt;
  return cubin;
}

void WriteCached(const std::string& path, const std::string& cubin) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  static std::atomic<int> counter = 0;
  std::string temporary = absl::StrCat(path, ".", getpid(), ".", counter++);
  {
    std::ofstream file(temporary, std::ios::binary);
    file << Digest(cubin) << cubin;
    if (!file.flush()) {
      fs::remove(temporary, ignored);
      return;
    }
  }
  fs::rename(temporary, path, ignored);
  if (ignored) fs::remove(temporary, ignored);
}

}  // namespace

std::string WholeText(const CudaSource& source) {
  return absl::StrCat(std::string(kernels::CudaPrelude()), "\n", source.text);
}

absl::StatusOr<std::vector<std::vector<std::string>>> CompileCubins(
    const std::vector<CudaSource>& sources, const std::vector<std::string>& architectures,
    const CubinOptions& options, CubinStatistics* statistics) {
  SINTER_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
  std::vector<std::vector<std::string>> cubins(sources.size(),
                                               std::vector<std::string>(architectures.size()));
  const std::string folder = CacheFolder(options);
  const size_t count = sources.size() * architectures.size();
  std::atomic<size_t> next = 0;
  std::atomic<int> compiled = 0, cached = 0;
  std::mutex mutex;
  size_t first_failed = count;
  absl::Status failure;
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      const CudaSource& source = sources[i / architectures.size()];
      const std::string& architecture = architectures[i % architectures.size()];
      std::string& cubin = cubins[i / architectures.size()][i % architectures.size()];
      std::string text = WholeText(source);
      std::string key = Digest(absl::StrCat(nvrtc->version(), "\n", architecture, "\n", text));
      std::string path = absl::StrCat(folder, "/cubin/", key.substr(0, 2), "/", key);
      if (!folder.empty()) {
        if (std::optional<std::string> known = ReadCached(path)) {
          cubin = *std::move(known);
          ++cached;
          continue;
        }
      }
      absl::StatusOr<std::string> made = nvrtc->Compile(text, source.symbol + ".cu", architecture);
      if (!made.ok() && !source.subject.empty()) {
        made = absl::Status(made.status().code(),
                            absl::StrCat(source.subject, " does not compile:\n", made.status().message()));
      }
      if (!made.ok()) {
        // The first by number, however the threads run.
        std::lock_guard lock(mutex);
        if (i < first_failed) failure = made.status(), first_failed = i;
        continue;
      }
      cubin = *std::move(made);
      ++compiled;
      if (!folder.empty()) WriteCached(path, cubin);
    }
  };
  size_t threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (statistics) *statistics = {compiled, cached};
  SINTER_RETURN_IF_ERROR(failure);
  return cubins;
}

}  // namespace sinter::codegen
