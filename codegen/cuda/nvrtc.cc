#include "sinter/codegen/cuda/nvrtc.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/cuda/library_loader.h"
#include "sinter/runtime/status.h"

namespace sinter::codegen {

namespace {

// The part of NVRTC's C interface that is used here; stable since CUDA 11.2. No header of CUDA is needed to build.
using Program = struct Opaque*;
using Result = int;

constexpr int kOldest = 12;

// Nothing but the path for a file that cannot be looked at.
std::string FileIdentity(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return path;
  return absl::StrCat(path, " of ", info.st_size, " bytes, ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
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
  absl::StatusOr<OpenedLibrary> library = OpenLibrary({.title = "NVRTC",
                                                       .file = "libnvrtc.so.13",
                                                       .package = "nvidia-cuda-nvrtc",
                                                       .older = "libnvrtc.so.12"});
  if (!library.ok()) {
    return absl::Status(library.status().code(), absl::StrCat("a program for a GPU is compiled: ",
                                                              std::string(library.status().message())));
  }
  static Functions f;
  SINTER_RETURN_IF_ERROR(library->Find({
      {"nvrtcVersion", &f.version},
      {"nvrtcGetNumSupportedArchs", &f.num_architectures},
      {"nvrtcGetSupportedArchs", &f.architectures},
      {"nvrtcCreateProgram", &f.create},
      {"nvrtcDestroyProgram", &f.destroy},
      {"nvrtcCompileProgram", &f.compile},
      {"nvrtcGetProgramLogSize", &f.log_size},
      {"nvrtcGetProgramLog", &f.log},
      {"nvrtcGetCUBINSize", &f.cubin_size},
      {"nvrtcGetCUBIN", &f.cubin},
      {"nvrtcGetErrorString", &f.error},
  }));
  int major = 0, minor = 0, count = 0;
  f.version(&major, &minor);
  SINTER_RETURN_IF_ERROR(library->CheckVersion(
      {.wanted = "12.0 or newer", .found = absl::StrCat(major, ".", minor), .fits = major >= kOldest}));
  auto* nvrtc = new Nvrtc;
  nvrtc->functions_ = &f;
  nvrtc->version_ = absl::StrCat(major, ".", minor);
  nvrtc->build_ = absl::StrCat(nvrtc->version_, " ", FileIdentity(library->path()));
  f.num_architectures(&count);
  std::vector<int> numbers(count);
  f.architectures(numbers.data());
  for (int number : numbers) nvrtc->architectures_.push_back(absl::StrCat("sm_", number));
  return nvrtc;
}

std::vector<std::string> Nvrtc::Options(const std::string& architecture) {
  return {absl::StrCat("--gpu-architecture=", architecture), "--std=c++17", "--generate-line-info"};
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
  const std::vector<std::string> texts = Options(architecture);
  std::vector<const char*> options;
  for (const std::string& option : texts) options.push_back(option.c_str());
  result = functions_->compile(program, static_cast<int>(options.size()), options.data());
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
