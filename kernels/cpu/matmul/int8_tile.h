// A register tile of a product of i8 with sums in i32: the building block of int8_matmul.h.
//
//   const Int8Kernels& kernels = BestInt8Kernels();
//   kernels.multiply({.a = a, .b = b, .steps = 128, .sums = sums, .sums_stride = 256});
//
// A word of 32 bits holds `terms` adjacent elements of k: two of i16, or four of 8 bits. In words of four,
// those of a are unsigned, a + 128, and those of b signed. Sums wrap, so every kernel gives the same bits.
#ifndef SINTER_KERNELS_CPU_MATMUL_INT8_TILE_H_
#define SINTER_KERNELS_CPU_MATMUL_INT8_TILE_H_

#include <cstdint>

#include "sinter/kernels/cpu/isa.h"

namespace sinter::kernels {

// sums[i * sums_stride + j] += the sum over words s < steps and their terms of a[s * rows + i] *
// b[s * columns + j], for i < rows and j < columns.
struct Int8Tile {
  const uint32_t* a = nullptr;
  const uint32_t* b = nullptr;
  int64_t steps = 0;
  int32_t* sums = nullptr;
  int64_t sums_stride = 0;
};

struct Int8Kernels {
  int rows, columns;  // Size of a tile.
  int terms;          // In a word: 2 or 4.
  void (*multiply)(const Int8Tile& tile);
};

// Bounds over all instruction sets.
inline constexpr int kMostInt8Rows = 12, kMostInt8Columns = 32;

// Returns the kernels of one instruction set; defined for each that the compiler supports
// (int8_tile_isa.cc). `has_dot_product`: the CPU has AVX-512 VNNI.
template <Isa isa>
const Int8Kernels& Int8KernelsOf(bool has_dot_product);

// Returns the fastest kernels that the running CPU supports and SINTER_CPU_LEVEL allows (cpu_level.h).
const Int8Kernels& BestInt8Kernels();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_INT8_TILE_H_
