// Opens CUDA libraries on first use, so that programs neither link them nor need them installed to start.
//
//   static CublasLtFunctions functions;
//   const LibraryName name = {.title = "cuBLASLt", .file = "libcublasLt.so.13", .package = "nvidia-cublas"};
//   SINTER_ASSIGN_OR_RETURN(OpenedLibrary library, OpenLibrary(name));
//   SINTER_RETURN_IF_ERROR(library.Find({{"cublasLtCreate", &functions.Create}, ...}));
//   const LibraryVersion version = {.wanted = "13.0 to 13.x", .found = "13.1.0", .fits = true};
//   SINTER_RETURN_IF_ERROR(library.CheckVersion(version));
//
// The search order is:
// 1. each folder of SINTER_CUDA_LIBRARY_PATH (separated by colons);
// 2. the search path of the system's loader (LD_LIBRARY_PATH, then the folders of ldconfig);
// 3. CUDA_PATH/lib64;
// 4. /usr/local/cuda/lib64;
// 5. the folders that `scripts/bootstrap.sh --cuda` filled, if Sinter was built with them.
// To use other PyPI wheels, put site-packages/nvidia/cu13/lib, .../cudnn/lib and .../nccl/lib in
// SINTER_CUDA_LIBRARY_PATH.
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
  std::string_view title;    // For example "cuBLASLt".
  std::string_view file;     // With the version: "libcublasLt.so.13".
  std::string_view package;  // The PyPI package: "nvidia-cublas".
  std::string_view older =
      {};  // An older version, tried after `file` in each location: "libnvrtc.so.12". May be empty.
};

// A function's name and the address of the function pointer to fill.
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

  // Fills the function pointers. FailedPrecondition if the library lacks a function.
  absl::Status Find(std::initializer_list<LibraryFunction> functions) const;
  // FailedPrecondition unless `version.fits`; the message names the library, both versions and the file.
  absl::Status CheckVersion(const LibraryVersion& version) const;
  // The file that was opened.
  const std::string& path() const { return path_; }

 private:
  LibraryName name_;
  void* handle_;
  std::string path_;
};

// Returns function pointers that the first successful call of `open` fills; they are the same for the life of
// the process. A failed call is retried on the next call.
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

// Opens a library. FailedPrecondition if it is not found; the message lists the searched locations and what
// to install or set.
absl::StatusOr<OpenedLibrary> OpenLibrary(const LibraryName& name);

struct UsedLibrary {
  std::string title, version, path;
};

// Returns the libraries that passed CheckVersion in this process, each once, in the order of their opening.
std::vector<UsedLibrary> UsedLibraries();

// Returns the files that OpenLibrary tries, in order. The system's loader searches for a name without a
// slash.
std::vector<std::string> LibraryCandidates(std::string_view file);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LIBRARY_LOADER_H_
