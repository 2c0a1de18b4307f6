// Turns the body of a function of the C interface into its code: no exception leaves, and the text of an
// error is kept for sn_last_error.
//
//   sn_code sn_plan_load(const char* path, sn_plan** out) {
//     return Call([&]() -> absl::Status {
//       SINTER_RETURN_IF_ERROR(CheckPointer(path, "path"));
//       ...
//     });
//   }
#ifndef SINTER_RUNTIME_C_CALL_H_
#define SINTER_RUNTIME_C_CALL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/c/sinter.h"
#include "sinter/runtime/host/status.h"

namespace sinter::c_interface {

// Keeps the status's text and returns its code. Never throws: without memory for the text, the text says so.
sn_code Finish(const absl::Status& status) noexcept;

// InvalidArgument, which names the parameter, if the pointer is null.
absl::Status CheckPointer(const void* pointer, const char* parameter);

// Calls `body`, which returns an absl::Status.
template <typename Body>
sn_code Call(const Body& body) noexcept {
  try {
    return Finish(body());
  } catch (const std::bad_alloc&) {
    return sn_set_last_error(SN_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::exception& error) {
    return sn_set_last_error(SN_INTERNAL, error.what());
  } catch (...) {
    return sn_set_last_error(SN_INTERNAL, "an exception of an unknown type");
  }
}

// Copies a caller's struct, which begins with its size, to `to`; members beyond that size become zero. Null:
// all zero. InvalidArgument: the size is none. Unimplemented: the caller's struct is newer and sets members
// that this library does not know.
template <typename Options>
absl::Status ReadOptions(const Options* from, const char* type, Options& to) {
  to = Options{};
  if (from == nullptr) return absl::OkStatus();
  const size_t size = from->size;
  if (size < 2 * sizeof(uint32_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat(type, "::size is ", size, ": set it to sizeof(", type, "), ", sizeof(Options)));
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(from);
  for (size_t i = sizeof(Options); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return absl::UnimplementedError(absl::StrCat(type, " of ", size, " bytes sets byte ", i,
                                                 ": this library knows the first ", sizeof(Options),
                                                 " bytes; use a newer one, or leave the member zero"));
  }
  std::memcpy(&to, from, std::min(size, sizeof(Options)));
  return absl::OkStatus();
}

}  // namespace sinter::c_interface

#endif  // SINTER_RUNTIME_C_CALL_H_
