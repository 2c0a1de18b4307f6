#include "sinter/runtime/c/call.h"

#include <string>

namespace sinter::c_interface {

sn_code Finish(const absl::Status& status) noexcept {
  if (status.ok()) return SN_OK;
  const auto code = static_cast<sn_code>(status.raw_code());
  try {
    return sn_set_last_error(code, std::string(status.message()).c_str());
  } catch (const std::bad_alloc&) {
    return sn_set_last_error(code, nullptr);
  }
}

absl::Status CheckPointer(const void* pointer, const char* parameter) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("`", parameter, "` is null"));
}

}  // namespace sinter::c_interface
