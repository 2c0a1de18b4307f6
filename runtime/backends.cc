// The back ends of this build: the one list, and the one place that depends on what was built.
#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cpu/cpu_backend.h"
#include "sinter/runtime/memory/backend.h"
#ifdef SINTER_WITH_CUDA
#include "sinter/runtime/cuda/cuda_backend.h"
#endif

namespace sinter {
namespace {

// Rows are only ever appended, so that reading them needs no lock. A kind has one row at most.
struct BackendTable {
  std::mutex mutex;  // Held while a row is added.
  std::array<const Backend*, kMaxDeviceKinds> rows = {
      &CpuBackend(),
#ifdef SINTER_WITH_CUDA
      &CudaBackend(),
#endif
  };
  std::atomic<size_t> count = 0;

  BackendTable() {
    while (rows[count] != nullptr) ++count;
  }
};

BackendTable& TheBackends() {
  static BackendTable& table = *new BackendTable;
  return table;
}

const Backend* BackendOf(DeviceKind kind) {
  for (const Backend* const backend : Backends()) {
    if (backend->kind() == kind) return backend;
  }
  return nullptr;
}

// `name` is what the error calls the kind or the device.
absl::StatusOr<const Backend*> FindBackendFor(DeviceKind kind, const std::string& name) {
  if (const Backend* const backend = BackendOf(kind); backend != nullptr) return backend;
  if (kind != DeviceKind::kGpu) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, ": this program has no back end for such devices; register one (RegisterBackend)"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name,
                   ": this build of Sinter has no CUDA; build it with -D SINTER_CUDA=ON, which says what of "
                   "CUDA's toolkit is missing, and scripts/bootstrap.sh --cuda fetches it"));
}

}  // namespace

std::span<const Backend* const> Backends() {
  return std::span(TheBackends().rows).first(TheBackends().count);
}

absl::Status RegisterBackend(const Backend& backend) {
  BackendTable& table = TheBackends();
  const std::lock_guard lock(table.mutex);
  if (BackendOf(backend.kind()) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(
        "devices of kind ", std::string(DeviceKindName(backend.kind())), " have a back end already"));
  }
  table.rows[table.count] = &backend;
  ++table.count;
  return absl::OkStatus();
}

absl::StatusOr<const Backend*> FindBackend(DeviceKind kind) {
  return FindBackendFor(kind, std::string(DeviceKindName(kind)));
}

absl::StatusOr<const Backend*> FindBackend(Device device) {
  return FindBackendFor(device.kind(), device.ToString());
}

}  // namespace sinter
