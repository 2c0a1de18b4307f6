// Version, errors and element types.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>

#include "sinter/runtime/c/sinter.h"
#include "sinter/runtime/host/dtype.h"

namespace {

constexpr uint32_t kMajor = 1, kMinor = 0;

// The last error of a thread. There may be no memory for its text.
struct LastError {
  std::string text;
  bool is_lost = false;
};

LastError& ThreadsLastError() {
  thread_local LastError error;
  return error;
}

}  // namespace

uint32_t sn_version(void) { return kMajor << 16 | kMinor; }

const char* sn_release(void) { return SINTER_VERSION; }

const char* sn_last_error(void) {
  const LastError& error = ThreadsLastError();
  return error.is_lost ? "an error, and no memory is left for its text" : error.text.c_str();
}

sn_code sn_set_last_error(sn_code code, const char* text) {
  LastError& error = ThreadsLastError();
  error.is_lost = text == nullptr;
  try {
    if (text != nullptr) error.text.assign(text);
  } catch (const std::bad_alloc&) {
    error.is_lost = true;
  }
  return code;
}

const char* sn_code_name(sn_code code) {
  static const char* const kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS"};
  return code >= 0 && static_cast<size_t>(code) < std::size(kNames) ? kNames[code] : "UNKNOWN";
}

const char* sn_dtype_name(sn_dtype dtype) {
  if (dtype < 0 || dtype >= sinter::kNumDTypes) return nullptr;
  return sinter::kDTypes[dtype].name.data();  // A literal, which ends with a zero byte.
}

int64_t sn_dtype_bytes(sn_dtype dtype) {
  return dtype < 0 || dtype >= sinter::kNumDTypes ? 0 : sinter::kDTypes[dtype].bytes;
}
