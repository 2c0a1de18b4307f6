// CUDA kernels as C++ for this machine, compiled by the Clang library: the text half of simt_emulator.h.
//
//   SINTER_ASSIGN_OR_RETURN(std::string text, SimtText(sources, SimtHostFunctions()));
//   CompileCpp(text, kSimtEntry, target, context)
//
// kernels/cuda/prelude.cuh stays what kernels begin with, so that it is judged too: only its PTX becomes calls of what is
// defined in front of it, and its vectors check that they lie where a GPU's accesses must. Kernels may have PTX between
// `#if __CUDA_ARCH__ >= ...` and `#else` or `#endif`: what older architectures do is taken. A shared array becomes memory of the
// block, which the emulator guards. Everything a kernel asks of the machine, synchronisation and mathematics, is a pointer
// to a function of this process.
#ifndef SINTER_TESTS_CODEGEN_SIMT_TEXT_H_
#define SINTER_TESTS_CODEGEN_SIMT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/codegen/cuda/cuda_source.h"

namespace sinter::codegen {

// `result name(parameters)` of the text.
struct SimtHostFunction {
  const char *result, *name, *parameters;
  void* pointer;
};

// threadIdx, blockIdx, blockDim and gridDim.
struct SimtIndex {
  uint32_t x = 0, y = 0, z = 0;
};

inline constexpr char kSimtEntry[] = "sn_emulate";
// Of the number kSimtSetUp: notes `functions` and `indices`. Else one thread of kernel number `kernel`.
using SimtEntry = void (*)(void* const* functions, const SimtIndex* indices, uint32_t kernel,
                           void* const* buffers);
inline constexpr uint32_t kSimtSetUp = UINT32_MAX;

// What the lanes of a warp do together: each takes the value of the lane whose number is its own by xor, is given, or so much
// lower; or the mask of the lanes that have its value; or nothing.
enum class SimtShuffle : uint32_t { kXor, kIndex, kUp, kMatch, kSync };

// What the launch of a kernel must keep to.
struct SimtLimits {
  std::string parameter;  // The type of the struct of pointers.
  int64_t buffers = 0, block = 0;
};
absl::StatusOr<SimtLimits> SimtLimitsOf(const CudaSource& source);

// Without what architectures do that are too old for it.
bool HasPtx(const CudaSource& source);

// INVALID_ARGUMENT names the kernel, and what of it is not understood: PTX above all.
absl::StatusOr<std::string> SimtText(const std::vector<CudaSource>& sources,
                                     const std::vector<SimtHostFunction>& functions);

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_TEXT_H_
