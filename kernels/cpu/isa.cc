#include "sinter/kernels/cpu/isa.h"

#include "sinter/kernels/cpu/cpu_level.h"

namespace sinter::kernels {

Isa BestIsa() {
  static const Isa best = [] {
    const int level = sn_cpu_level();
    return level >= 4 ? Isa::kV4 : level == 3 ? Isa::kV3 : Isa::kBaseline;
  }();
  return best;
}

}  // namespace sinter::kernels
