// NVIDIA's runtime compiler, opened when it is first needed: CUDA C++ text to a cubin. Needs no GPU and no driver.
//
//   SINTER_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
//   SINTER_ASSIGN_OR_RETURN(std::string cubin, nvrtc->Compile(text, "gelu.cu", "sm_90"));
//
// Thread-safe: programs compile in parallel. The same text gives the same bytes in whatever folder the process works: line
// tables name sources by folder, and that of all of them is kSourceFolder.
#ifndef SINTER_CODEGEN_CUDA_NVRTC_H_
#define SINTER_CODEGEN_CUDA_NVRTC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter::codegen {

class Nvrtc {
 public:
  // A folder that does not exist. NVRTC writes the process's working folder into the line tables of sources without one.
  static constexpr char kSourceFolder[] = "/sinter/";

  // FAILED_PRECONDITION when the library is not found: says where was looked and how to point to it
  // (runtime/host/library_loader.h). An error is not remembered.
  static absl::StatusOr<const Nvrtc*> Get();

  // For an architecture such as "sm_90". INVALID_ARGUMENT with the compiler's log when the text does not compile; the log names
  // the source, and those of #line directives in the text, without the folder. RESOURCE_EXHAUSTED or INTERNAL when it is the
  // compiler that cannot.
  absl::StatusOr<std::string> Compile(const std::string& text, const std::string& name,
                                      const std::string& architecture) const;
  // "13.0"
  const std::string& version() const { return version_; }
  // The version, and the library's file, size and time: another build of the same version has another.
  const std::string& build() const { return build_; }
  // All that Compile gives to the compiler besides the text.
  static std::vector<std::string> Options(const std::string& architecture);
  // What this version compiles for, ascending.
  const std::vector<std::string>& architectures() const { return architectures_; }

 private:
  struct Functions;
  static absl::Status Open(Nvrtc* nvrtc);
  absl::Status Check(int result, const char* what) const;
  absl::StatusOr<std::string> CubinOf(struct Opaque* program) const;
  std::string LogOf(struct Opaque* program) const;

  const Functions* functions_ = nullptr;
  std::string version_, build_;
  std::vector<std::string> architectures_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_NVRTC_H_
