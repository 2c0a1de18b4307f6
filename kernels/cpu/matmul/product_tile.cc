#include "sinter/kernels/cpu/matmul/product_tile.h"

namespace sinter::kernels {

const ProductKernels& BestProductKernels() {
#if defined(__x86_64__)
  return BestIsa() == Isa::kV4 ? ProductKernelsOf<Isa::kV4>() : ProductKernelsOf<Isa::kV3>();
#else
  return ProductKernelsOf<Isa::kBaseline>();
#endif
}

}  // namespace sinter::kernels
