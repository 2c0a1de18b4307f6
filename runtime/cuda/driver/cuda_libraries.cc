#include "sinter/runtime/cuda/driver/cuda_libraries.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cublas_library.h"
#include "sinter/runtime/cuda/driver/cublaslt_library.h"
#include "sinter/runtime/cuda/driver/cudnn_library.h"
#include "sinter/runtime/cuda/driver/cufft_library.h"
#include "sinter/runtime/cuda/driver/cusolver_library.h"
#include "sinter/runtime/cuda/driver/nccl_library.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

absl::Status OpenNvrtc() {
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "NVRTC", .file = "libnvrtc.so.13", .package = "nvidia-cuda-nvrtc"}));
  int (*version)(int* major, int* minor) = nullptr;
  SINTER_RETURN_IF_ERROR(library.Find({{"nvrtcVersion", &version}}));
  int major = 0, minor = 0;
  if (version(&major, &minor) != 0) return absl::InternalError("NVRTC does not say its version");
  return library.CheckVersion(
      {.wanted = "13.x", .found = absl::StrCat(major, ".", minor), .fits = major == 13});
}

}  // namespace

std::vector<LibraryReport> FindCudaLibraries() {
  const std::pair<std::string_view, absl::Status> opened[] = {{"cuBLASLt", LoadCublasLt().status()},
                                                              {"cuDNN", LoadCudnn().status()},
                                                              {"cuBLAS", LoadCublas().status()},
                                                              {"cuSOLVER", LoadCusolver().status()},
                                                              {"cuFFT", LoadCufft().status()},
                                                              {"NCCL", LoadNccl().status()},
                                                              {"NVRTC", OpenNvrtc()}};
  const std::vector<UsedLibrary> used = UsedLibraries();
  std::vector<LibraryReport> reports;
  for (const auto& [name, status] : opened) {
    LibraryReport report = {.name = std::string(name), .status = status};
    const auto found = std::ranges::find(used, report.name, &UsedLibrary::title);
    if (status.ok() && found != used.end()) report.version = found->version, report.path = found->path;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace sinter
