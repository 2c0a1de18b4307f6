// SHA-256 (FIPS 180-4), for content hashes.
//
//   Sha256 hash;
//   hash.Update(AsBytes("abc"));
//   std::array<uint8_t, 32> digest = hash.Digest();
//
// About 2 GB/s with the x86 SHA instructions, which are used if the CPU has them; about 0.3 GB/s without.
#ifndef SINTER_RUNTIME_HOST_SHA256_H_
#define SINTER_RUNTIME_HOST_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sinter {

class Sha256 {
 public:
  using Bytes = std::array<uint8_t, 32>;

  void Update(std::span<const std::byte> bytes);
  // Ends the message. Call it only once.
  Bytes Digest();

 private:
  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::byte pending_[64];
  size_t num_pending_ = 0;
  uint64_t total_ = 0;
};

inline constexpr size_t kSha256Digits = 64;  // Hexadecimal digits of a digest.

// Returns lower-case hexadecimal digits.
std::string HexText(std::span<const uint8_t> bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_SHA256_H_
