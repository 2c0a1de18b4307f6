// Pooling of f32 images stored in blocks of 16 images: [N / 16, C, H, W, 16].
// The contract is that of batch_conv.h. A unit is one channel of one block of images. Windows are inside the
// padded image (a last window that does not fit is dropped) and contain at least one pixel.
//
//   BatchPool pool = {.blocks = 16, .channels = 20, .in_h = 26, .in_w = 26, .out_h = 13, .out_w = 13,
//                     .window_h = 2, .window_w = 2, .stride_h = 2, .stride_w = 2};
//   threads.ParallelFor(BatchPoolUnits(pool), 1, [&](int64_t begin, int64_t end, int) {
//     BatchAvgPool(pool, x, y, begin, end);
//   });
#ifndef SINTER_KERNELS_CPU_IMAGES_BATCH_POOL_H_
#define SINTER_KERNELS_CPU_IMAGES_BATCH_POOL_H_

#include <cstdint>

#include "sinter/kernels/cpu/isa.h"

namespace sinter::kernels {

struct BatchPool {
  int64_t blocks = 0;  // N / 16.
  int64_t channels = 0;
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t window_h = 1, window_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0;
  Isa isa = BestIsa();  // At most the running CPU's.
};

int64_t BatchPoolUnits(const BatchPool& pool);

// Computes the largest element of each window and its row-major position in the window. Ties select the first
// element; NaN wins; padding never wins. Windows have at most 256 elements.
void BatchMaxPool(const BatchPool& pool, const float* x, float* y, uint8_t* position, int64_t begin,
                  int64_t end);
// Adds each gradient to the element that was selected.
void BatchMaxPoolGrad(const BatchPool& pool, const float* g, const uint8_t* position, float* dx,
                      int64_t begin, int64_t end);

// Computes the mean of each window; padding counts as zeros.
void BatchAvgPool(const BatchPool& pool, const float* x, float* y, int64_t begin, int64_t end);
// Spreads each gradient evenly over its window.
void BatchAvgPoolGrad(const BatchPool& pool, const float* g, float* dx, int64_t begin, int64_t end);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_BATCH_POOL_H_
