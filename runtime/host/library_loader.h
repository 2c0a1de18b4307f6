// Opens a CUDA library when it is first needed, so that programs start where it is not installed and link nothing of it.
//
//   static CublasLtFunctions functions;
//   const LibraryName name = {.title = "cuBLASLt", .file = "libcublasLt.so.13", .package = "nvidia-cublas"};
//   SINTER_ASSIGN_OR_RETURN(OpenedLibrary library, OpenLibrary(name));
//   SINTER_RETURN_IF_ERROR(library.Find({{"cublasLtCreate", &functions.Create}, ...}));
//   SINTER_RETURN_IF_ERROR(library.CheckVersion({.wanted = "13.0 to 13.x", .found = "13.1.0", .fits = true}));
//
// Looked for, in this order: each folder of SINTER_CUDA_LIBRARY_PATH (separated by colons); where the system's loader
// looks (LD_LIBRARY_PATH, then the folders of ldconfig); CUDA_PATH/lib64; /usr/local/cuda/lib64; the folders that
// `scripts/bootstrap.sh --cuda` filled, if Sinter was built with them. Other wheels of PyPI are found by naming
// site-packages/nvidia/cu13/lib, .../cudnn/lib and .../nccl/lib in SINTER_CUDA_LIBRARY_PATH.
//
// A library stays open for the life of the process. Thread-safe.
#ifndef SINTER_RUNTIME_HOST_LIBRARY_LOADER_H_
#define SINTER_RUNTIME_HOST_LIBRARY_LOADER_H_

#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

struct LibraryName {
  std::string_view title;    // "cuBLASLt".
  std::string_view file;     // "libcublasLt.so.13": with its version.
  std::string_view package;  // Of PyPI: "nvidia-cublas".
  std::string_view older =
      {};  // Another version that does, in each place after `file`: "libnvrtc.so.12". Or none.
};

// A function's name and where its address goes: the address of a pointer to a function.
struct LibraryFunction {
  const char* name;
  void* slot;
};

struct LibraryVersion {
  std::string wanted;
  std::string found;
  bool fits;
};

class OpenedLibrary {
 public:
  OpenedLibrary(const LibraryName& name, void* handle, std::string path)
      : name_(name), handle_(handle), path_(std::move(path)) {}

  // FailedPrecondition: the library lacks a function.
  absl::Status Find(std::initializer_list<LibraryFunction> functions) const;
  // FailedPrecondition unless it fits: names the library, both versions and the file.
  absl::Status CheckVersion(const LibraryVersion& version) const;
  // The file that was opened.
  const std::string& path() const { return path_; }

 private:
  LibraryName name_;
  void* handle_;
  std::string path_;
};

// `functions`, filled by `open` at the first call that succeeds: the same for the life of the process. An error is not
// remembered.
//
//   absl::StatusOr<const CublasLt*> LoadCublasLt() { return LoadOnce<CublasLt, Open>(); }
template <typename Functions, absl::Status (*open)(Functions*)>
absl::StatusOr<const Functions*> LoadOnce() {
  static std::mutex mutex;
  static Functions functions = {};
  static bool is_open = false;
  const std::lock_guard lock(mutex);
  if (!is_open) {
    if (absl::Status status = open(&functions); !status.ok()) return status;
    is_open = true;
  }
  return &functions;
}

// FailedPrecondition: not found; says where it was looked for and what to install or set.
absl::StatusOr<OpenedLibrary> OpenLibrary(const LibraryName& name);

// The files that OpenLibrary tries, in order; one without a slash is looked for by the system.
std::vector<std::string> LibraryCandidates(std::string_view file);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LIBRARY_LOADER_H_
