// Compiles CUDA sources to device code. Each architecture has its compiler.
//
//   SINTER_ASSIGN_OR_RETURN(auto images, CompileDeviceCode(sources, {"sm_90"}, /*threads=*/0));
//   images[i][a]                // The code of sources[i] for architectures[a].
//
// NVRTC compiles for CUDA's architectures, "sm_90" and others (codegen/cuda/compile_cubins.h). A program can
// add compilers for architectures of other devices whose kernels are CUDA text. A plan holds one image of
// each kernel for each architecture; the runtime of a device loads the image of its own architecture.
#ifndef SINTER_CODEGEN_PLAN_DEVICE_CODE_H_
#define SINTER_CODEGEN_PLAN_DEVICE_CODE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/codegen/cuda/cuda_source.h"

namespace sinter::codegen {

class DeviceCodeCompiler {
 public:
  virtual ~DeviceCodeCompiler() = default;

  // The architecture as plans name it.
  virtual std::string architecture() const = 0;
  // Returns one image for each source, not empty, with equal bytes for equal sources. `threads` is 0 for one
  // a core. INVALID_ARGUMENT: a text that does not compile. FAILED_PRECONDITION: the compiler is missing.
  virtual absl::StatusOr<std::vector<std::string>> Compile(const std::vector<CudaSource>& sources,
                                                           int threads) const = 0;
};

// Adds a compiler, which must live until the process ends. Thread-safe. ALREADY_EXISTS: the architecture has
// one.
absl::Status RegisterDeviceCodeCompiler(const DeviceCodeCompiler& compiler);

// Errors: those of DeviceCodeCompiler::Compile, and of CompileCubins for architectures without a registered
// compiler.
absl::StatusOr<std::vector<std::vector<std::string>>> CompileDeviceCode(
    const std::vector<CudaSource>& sources, const std::vector<std::string>& architectures, int threads);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_DEVICE_CODE_H_
