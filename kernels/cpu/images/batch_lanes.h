// The vector type and the register budget of files that are compiled for each instruction set.
//
// A pixel is 16 floats: kPieces vectors of kLanes. Kernels process one piece of every pixel, then the next
// piece, so that the same source serves all vector widths. Everything here has internal linkage; batch_isa.h
// explains why.
#ifndef SINTER_KERNELS_CPU_IMAGES_BATCH_LANES_H_
#define SINTER_KERNELS_CPU_IMAGES_BATCH_LANES_H_

#include <cstdint>
#include <cstring>

#include "sinter/kernels/cpu/images/batch_isa.h"

#if !defined(SINTER_BATCH_ISA)
#error "only for files that kernels/CMakeLists.txt compiles for each instruction set"
#endif

#if defined(__clang__)
#define SINTER_UNROLL _Pragma("unroll")
#else
#define SINTER_UNROLL _Pragma("GCC unroll 32")
#endif
#define SINTER_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace sinter::kernels {
// Every file needs its own copy, compiled for its instruction set.
namespace {  // NOLINT(google-build-namespaces)

inline constexpr Isa kIsa = Isa::SINTER_BATCH_ISA;
#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
inline constexpr int kAccumulators = 27;  // There are 32 registers.
#elif defined(__AVX__)
inline constexpr int kLanes = 8;
inline constexpr int kAccumulators = 12;  // There are 16 registers.
#else
inline constexpr int kLanes = 4;
inline constexpr int kAccumulators = 12;
#endif
inline constexpr int kPixel = 16;  // Floats in a pixel.
inline constexpr int kPieces = kPixel / kLanes;
static_assert(kPixel == kBatchBlock);

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t IntLanes __attribute__((vector_size(kLanes * sizeof(int32_t))));
typedef uint8_t ByteLanes __attribute__((vector_size(kLanes)));

// Read instead of pixels outside the image.
alignas(64) const float kZeroPixel[kPixel] = {};

SINTER_ALWAYS_INLINE Lanes Load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
SINTER_ALWAYS_INLINE void Store(float* to, Lanes lanes) { std::memcpy(to, &lanes, sizeof(lanes)); }
// A load that is not repeated. GCC would otherwise fold it into every multiplication that uses the value.
SINTER_ALWAYS_INLINE Lanes LoadOnce(const float* from) {
  Lanes lanes = Load(from);
#if defined(__x86_64__)
  asm("" : "+v"(lanes));
#endif
  return lanes;
}
SINTER_ALWAYS_INLINE Lanes Splat(float value) { return Lanes{} + value; }

// Keeps NaN: only values less than zero become zero.
SINTER_ALWAYS_INLINE Lanes Relu(Lanes lanes) { return Lanes{} > lanes ? Lanes{} : lanes; }

SINTER_ALWAYS_INLINE float Sum(Lanes lanes) {
  float values[kLanes];
  Store(values, lanes);
  SINTER_UNROLL
  for (int half = kLanes / 2; half > 0; half /= 2) {
    SINTER_UNROLL
    for (int i = 0; i < half; ++i) values[i] += values[i + half];
  }
  return values[0];
}

SINTER_ALWAYS_INLINE int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
SINTER_ALWAYS_INLINE int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }
SINTER_ALWAYS_INLINE int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
SINTER_ALWAYS_INLINE bool Inside(int64_t i, int64_t size) {
  return static_cast<uint64_t>(i) < static_cast<uint64_t>(size);
}

// Splits a row of `size` pixels into the fewest tiles of at most `most` pixels. Their widths differ by at
// most one.
struct RowTiles {
  int64_t size, count;
  RowTiles(int64_t size, int64_t most) : size(size), count(CeilDiv(size, most)) {}
  int64_t start(int64_t i) const { return i * (size / count) + Min(i, size % count); }
  int width(int64_t i) const { return static_cast<int>(start(i + 1) - start(i)); }
};

}  // namespace
}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_BATCH_LANES_H_
