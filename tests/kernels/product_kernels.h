// The tiles of products for tests that judge each instruction set.
//
//   for (const ProductKernels* kernels : AllProductKernels()) Check(*kernels);
#ifndef SINTER_TESTS_KERNELS_PRODUCT_KERNELS_H_
#define SINTER_TESTS_KERNELS_PRODUCT_KERNELS_H_

#include <vector>

#include "sinter/kernels/cpu/product_tile.h"

namespace sinter::kernels {

// Of every instruction set that the running CPU has and that fuses multiplications with additions, where there is one.
inline std::vector<const ProductKernels*> AllProductKernels() {
#if defined(__x86_64__)
  std::vector<const ProductKernels*> all = {&ProductKernelsOf<Isa::kV3>()};
  if (BestIsa() >= Isa::kV4) all.push_back(&ProductKernelsOf<Isa::kV4>());
  return all;
#else
  return {&ProductKernelsOf<Isa::kBaseline>()};
#endif
}

}  // namespace sinter::kernels

#endif  // SINTER_TESTS_KERNELS_PRODUCT_KERNELS_H_
