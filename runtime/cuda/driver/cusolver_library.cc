#include "sinter/runtime/cuda/driver/cusolver_library.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int kCusolverMajor = CUSOLVER_VER_MAJOR;

absl::Status OpenCusolver(Cusolver* f) {
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "cuSOLVER", .file = "libcusolver.so.12", .package = "nvidia-cusolver"}));
  SINTER_RETURN_IF_ERROR(library.Find({
      {"cusolverGetProperty", &f->GetProperty},
      {"cusolverDnCreate", &f->Create},
      {"cusolverDnDestroy", &f->Destroy},
      {"cusolverDnSetStream", &f->SetStream},
      {"cusolverDnSetDeterministicMode", &f->SetDeterministicMode},
      {"cusolverDnCreateParams", &f->CreateParams},
      {"cusolverDnDestroyParams", &f->DestroyParams},
      {"cusolverDnCreateSyevjInfo", &f->CreateSyevjInfo},
      {"cusolverDnDestroySyevjInfo", &f->DestroySyevjInfo},
      {"cusolverDnCreateGesvdjInfo", &f->CreateGesvdjInfo},
      {"cusolverDnDestroyGesvdjInfo", &f->DestroyGesvdjInfo},
      {"cusolverDnXpotrf_bufferSize", &f->XpotrfBufferSize},
      {"cusolverDnXpotrf", &f->Xpotrf},
      {"cusolverDnSpotrfBatched", &f->SpotrfBatched},
      {"cusolverDnDpotrfBatched", &f->DpotrfBatched},
      {"cusolverDnXgetrf_bufferSize", &f->XgetrfBufferSize},
      {"cusolverDnXgetrf", &f->Xgetrf},
      {"cusolverDnXgeqrf_bufferSize", &f->XgeqrfBufferSize},
      {"cusolverDnXgeqrf", &f->Xgeqrf},
      {"cusolverDnSorgqr_bufferSize", &f->SorgqrBufferSize},
      {"cusolverDnDorgqr_bufferSize", &f->DorgqrBufferSize},
      {"cusolverDnSorgqr", &f->Sorgqr},
      {"cusolverDnDorgqr", &f->Dorgqr},
      {"cusolverDnSsyevjBatched_bufferSize", &f->SsyevjBatchedBufferSize},
      {"cusolverDnDsyevjBatched_bufferSize", &f->DsyevjBatchedBufferSize},
      {"cusolverDnSsyevjBatched", &f->SsyevjBatched},
      {"cusolverDnDsyevjBatched", &f->DsyevjBatched},
      {"cusolverDnXsyevBatched_bufferSize", &f->XsyevBatchedBufferSize},
      {"cusolverDnXsyevBatched", &f->XsyevBatched},
      {"cusolverDnXsyevd_bufferSize", &f->XsyevdBufferSize},
      {"cusolverDnXsyevd", &f->Xsyevd},
      {"cusolverDnSgesvdjBatched_bufferSize", &f->SgesvdjBatchedBufferSize},
      {"cusolverDnDgesvdjBatched_bufferSize", &f->DgesvdjBatchedBufferSize},
      {"cusolverDnSgesvdjBatched", &f->SgesvdjBatched},
      {"cusolverDnDgesvdjBatched", &f->DgesvdjBatched},
      {"cusolverDnSgesvdj_bufferSize", &f->SgesvdjBufferSize},
      {"cusolverDnDgesvdj_bufferSize", &f->DgesvdjBufferSize},
      {"cusolverDnSgesvdj", &f->Sgesvdj},
      {"cusolverDnDgesvdj", &f->Dgesvdj},
  }));
  int major = 0, minor = 0;
  SINTER_RETURN_IF_ERROR(CusolverStatus(f->GetProperty(MAJOR_VERSION, &major), "say its version"));
  SINTER_RETURN_IF_ERROR(CusolverStatus(f->GetProperty(MINOR_VERSION, &minor), "say its version"));
  return library.CheckVersion({.wanted = absl::StrCat(kCusolverMajor, ".0 to ", kCusolverMajor, ".x"),
                               .found = absl::StrCat(major, ".", minor),
                               .fits = major == kCusolverMajor});
}

}  // namespace

absl::StatusOr<const Cusolver*> LoadCusolver() { return LoadOnce<Cusolver, OpenCusolver>(); }

}  // namespace sinter
