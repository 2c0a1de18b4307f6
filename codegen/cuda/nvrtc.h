// NVIDIA's runtime compiler, opened on first use: compiles CUDA C++ text to a cubin, without a GPU or driver.
//
//   SINTER_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
//   SINTER_ASSIGN_OR_RETURN(std::string cubin, nvrtc->Compile(text, "gelu.cu", "sm_90"));
//
// Thread-safe: programs compile in parallel. The same text gives the same bytes in every working folder: line
// tables name sources with their folder, and all sources have the folder kSourceFolder.
#ifndef SINTER_CODEGEN_CUDA_NVRTC_H_
#define SINTER_CODEGEN_CUDA_NVRTC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter::codegen {

// How much of CUDA C++ a text may use. kMinimal is compiled faster, to the same bytes: without textures,
// surfaces and the names of the CUDA runtime.
enum class CudaLanguage { kWhole, kMinimal };

class Nvrtc {
 public:
  // A folder that does not exist. Without a folder, NVRTC writes the process's working folder into the line
  // tables.
  static constexpr char kSourceFolder[] = "/sinter/";

  // FAILED_PRECONDITION if the library is not found; the message lists the places searched and how to set the
  // path (runtime/host/library_loader.h). The next call after an error tries again.
  static absl::StatusOr<const Nvrtc*> Get();

  // Compiles for an architecture such as "sm_90". INVALID_ARGUMENT, with the compiler's log, if the text does
  // not compile; the log names the source, and the sources of #line directives, without the folder.
  // RESOURCE_EXHAUSTED or INTERNAL if the compiler itself fails.
  absl::StatusOr<std::string> Compile(const std::string& text, const std::string& name,
                                      const std::string& architecture,
                                      CudaLanguage language = CudaLanguage::kWhole) const;
  // "13.0".
  const std::string& version() const { return version_; }
  // The version and the library's file, size and time, which distinguish builds of one version.
  const std::string& build() const { return build_; }
  // Returns all options that Compile passes to the compiler.
  std::vector<std::string> Options(const std::string& architecture, CudaLanguage language) const;
  // The architectures that this version supports, ascending.
  const std::vector<std::string>& architectures() const { return architectures_; }

 private:
  struct Functions;
  static absl::Status Open(Nvrtc* nvrtc);
  absl::Status Check(int result, const char* what) const;
  absl::StatusOr<std::string> CubinOf(struct Opaque* program) const;
  std::string LogOf(struct Opaque* program) const;

  const Functions* functions_ = nullptr;
  std::string version_, build_;
  bool knows_minimal_ = false;
  std::vector<std::string> architectures_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_NVRTC_H_
