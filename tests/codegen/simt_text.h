// Rewrites CUDA kernels as C++ for this machine; the Clang library compiles the result for simt_emulator.h.
//
//   SINTER_ASSIGN_OR_RETURN(std::string text, SimtText(sources, SimtHostFunctions()));
//   CompileCpp(text, kSimtEntry, target, context)
//
// Kernels still begin with kernels/cuda/prelude.cuh, so the emulator tests it too. Only its PTX becomes calls
// of functions that the text defines earlier, and its vectors check their alignment as a GPU does. A kernel
// may have PTX between `#if __CUDA_ARCH__ >= ...` and `#else` or `#endif`: the emulator takes the code for
// older architectures. A shared array becomes guarded memory of the block. Synchronisation and math functions
// are pointers to functions of this process.
#ifndef SINTER_TESTS_CODEGEN_SIMT_TEXT_H_
#define SINTER_TESTS_CODEGEN_SIMT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/codegen/cuda/cuda_source.h"

namespace sinter::codegen {

// A function that the text calls as `result name(parameters)`.
struct SimtHostFunction {
  const char *result, *name, *parameters;
  void* pointer;
};

// threadIdx, blockIdx, blockDim or gridDim.
struct SimtIndex {
  uint32_t x = 0, y = 0, z = 0;
};

inline constexpr char kSimtEntry[] = "sn_emulate";
// With kernel == kSimtSetUp, stores `functions` and `indices`. Otherwise runs one thread of kernel number
// `kernel`.
using SimtEntry = void (*)(void* const* functions, const SimtIndex* indices, uint32_t kernel,
                           void* const* buffers);
inline constexpr uint32_t kSimtSetUp = UINT32_MAX;

// Warp operations. A lane gets the value of the lane whose number is its own xor the argument (kXor), is the
// argument (kIndex), or is lower by the argument (kUp). Or it gets the mask of the lanes with its value
// (kMatch), or nothing (kSync).
enum class SimtShuffle : uint32_t { kXor, kIndex, kUp, kMatch, kSync };

// Limits for a launch of a kernel.
struct SimtLimits {
  std::string parameter;  // The type of the struct of pointers.
  int64_t buffers = 0, block = 0;
};
absl::StatusOr<SimtLimits> SimtLimitsOf(const CudaSource& source);

// True if the kernel has PTX outside branches for newer architectures.
bool HasPtx(const CudaSource& source);

// Returns the C++ text of all kernels. INVALID_ARGUMENT names the kernel and the unsupported part, usually
// PTX.
absl::StatusOr<std::string> SimtText(const std::vector<CudaSource>& sources,
                                     const std::vector<SimtHostFunction>& functions);

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_TEXT_H_
