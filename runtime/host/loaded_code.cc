#include "sinter/runtime/host/loaded_code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"

namespace sinter {

absl::StatusOr<LoadedCode> LoadedCode::Load(std::span<const std::byte> bytes) {
  const int fd = memfd_create("sinter-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a file in memory for the plan's code");
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written > 0) {
      bytes = bytes.subspan(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      status = absl::ErrnoToStatus(errno, "cannot copy the plan's code into memory");
    }
  }
  // Other processes of this user can open the descriptor. The seals keep the verified bytes unchanged while
  // they are loaded.
  if (status.ok() && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    status = absl::ErrnoToStatus(errno, "cannot seal the plan's code in memory");
  }
  LoadedCode code;
  // The descriptor stays open while the code is loaded. The loader identifies objects by name, and the name
  // contains the descriptor's number. If this descriptor were closed, the next plan's code could get the same
  // name.
  code.fd_ = fd;
  if (status.ok()) {
    code.handle_ = dlopen(absl::StrCat("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (code.handle_ == nullptr) {
      const char* const reason = dlerror();
      status = absl::InvalidArgumentError(
          absl::StrCat("the plan's code cannot be loaded: ", reason == nullptr ? "no reason given" : reason));
    }
  }
  if (!status.ok()) return status;
  return code;
}

LoadedCode::~LoadedCode() {
  if (handle_ != nullptr) dlclose(handle_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace sinter
