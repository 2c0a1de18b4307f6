#include "sinter/kernels/cpu/images/depthwise_tile.h"

namespace sinter::kernels {

const DepthwiseKernels& BestDepthwiseKernels() {
#if defined(__x86_64__)
  return BestIsa() == Isa::kV4 ? DepthwiseKernelsOf<Isa::kV4>() : DepthwiseKernelsOf<Isa::kV3>();
#else
  return DepthwiseKernelsOf<Isa::kBaseline>();
#endif
}

}  // namespace sinter::kernels
