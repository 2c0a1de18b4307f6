// The tiles of int8_tile.h, compiled once for each instruction set (batch_isa.h).
#include "sinter/kernels/cpu/images/batch_lanes.h"
#include "sinter/kernels/cpu/matmul/int8_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sinter::kernels {
namespace {

// The sums, kRows times two vectors, the vectors of b and one word of a must fit in the registers.
constexpr int kRows = kLanes == 16 ? 12 : 6, kVectors = 2;
static_assert(kRows <= kMostInt8Rows && kVectors * kLanes <= kMostInt8Columns);

typedef int32_t Words __attribute__((vector_size(kLanes * sizeof(int32_t))));

// Adds the products of two i16 in each word.
struct Pairs {
  static constexpr int kTerms = 2;
  static SINTER_ALWAYS_INLINE Words Add(Words sum, Words a, Words b) {
#if defined(__AVX512BW__)
    return sum + reinterpret_cast<Words>(
                     _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
    return sum + reinterpret_cast<Words>(
                     _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
    // Shifts extend the sign of the low half.
    return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
  }
};

#if defined(__AVX512BW__)
// Adds the products of four unsigned and four signed bytes in each word, without saturation.
struct Quads {
  static constexpr int kTerms = 4;
  static SINTER_ALWAYS_INLINE Words Add(Words sum, Words a, Words b) {
    // The instruction is beyond the instruction set of this file: only callers that found it call it.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
  }
};
#endif

template <typename Dot>
void MultiplyInt8(const Int8Tile& tile) {
  Words sum[kRows][kVectors];
  int32_t* place = tile.sums;
  SINTER_UNROLL
  for (int i = 0; i < kRows; ++i, place += tile.sums_stride) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) std::memcpy(&sum[i][v], place + v * kLanes, sizeof(Words));
  }
  const uint32_t* a = tile.a;
  const uint32_t* b = tile.b;
  for (int64_t step = 0; step < tile.steps; ++step, a += kRows, b += kVectors * kLanes) {
    Words column[kVectors];
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) std::memcpy(&column[v], b + v * kLanes, sizeof(Words));
    SINTER_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Words row = static_cast<int32_t>(a[i]) - Words{};  // Broadcasts.
      SINTER_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = Dot::Add(sum[i][v], row, column[v]);
    }
  }
  place = tile.sums;
  SINTER_UNROLL
  for (int i = 0; i < kRows; ++i, place += tile.sums_stride) {
    SINTER_UNROLL
    for (int v = 0; v < kVectors; ++v) std::memcpy(place + v * kLanes, &sum[i][v], sizeof(Words));
  }
}

template <typename Dot>
constexpr Int8Kernels KernelsOf() {
  return {.rows = kRows, .columns = kVectors * kLanes, .terms = Dot::kTerms, .multiply = MultiplyInt8<Dot>};
}

}  // namespace

template <>
const Int8Kernels& Int8KernelsOf<kIsa>([[maybe_unused]] bool has_dot_product) {
  static constexpr Int8Kernels kPairs = KernelsOf<Pairs>();
#if defined(__AVX512BW__)
  static constexpr Int8Kernels kQuads = KernelsOf<Quads>();
  if (has_dot_product) return kQuads;
#endif
  return kPairs;
}

}  // namespace sinter::kernels
