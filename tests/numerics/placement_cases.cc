#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {

std::vector<OpCase> PlacementCases() {
  constexpr OpClass kExact = OpClass::kExact;
  return {
      {"copy",
       kExact,
       "%r = sinter.copy %a to <cpu, 0> : tensor<3x5x$T>",
       {{"tensor<3x5x$T>"}},
       {"tensor<3x5x$T>"},
       kAnything},
      {"copy_like",
       kExact,
       "%r = sinter.copy %a like %b of tensor<3x$T> : tensor<2x$T>",
       {{"tensor<2x$T>"}, {"tensor<3x$T>"}},
       {"tensor<2x$T>"},
       kFloats},
      {"clone",
       kExact,
       "%r = sinter.clone %a : tensor<31x$T>",
       {{"tensor<31x$T>"}},
       {"tensor<31x$T>"},
       kAnything},
      {"clone_between_ops",
       kExact,
       "%0 = sinter.abs %a : tensor<7x3x$T>\n  %1 = sinter.clone %0 : tensor<7x3x$T>\n"
       "  %2 = sinter.clone %0 : tensor<7x3x$T>\n  %r = sinter.maximum %1, %2 : tensor<7x3x$T>",
       {{"tensor<7x3x$T>"}},
       {"tensor<7x3x$T>"},
       kNumbers,
       /*has_gradient=*/false},
  };
}

}  // namespace sinter::numerics
