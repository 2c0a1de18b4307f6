#include "sinter/runtime/cuda/driver/cublas_library.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int kCublasMajor = CUBLAS_VER_MAJOR;

absl::Status OpenCublas(Cublas* f) {
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "cuBLAS", .file = "libcublas.so.13", .package = "nvidia-cublas"}));
  SINTER_RETURN_IF_ERROR(library.Find({
      {"cublasGetProperty", &f->GetProperty},
      {"cublasCreate_v2", &f->Create},
      {"cublasDestroy_v2", &f->Destroy},
      {"cublasSetStream_v2", &f->SetStream},
      {"cublasSetWorkspace_v2", &f->SetWorkspace},
      {"cublasStrsm_v2_64", &f->Strsm},
      {"cublasDtrsm_v2_64", &f->Dtrsm},
      {"cublasStrsmBatched_64", &f->StrsmBatched},
      {"cublasDtrsmBatched_64", &f->DtrsmBatched},
      {"cublasSgetrfBatched", &f->SgetrfBatched},
      {"cublasDgetrfBatched", &f->DgetrfBatched},
  }));
  int major = 0, minor = 0;
  SINTER_RETURN_IF_ERROR(CublasStatus(f->GetProperty(MAJOR_VERSION, &major), "say its version", "cuBLAS"));
  SINTER_RETURN_IF_ERROR(CublasStatus(f->GetProperty(MINOR_VERSION, &minor), "say its version", "cuBLAS"));
  return library.CheckVersion({.wanted = absl::StrCat(kCublasMajor, ".0 to ", kCublasMajor, ".x"),
                               .found = absl::StrCat(major, ".", minor),
                               .fits = major == kCublasMajor});
}

}  // namespace

absl::StatusOr<const Cublas*> LoadCublas() { return LoadOnce<Cublas, OpenCublas>(); }

}  // namespace sinter
