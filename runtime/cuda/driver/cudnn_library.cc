#include "sinter/runtime/cuda/driver/cudnn_library.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr size_t kCudnnMajor = CUDNN_MAJOR;

absl::Status Open(Cudnn* f) {
  // cuDNN opens these two by name when one of its engines needs them, and searches its own folder and the
  // loader's folders. Opening them first makes them available from any folder of SINTER_CUDA_LIBRARY_PATH.
  // Without them cuDNN has fewer engines, and reports this if none is left.
  (void)OpenLibrary({.title = "cuBLASLt", .file = "libcublasLt.so.13", .package = "nvidia-cublas"});
  (void)OpenLibrary({.title = "NVRTC", .file = "libnvrtc.so.13", .package = "nvidia-cuda-nvrtc"});
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "cuDNN", .file = "libcudnn.so.9", .package = "nvidia-cudnn-cu13"}));
  SINTER_RETURN_IF_ERROR(library.Find({
      {"cudnnGetVersion", &f->GetVersion},
      {"cudnnGetLastErrorString", &f->GetLastErrorString},
      {"cudnnCreate", &f->Create},
      {"cudnnDestroy", &f->Destroy},
      {"cudnnSetStream", &f->SetStream},
      {"cudnnBackendCreateDescriptor", &f->CreateDescriptor},
      {"cudnnBackendDestroyDescriptor", &f->DestroyDescriptor},
      {"cudnnBackendFinalize", &f->Finalize},
      {"cudnnBackendSetAttribute", &f->SetAttribute},
      {"cudnnBackendGetAttribute", &f->GetAttribute},
      {"cudnnBackendExecute", &f->Execute},
  }));
  // cuDNN's sub-libraries, which it opens by name on first use. Without one of them it has fewer engines, as
  // above.
  for (const char* const part :
       {"libcudnn_graph.so.9", "libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9",
        "libcudnn_engines_runtime_compiled.so.9"}) {
    (void)OpenLibrary({.title = "cuDNN", .file = part, .package = "nvidia-cudnn-cu13"});
  }
  const size_t version = f->GetVersion();
  return library.CheckVersion(
      {.wanted = absl::StrCat(kCudnnMajor, ".0 to ", kCudnnMajor, ".x"),
       .found = absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100),
       .fits = version / 10000 == kCudnnMajor});
}

}  // namespace

absl::Status Cudnn::Check(cudnnStatus_t code, std::string_view what) const {
  if (code == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char details[512] = "";
  GetLastErrorString(details, sizeof(details));
  return CudnnStatus(code, what, details);
}

absl::StatusOr<const Cudnn*> LoadCudnn() { return LoadOnce<Cudnn, Open>(); }

}  // namespace sinter
