// Compiles CUDA code with NVRTC for tests; NVRTC is opened like the runtime's libraries.
//
//   absl::StatusOr<std::string> cubin = CompileCuda("extern \"C\" __global__ void f() {}", "sm_90");
//
// The runtime itself has no compiler.
#ifndef SINTER_TESTS_RUNTIME_CUDA_CUDA_COMPILER_H_
#define SINTER_TESTS_RUNTIME_CUDA_CUDA_COMPILER_H_

#include <nvrtc.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

inline absl::StatusOr<std::string> CompileCuda(const std::string& source, const std::string& architecture) {
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) get_log = nullptr;
  decltype(&nvrtcGetCUBINSize) size = nullptr;
  decltype(&nvrtcGetCUBIN) get = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "NVRTC", .file = "libnvrtc.so.13", .package = "nvidia-cuda-nvrtc"}));
  SINTER_RETURN_IF_ERROR(library.Find({{"nvrtcCreateProgram", &create},
                                       {"nvrtcCompileProgram", &compile},
                                       {"nvrtcGetProgramLogSize", &log_size},
                                       {"nvrtcGetProgramLog", &get_log},
                                       {"nvrtcGetCUBINSize", &size},
                                       {"nvrtcGetCUBIN", &get},
                                       {"nvrtcDestroyProgram", &destroy}}));
  nvrtcProgram program = nullptr;
  if (create(&program, source.c_str(), "test.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    return absl::InternalError("NVRTC made no program");
  }
  const std::string option = "--gpu-architecture=" + architecture;
  const char* const options[] = {option.c_str(), "--std=c++17"};
  const nvrtcResult result = compile(program, 2, options);
  size_t bytes = 0;
  log_size(program, &bytes);
  std::string log(bytes, '\0');
  get_log(program, log.data());
  std::string cubin;
  if (result == NVRTC_SUCCESS) {
    size(program, &bytes);
    cubin.resize(bytes);
    get(program, cubin.data());
  }
  destroy(&program);
  if (result != NVRTC_SUCCESS) return absl::InvalidArgumentError(absl::StrCat("NVRTC: ", log));
  return cubin;
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_CUDA_COMPILER_H_
