// Numbers out of bytes that nobody vouches for, and the other way round.
//
//   uint32_t rows = LoadBig<uint32_t>(bytes.data() + 4);        // The caller has checked that 4 + 4 bytes
//   exist. std::optional<int64_t> n = CheckedByteSize({rows, cols}, DType::kF32);    // nullopt: no such
//   tensor can exist.
#ifndef SINTER_RUNTIME_UNTRUSTED_BYTES_H_
#define SINTER_RUNTIME_UNTRUSTED_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

namespace sinter {

static_assert(std::endian::native == std::endian::little,
              "Sinter's files and kernels assume a little-endian machine");

template <typename T>
T LoadLittle(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// T is an unsigned integer.
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

// Position of the first byte that is neither 0 nor 1: such bytes must not become elements of an i1 tensor.
inline std::optional<size_t> FindBadBool(std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (std::to_integer<int>(bytes[i]) > 1) return i;
  }
  return std::nullopt;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_UNTRUSTED_BYTES_H_
