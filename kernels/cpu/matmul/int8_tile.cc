#include "sinter/kernels/cpu/matmul/int8_tile.h"

namespace sinter::kernels {

const Int8Kernels& BestInt8Kernels() {
#if defined(__x86_64__)
  static const bool has_dot_product = __builtin_cpu_supports("avx512vnni");
  return BestIsa() == Isa::kV4 ? Int8KernelsOf<Isa::kV4>(has_dot_product) : Int8KernelsOf<Isa::kV3>(false);
#else
  return Int8KernelsOf<Isa::kBaseline>(false);
#endif
}

}  // namespace sinter::kernels
