// The back ends of this build: the one list, and the one place that depends on what was built.
#include <array>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cpu/cpu_backend.h"
#include "sinter/runtime/memory/backend.h"
#ifdef SINTER_WITH_CUDA
#include "sinter/runtime/cuda/cuda_backend.h"
#endif

namespace sinter {

std::span<const Backend* const> Backends() {
  static const std::array backends = {
      &CpuBackend(),
#ifdef SINTER_WITH_CUDA
      &CudaBackend(),
#endif
  };
  return backends;
}

absl::StatusOr<const Backend*> FindBackend(DeviceKind kind) {
  for (const Backend* const backend : Backends()) {
    if (backend->kind() == kind) return backend;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(DeviceKindName(kind)),
                   ": this build of Sinter has no CUDA; build it with -D SINTER_CUDA=ON, which says what of "
                   "CUDA's toolkit is missing, and scripts/bootstrap.sh --cuda fetches it"));
}

}  // namespace sinter
