// Convolutions of all float types in the layouts nchw and nhwc.
//
//   Conv conv{geometry, kF64};
//   RunConvForward(conv, x, weights, bias, y, workspace, parallel);
//
// Weights are [out_channels, in_channels / groups, kernel_h, kernel_w]. 16-bit floats are summed in f32. The
// bits are the same for any number of threads and on every CPU that runs plans. Nothing is allocated. The
// caller has checked the geometry.
#ifndef SINTER_KERNELS_CPU_IMAGES_CONV_H_
#define SINTER_KERNELS_CPU_IMAGES_CONV_H_

#include <cstddef>
#include <cstdint>

#include "sinter/kernels/cpu/parallel.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter::kernels {

struct Conv : ConvGeometry {
  int dtype = 0;  // A number of element_types.h.
  bool channels_last = false;
  int activation = 0;  // A number of activation.h; only for the forward pass.
};

enum class ConvPass { kForward, kInputGrad, kWeightGrad };

size_t ConvWorkspaceBytes(const Conv& conv, ConvPass pass, int threads);
// `workspace` is aligned to 64 bytes. `bias` [out_channels] may be null.
void RunConvForward(const Conv& conv, const void* x, const void* weights, const void* bias, void* y,
                    void* workspace, const Parallel& parallel);
void RunConvInputGrad(const Conv& conv, const void* g, const void* weights, void* dx, void* workspace,
                      const Parallel& parallel);
void RunConvWeightGrad(const Conv& conv, const void* x, const void* g, void* dw, void* workspace,
                       const Parallel& parallel);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_CONV_H_
