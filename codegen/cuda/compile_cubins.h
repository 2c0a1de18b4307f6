// Compiles CUDA sources to machine code, in parallel, with a cache on disk.
//
//   SINTER_ASSIGN_OR_RETURN(auto cubins,
//                           CompileCubins(sources, {"sm_90"}, CubinOptions{}));
//   cubins[i][a]                // The cubin of sources[i] for architectures[a].
//
// A cubin's key is a hash of all its inputs: prelude, text, architecture, and NVRTC's build and options. The
// cache (codegen/cuda/cubin_cache.h) is used only if no other user can write to it. docs/environment.md lists
// the environment variables.
#ifndef SINTER_CODEGEN_CUDA_COMPILE_CUBINS_H_
#define SINTER_CODEGEN_CUDA_COMPILE_CUBINS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/codegen/cuda/cuda_source.h"

namespace sinter::codegen {

struct CubinOptions {
  int threads = 0;  // 0: one a core.
  // Empty: SINTER_CACHE_DIR, else XDG_CACHE_HOME/sinter, else ~/.cache/sinter. "off": no cache.
  std::string cache_folder;
  // The most bytes in the cache; beyond, the least recently used files are removed. nullopt:
  // SINTER_CACHE_LIMIT, else 1 GiB.
  std::optional<int64_t> cache_limit = std::nullopt;
};

struct CubinStatistics {
  int compiled = 0, cached = 0;
  // Why the cache was not used; also printed once on standard error. Empty if it was used, or if there is
  // none.
  std::string cache_problem;
};

// INVALID_ARGUMENT: an architecture that NVRTC does not know, a text that does not compile (with its first
// errors), or a SINTER_CACHE_LIMIT that is not a number of bytes. FAILED_PRECONDITION: no NVRTC. A cache that
// cannot be read or written is not an error.
absl::StatusOr<std::vector<std::vector<std::string>>> CompileCubins(
    const std::vector<CudaSource>& sources, const std::vector<std::string>& architectures,
    const CubinOptions& options, CubinStatistics* statistics = nullptr);

// Returns the text that NVRTC compiles: the prelude and the source's text.
std::string WholeText(const CudaSource& source);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_COMPILE_CUBINS_H_
