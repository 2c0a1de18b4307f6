#include "sinter/runtime/cuda/driver/cublaslt_library.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr size_t kCublasLtMajor = CUBLAS_VER_MAJOR;

absl::Status Open(CublasLt* f) {
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "cuBLASLt", .file = "libcublasLt.so.13", .package = "nvidia-cublas"}));
  SINTER_RETURN_IF_ERROR(library.Find({
      {"cublasLtGetVersion", &f->GetVersion},
      {"cublasLtCreate", &f->Create},
      {"cublasLtDestroy", &f->Destroy},
      {"cublasLtMatmul", &f->Matmul},
      {"cublasLtMatmulDescCreate", &f->MatmulDescCreate},
      {"cublasLtMatmulDescDestroy", &f->MatmulDescDestroy},
      {"cublasLtMatmulDescSetAttribute", &f->MatmulDescSetAttribute},
      {"cublasLtMatrixLayoutCreate", &f->MatrixLayoutCreate},
      {"cublasLtMatrixLayoutDestroy", &f->MatrixLayoutDestroy},
      {"cublasLtMatrixLayoutSetAttribute", &f->MatrixLayoutSetAttribute},
      {"cublasLtMatmulPreferenceCreate", &f->MatmulPreferenceCreate},
      {"cublasLtMatmulPreferenceDestroy", &f->MatmulPreferenceDestroy},
      {"cublasLtMatmulPreferenceSetAttribute", &f->MatmulPreferenceSetAttribute},
      {"cublasLtMatmulAlgoGetHeuristic", &f->MatmulAlgoGetHeuristic},
      {"cublasLtMatmulAlgoConfigGetAttribute", &f->MatmulAlgoConfigGetAttribute},
  }));
  return library.CheckVersion({.wanted = absl::StrCat(kCublasLtMajor, ".0 to ", kCublasLtMajor, ".x"),
                               .found = VersionOf(*f),
                               .fits = f->GetVersion() / 10000 == kCublasLtMajor});
}

}  // namespace

std::string VersionOf(const CublasLt& cublas) {
  const size_t version = cublas.GetVersion();
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

absl::StatusOr<const CublasLt*> LoadCublasLt() { return LoadOnce<CublasLt, Open>(); }

}  // namespace sinter
