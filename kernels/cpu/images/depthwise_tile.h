// Sums of a tile of a depthwise convolution: the inner loops of depthwise.h.
//
//   const DepthwiseKernels& kernels = BestDepthwiseKernels();
//   kernels.Gather({.taps = taps, .tap_count = 9, .from = staged, .from_row = row, .from_pixel = 16,
//                   .from_run = plane, .weights = weights, .weights_run = 160, .to = sums, .to_row = 512,
//                   .to_pixel = 64, .to_run = 16, .rows = 8, .pixels = 8, .runs = 4});
//
// A pixel is one or more runs of 64 bytes, of elements whose sums do not mix. A vector holds elements of one
// run, and each sum is one chain of fused multiply-adds. So the bits are the same for every vector width, on
// every CPU with fused multiply-add.
#ifndef SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_TILE_H_
#define SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_TILE_H_

#include <cstdint>

#include "sinter/kernels/cpu/isa.h"

namespace sinter::kernels {

// Bytes and elements of a run.
inline constexpr int64_t kDepthwiseBytes = 64;
template <typename C>
inline constexpr int64_t kDepthwiseRun = kDepthwiseBytes / static_cast<int64_t>(sizeof(C));

// Offsets, in elements, of what a tap reads: from the first pixel of a tile, and from the first weights.
struct DepthwiseTap {
  int64_t at = 0, weights = 0;
};

// For r < rows, p < pixels, v < runs and e < kDepthwiseRun:
// to[r * to_row + p * to_pixel + v * to_run + e] = the sum, over taps, of
//   from[tap.at + r * from_row + p * from_pixel + v * from_run + e] *
//   weights[tap.weights + v * weights_run + e].
// It starts at weights[v * weights_run + e], or, if `adds`, at the value of `to`. Runs of `to` are disjoint.
template <typename C>
struct DepthwiseGather {
  const DepthwiseTap* taps = nullptr;
  int64_t tap_count = 0;  // May be 0.
  const C* from = nullptr;
  int64_t from_row = 0, from_pixel = 0, from_run = 0;
  const C* weights = nullptr;
  int64_t weights_run = 0;
  C* to = nullptr;
  int64_t to_row = 0, to_pixel = 0, to_run = 0;
  int64_t rows = 0, pixels = 0, runs = 0;
  bool adds = false;
};

// For each tap i, v < runs and e < kDepthwiseRun: sums[v * sums_run + i * kDepthwiseRun + e] += the sum, over
// r < rows and p < pixels in order, of
//   from[tap.at + r * from_row + p * from_pixel + v * from_run + e] *
//   g[r * g_row + p * from_pixel + v * g_run + e].
template <typename C>
struct DepthwiseSums {
  const DepthwiseTap* taps = nullptr;
  int64_t tap_count = 0;
  const C* from = nullptr;
  int64_t from_row = 0, from_pixel = 0, from_run = 0;
  const C* g = nullptr;
  int64_t g_row = 0, g_run = 0;
  C* sums = nullptr;
  int64_t sums_run = 0;
  int64_t rows = 0, pixels = 0, runs = 0;
};

struct DepthwiseKernels {
  void (*gather_f32)(const DepthwiseGather<float>& tile);
  void (*gather_f64)(const DepthwiseGather<double>& tile);
  void (*sums_f32)(const DepthwiseSums<float>& tile);
  void (*sums_f64)(const DepthwiseSums<double>& tile);

  void Gather(const DepthwiseGather<float>& tile) const { gather_f32(tile); }
  void Gather(const DepthwiseGather<double>& tile) const { gather_f64(tile); }
  void Sums(const DepthwiseSums<float>& tile) const { sums_f32(tile); }
  void Sums(const DepthwiseSums<double>& tile) const { sums_f64(tile); }
};

// Returns the kernels of one instruction set; defined for each that the compiler supports
// (depthwise_tile_isa.cc).
template <Isa isa>
const DepthwiseKernels& DepthwiseKernelsOf();

// Returns the fastest kernels that the running CPU supports and SINTER_CPU_LEVEL allows (cpu_level.h).
const DepthwiseKernels& BestDepthwiseKernels();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_DEPTHWISE_TILE_H_
