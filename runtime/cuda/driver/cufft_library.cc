#include "sinter/runtime/cuda/driver/cufft_library.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int kCufftMajor = CUFFT_VER_MAJOR;

absl::Status OpenCufft(Cufft* f) {
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "cuFFT", .file = "libcufft.so.12", .package = "nvidia-cufft"}));
  SINTER_RETURN_IF_ERROR(library.Find({
      {"cufftGetVersion", &f->GetVersion},
      {"cufftCreate", &f->Create},
      {"cufftDestroy", &f->Destroy},
      {"cufftSetAutoAllocation", &f->SetAutoAllocation},
      {"cufftMakePlanMany64", &f->MakePlanMany64},
      {"cufftSetStream", &f->SetStream},
      {"cufftSetWorkArea", &f->SetWorkArea},
      {"cufftExecC2C", &f->ExecC2C},
      {"cufftExecZ2Z", &f->ExecZ2Z},
      {"cufftExecR2C", &f->ExecR2C},
      {"cufftExecD2Z", &f->ExecD2Z},
      {"cufftExecC2R", &f->ExecC2R},
      {"cufftExecZ2D", &f->ExecZ2D},
  }));
  int version = 0;
  SINTER_RETURN_IF_ERROR(CufftStatus(f->GetVersion(&version), "say its version"));
  return library.CheckVersion(
      {.wanted = absl::StrCat(kCufftMajor, ".0 to ", kCufftMajor, ".x"),
       .found = absl::StrCat(version / 1000, ".", version / 100 % 10, ".", version % 100),
       .fits = version / 1000 == kCufftMajor});
}

}  // namespace

absl::StatusOr<const Cufft*> LoadCufft() { return LoadOnce<Cufft, OpenCufft>(); }

}  // namespace sinter
