#include "sinter/kernels/cpu/matmul/matmul_tile.h"

namespace sinter::kernels {

const MatmulKernels& BestMatmulKernels() {
#if defined(__x86_64__)
  return BestIsa() == Isa::kV4 ? MatmulKernelsOf<Isa::kV4>() : MatmulKernelsOf<Isa::kV3>();
#else
  return MatmulKernelsOf<Isa::kBaseline>();
#endif
}

}  // namespace sinter::kernels
