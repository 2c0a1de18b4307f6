#include "sinter/ir/target/few_rows_kernels.h"

#include "sinter/ir/library/matmul_sizes.h"

namespace sinter::ir::few_rows {

namespace {
constexpr int64_t kMostRows = 16;
// The most elements of b, for up to 8 rows and for more: cuBLASLt streams larger ones as fast or faster.
constexpr int64_t kMostOfEight = int64_t{1} << 23, kMostOfSixteen = int64_t{3} << 20;
constexpr int64_t kElementsOfAccess = 8;
}  // namespace

bool Computes(MatmulOp matmul) {
  const mlir::Type element = matmul.getA().getType().getElementType(),
                   result = matmul.getType().getElementType();
  if (!element.isBF16() && !element.isF16()) return false;
  if (matmul.getTransposeA() || matmul.getScale() || (result != element && !result.isF32())) return false;
  const MatmulSizes s = MatmulSizes::Of(matmul);
  const int64_t most = s.m <= 8 ? kMostOfEight : kMostOfSixteen;
  return s.batch == 1 && s.m >= 1 && s.m <= kMostRows && s.n > 0 && s.k > 0 && s.n * s.k <= most &&
         s.n % kElementsOfAccess == 0 && s.k % kElementsOfAccess == 0;
}

}  // namespace sinter::ir::few_rows
