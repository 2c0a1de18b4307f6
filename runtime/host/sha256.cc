#include "sinter/runtime/host/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sinter/runtime/host/untrusted_bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sinter {
namespace {

constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Blocks = void(uint32_t* state, const std::byte* data, size_t blocks);

void PlainBlocks(uint32_t* state, const std::byte* data, size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) w[i] = LoadBig<uint32_t>(data + 4 * i);
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    uint32_t s[8];
    std::copy(state, state + 8, s);
    for (int i = 0; i < 64; ++i) {
      const uint32_t e = s[4], a = s[0];
      const uint32_t t1 = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                          ((e & s[5]) ^ (~e & s[6])) + kRounds[i] + w[i];
      const uint32_t t2 =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
      std::copy_backward(s, s + 7, s + 8);
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) state[i] += s[i];
  }
}

#if defined(__x86_64__)
// The SHA instructions need the state in the order (a b e f) and (c d g h).
__attribute__((target("sha,sse4.1,ssse3"))) void ShaBlocks(uint32_t* state, const std::byte* data,
                                                           size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abcd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  __m128i efgh = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  abcd = _mm_shuffle_epi32(abcd, 0xB1);
  efgh = _mm_shuffle_epi32(efgh, 0x1B);
  __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xF0);
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i old_abef = abef, old_cdgh = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i), swap);
    }
    for (int i = 0; i < 16; ++i) {
      __m128i sum = _mm_add_epi32(w[0], _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRounds) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
      __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
      next = _mm_sha256msg2_epu32(next, w[3]);
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
    abef = _mm_add_epi32(abef, old_abef);
    cdgh = _mm_add_epi32(cdgh, old_cdgh);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool HasShaInstructions() {
  // __builtin_cpu_supports of gcc 12 does not know "sha". CPUID leaf 7, EBX bit 29 reports it.
  uint32_t eax = 7, ebx = 0, ecx = 0, edx = 0;
  __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
  return (ebx >> 29 & 1) != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

Blocks* BestBlocks() {
  static Blocks* const best = HasShaInstructions() ? ShaBlocks : PlainBlocks;
  return best;
}
#else
Blocks* BestBlocks() { return PlainBlocks; }
#endif

}  // namespace

void Sha256::Update(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  if (num_pending_ > 0) {
    const size_t taken = std::min(bytes.size(), 64 - num_pending_);
    std::copy_n(bytes.data(), taken, pending_ + num_pending_);
    num_pending_ += taken;
    bytes = bytes.subspan(taken);
    if (num_pending_ < 64) return;
    BestBlocks()(state_, pending_, 1);
    num_pending_ = 0;
  }
  BestBlocks()(state_, bytes.data(), bytes.size() / 64);
  num_pending_ = bytes.size() % 64;
  std::copy_n(bytes.data() + bytes.size() - num_pending_, num_pending_, pending_);
}

Sha256::Bytes Sha256::Digest() {
  const uint64_t bits = total_ * 8;
  std::byte end[72] = {std::byte{0x80}};
  const size_t zeros = (num_pending_ < 56 ? 56 : 120) - num_pending_;
  for (int i = 0; i < 8; ++i) end[zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  Update({end, zeros + 8});
  Bytes digest;
  for (int i = 0; i < 32; ++i) digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string HexText(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace sinter
