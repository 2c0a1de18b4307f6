// A shared object loaded from memory, without a file on disk; the destructor unloads it.
//
//   SINTER_ASSIGN_OR_RETURN(LoadedCode code, LoadedCode::Load(bytes));
//   void* symbol = dlsym(code.handle(), "kernel");
//
// Loading native code runs it: the bytes must come from a trusted source.
#ifndef SINTER_RUNTIME_HOST_LOADED_CODE_H_
#define SINTER_RUNTIME_HOST_LOADED_CODE_H_

#include <cstddef>
#include <span>
#include <utility>

#include "absl/status/statusor.h"

namespace sinter {

class LoadedCode {
 public:
  // Empty: handle() is null.
  LoadedCode() = default;
  // InvalidArgument with the loader's reason if the bytes are not a shared object that this system can load.
  static absl::StatusOr<LoadedCode> Load(std::span<const std::byte> bytes);

  LoadedCode(LoadedCode&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), fd_(std::exchange(other.fd_, -1)) {}
  LoadedCode& operator=(LoadedCode&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~LoadedCode();

  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
  int fd_ = -1;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LOADED_CODE_H_
