// Pooling of images of all float types in the layouts nchw and nhwc.
//
//   Pool pool = {.dtype = kF32, .batch = 8, .channels = 3, .in_h = 28, .in_w = 28, .out_h = 14, .out_w = 14,
//                .window_h = 2, .window_w = 2, .stride_h = 2, .stride_w = 2};
//   RunAvgPool(pool, x, y, workspace, parallel);
//
// Max pools select the first element on a tie; its position is row-major in the window. NaN wins; padding
// never wins. Means count padding as zeros. 16-bit floats are summed in f32. The bits are the same for any
// number of threads. Nothing is allocated. The caller has checked the geometry: windows are inside the padded
// image, each with at least one element.
#ifndef SINTER_KERNELS_CPU_IMAGES_POOL_H_
#define SINTER_KERNELS_CPU_IMAGES_POOL_H_

#include <cstddef>
#include <cstdint>

#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

struct Pool {
  int dtype = 0;  // A number of element_types.h.
  bool channels_last = false;
  int64_t batch = 0, channels = 0;
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t window_h = 1, window_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0;
};

size_t PoolWorkspaceBytes(const Pool& pool, int threads);
void RunMaxPool(const Pool& pool, const void* x, void* y, uint8_t* position, void* workspace,
                const Parallel& parallel);
void RunMaxPoolGrad(const Pool& pool, const void* g, const uint8_t* position, void* dx, void* workspace,
                    const Parallel& parallel);
void RunAvgPool(const Pool& pool, const void* x, void* y, void* workspace, const Parallel& parallel);
void RunAvgPoolGrad(const Pool& pool, const void* g, void* dx, void* workspace, const Parallel& parallel);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_POOL_H_
