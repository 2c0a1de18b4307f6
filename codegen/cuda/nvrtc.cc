#include "sinter/codegen/cuda/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sinter/runtime/status.h"

namespace sinter::codegen {

namespace {

// The part of NVRTC's C interface that is used here; stable since CUDA 11.2. No header of CUDA is needed to build.
using Program = struct Opaque*;
using Result = int;

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char* kFolders[] = {"", "/usr/local/cuda/lib64/",
                                    "/usr/local/cuda/targets/x86_64-linux/lib/"};
constexpr int kOldest = 12;

void* OpenLibrary(std::vector<std::string>& tried) {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("SINTER_CUDA_LIBRARY_PATH")) {
    for (absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      folders.push_back(absl::StrCat(folder, "/"));
    }
  }
  folders.insert(folders.end(), std::begin(kFolders), std::end(kFolders));
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      std::string path = folder + name;
      if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
      tried.push_back(path);
    }
  }
  return nullptr;
}

}  // namespace

struct Nvrtc::Functions {
  Result (*version)(int*, int*);
  Result (*num_architectures)(int*);
  Result (*architectures)(int*);
  Result (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  Result (*destroy)(Program*);
  Result (*compile)(Program, int, const char* const*);
  Result (*log_size)(Program, size_t*);
  Result (*log)(Program, char*);
  Result (*cubin_size)(Program, size_t*);
  Result (*cubin)(Program, char*);
  const char* (*error)(Result);
};

absl::StatusOr<const Nvrtc*> Nvrtc::Get() {
  static const auto& opened = *new absl::StatusOr<const Nvrtc*>(Open());
  return opened;
}

absl::StatusOr<const Nvrtc*> Nvrtc::Open() {
  std::vector<std::string> tried;
  void* handle = OpenLibrary(tried);
  if (!handle) {
    return absl::FailedPreconditionError(
        absl::StrCat("compiling for a GPU needs NVRTC 12 or 13 (libnvrtc.so), which was not found: install "
                     "CUDA's toolkit, or point "
                     "SINTER_CUDA_LIBRARY_PATH to the folder of libnvrtc.so; looked for ",
                     absl::StrJoin(tried, ", ")));
  }
  static Functions functions;
  auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  bool complete =
      load(functions.version, "nvrtcVersion") &&
      load(functions.num_architectures, "nvrtcGetNumSupportedArchs") &&
      load(functions.architectures, "nvrtcGetSupportedArchs") &&
      load(functions.create, "nvrtcCreateProgram") && load(functions.destroy, "nvrtcDestroyProgram") &&
      load(functions.compile, "nvrtcCompileProgram") && load(functions.log_size, "nvrtcGetProgramLogSize") &&
      load(functions.log, "nvrtcGetProgramLog") && load(functions.cubin_size, "nvrtcGetCUBINSize") &&
      load(functions.cubin, "nvrtcGetCUBIN") && load(functions.error, "nvrtcGetErrorString");
  int major = 0, minor = 0, count = 0;
  if (complete) functions.version(&major, &minor);
  if (!complete || major < kOldest) {
    return absl::FailedPreconditionError(
        absl::StrCat("NVRTC is of version ", major, ".", minor,
                     " and 12.0 or newer is needed: install CUDA 12 or 13, or point "
                     "SINTER_CUDA_LIBRARY_PATH to its libnvrtc.so"));
  }
  auto* nvrtc = new Nvrtc;
  nvrtc->functions_ = &functions;
  nvrtc->version_ = absl::StrCat(major, ".", minor);
  functions.num_architectures(&count);
  std::vector<int> numbers(count);
  functions.architectures(numbers.data());
  for (int number : numbers) nvrtc->architectures_.push_back(absl::StrCat("sm_", number));
  return nvrtc;
}

absl::StatusOr<std::string> Nvrtc::Compile(const std::string& text, const std::string& name,
                                           const std::string& architecture) const {
  if (!absl::StartsWith(architecture, "sm_") ||
      std::find(architectures_.begin(), architectures_.end(), architecture) == architectures_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("NVRTC ", version_, " cannot compile for \"", architecture,
                                                   "\"; it knows ", absl::StrJoin(architectures_, ", ")));
  }
  Program program = nullptr;
  Result result = functions_->create(&program, text.c_str(), name.c_str(), 0, nullptr, nullptr);
  if (result != 0) {
    return absl::InternalError(absl::StrCat("NVRTC makes no program: ", functions_->error(result)));
  }
  const std::string target = absl::StrCat("--gpu-architecture=", architecture);
  const char* options[] = {target.c_str(), "--std=c++17", "--generate-line-info"};
  result = functions_->compile(program, std::size(options), options);
  std::string output;
  size_t size = 0;
  if (result != 0) {
    functions_->log_size(program, &size);
    output.resize(size);
    functions_->log(program, output.data());
  } else {
    functions_->cubin_size(program, &size);
    output.resize(size);
    functions_->cubin(program, output.data());
  }
  functions_->destroy(&program);
  if (result == 0) return output;
  return absl::InvalidArgumentError(absl::StrCat("NVRTC ", version_, " (", functions_->error(result),
                                                 ") for ", architecture, ":\n", output.c_str()));
}

}  // namespace sinter::codegen
