#include "sinter/codegen/cuda/nvrtc.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// The part of NVRTC's C interface that is used here; stable since CUDA 11.2. Building needs no CUDA header.
using Program = struct Opaque*;
using Result = int;

constexpr int kOldest = 12;
// The first version with the option --minimal.
constexpr std::pair<int, int> kMinimalSince = {12, 4};
// Values of nvrtcResult.
constexpr Result kOutOfMemory = 1, kCompilation = 6;

// Returns only the path if the file's status cannot be read.
std::string FileIdentity(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return path;
  return absl::StrCat(path, " of ", info.st_size, " bytes, ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

// Adds kSourceFolder to the file names of the text's #line directives that have no folder.
// codegen/steps/elementwise_text.cc writes these directives, at the start of a line.
std::string WithFolderInLines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t quote = line.starts_with("#line ") ? line.find('"') : line.npos;
    const size_t name = quote == line.npos ? 0 : quote + 1;
    result.append(line.substr(0, name));
    if (name > 0 && !line.substr(name).starts_with('/')) result.append(Nvrtc::kSourceFolder);
    result.append(line.substr(name)).append("\n");
  }
  return result;
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

absl::StatusOr<const Nvrtc*> Nvrtc::Get() { return LoadOnce<Nvrtc, Open>(); }

absl::Status Nvrtc::Open(Nvrtc* nvrtc) {
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
  *nvrtc = {};
  nvrtc->functions_ = &f;
  int major = 0, minor = 0, count = 0;
  SINTER_RETURN_IF_ERROR(nvrtc->Check(f.version(&major, &minor), "say its version"));
  SINTER_RETURN_IF_ERROR(library->CheckVersion(
      {.wanted = "12.0 or newer", .found = absl::StrCat(major, ".", minor), .fits = major >= kOldest}));
  nvrtc->version_ = absl::StrCat(major, ".", minor);
  nvrtc->knows_minimal_ = std::pair(major, minor) >= kMinimalSince;
  nvrtc->build_ = absl::StrCat(nvrtc->version_, " ", FileIdentity(library->path()));
  SINTER_RETURN_IF_ERROR(nvrtc->Check(f.num_architectures(&count), "count its architectures"));
  std::vector<int> numbers(static_cast<size_t>(count));
  SINTER_RETURN_IF_ERROR(nvrtc->Check(f.architectures(numbers.data()), "list its architectures"));
  for (int number : numbers) nvrtc->architectures_.push_back(absl::StrCat("sm_", number));
  return absl::OkStatus();
}

absl::Status Nvrtc::Check(int result, const char* what) const {
  if (result == 0) return absl::OkStatus();
  const auto code =
      result == kOutOfMemory ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kInternal;
  return absl::Status(code, absl::StrCat("NVRTC could not ", what, ": ", functions_->error(result)));
}

std::vector<std::string> Nvrtc::Options(const std::string& architecture, CudaLanguage language) const {
  std::vector<std::string> options = {absl::StrCat("--gpu-architecture=", architecture), "--std=c++17",
                                      "--generate-line-info"};
  if (language == CudaLanguage::kMinimal && knows_minimal_) options.push_back("--minimal");
  return options;
}

absl::StatusOr<std::string> Nvrtc::Compile(const std::string& text, const std::string& name,
                                           const std::string& architecture, CudaLanguage language) const {
  // NVRTC lists "sm_90", and compiles for "sm_90a" as well.
  const std::string listed(absl::StripSuffix(architecture, "a"));
  if (!absl::StartsWith(architecture, "sm_") ||
      std::find(architectures_.begin(), architectures_.end(), listed) == architectures_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("NVRTC ", version_, " cannot compile for \"", architecture,
                                                   "\"; it knows ", absl::StrJoin(architectures_, ", ")));
  }
  Program program = nullptr;
  const std::string source = WithFolderInLines(text), path = absl::StrCat(kSourceFolder, name);
  SINTER_RETURN_IF_ERROR(Check(
      functions_->create(&program, source.c_str(), path.c_str(), 0, nullptr, nullptr), "make a program"));
  const std::vector<std::string> texts = Options(architecture, language);
  std::vector<const char*> options;
  for (const std::string& option : texts) options.push_back(option.c_str());
  const Result result = functions_->compile(program, static_cast<int>(options.size()), options.data());
  absl::StatusOr<std::string> cubin;
  if (result == kCompilation) {
    cubin = absl::InvalidArgumentError(absl::StrCat("NVRTC ", version_, " (", functions_->error(result),
                                                    ") for ", architecture, ":\n", LogOf(program)));
  } else if (result != 0) {
    cubin = Check(result, "compile a program");
  } else {
    cubin = CubinOf(program);
  }
  functions_->destroy(&program);
  return cubin;
}

absl::StatusOr<std::string> Nvrtc::CubinOf(Program program) const {
  size_t size = 0;
  SINTER_RETURN_IF_ERROR(Check(functions_->cubin_size(program, &size), "tell the size of what it compiled"));
  std::string cubin(size, '\0');
  SINTER_RETURN_IF_ERROR(Check(functions_->cubin(program, cubin.data()), "give what it compiled"));
  return cubin;
}

std::string Nvrtc::LogOf(Program program) const {
  size_t size = 0;
  absl::Status status = Check(functions_->log_size(program, &size), "tell the size of its log");
  std::string log(size, '\0');
  if (status.ok()) status = Check(functions_->log(program, log.data()), "give its log");
  // The log ends with a zero.
  return status.ok() ? absl::StrReplaceAll(log.c_str(), {{kSourceFolder, ""}})
                     : std::string(status.message());
}

}  // namespace sinter::codegen
