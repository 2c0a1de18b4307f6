// Loads numbers from untrusted bytes, appends numbers to strings, and handles bad_alloc in parsers.
//
//   uint32_t rows = LoadBig<uint32_t>(bytes.data() + 4);  // The caller has checked that 4 + 4 bytes exist.
//   return WithinMemory(path, [&]() -> absl::StatusOr<Header> { return Parse(bytes); });
#ifndef SINTER_RUNTIME_HOST_UNTRUSTED_BYTES_H_
#define SINTER_RUNTIME_HOST_UNTRUSTED_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sinter {

static_assert(std::endian::native == std::endian::little,
              "Sinter's files and kernels assume a little-endian machine");

template <typename T>
T LoadLittle(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// T must be an unsigned integer.
template <typename T>
T LoadBig(const std::byte* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>((value << 8) | std::to_integer<T>(from[i]));
  return value;
}

template <typename T>
void AppendLittle(T value, std::string* to) {
  to->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Returns the position of the first byte that is neither 0 nor 1; nullopt if there is none. Such bytes must
// not become elements of an i1 tensor.
inline std::optional<size_t> FindBadBool(std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (std::to_integer<int>(bytes[i]) > 1) return i;
  }
  return std::nullopt;
}

// Returns the result of `read`, an absl::Status or StatusOr; ResourceExhausted if it throws std::bad_alloc. A
// parser may need a hundred bytes for one byte of the file `name`. All of its memory is freed before the
// message is made.
template <typename Read>
auto WithinMemory(const std::string& name, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
  }
  return absl::ResourceExhaustedError(absl::StrCat(name, ": the main memory has no room for what it holds"));
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_UNTRUSTED_BYTES_H_
