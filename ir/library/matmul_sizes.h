// The sizes of a matmul: see linear_ops.td.
//
//   MatmulSizes s = MatmulSizes::Of(matmul);      // Of a verified op.
#ifndef SINTER_IR_LIBRARY_MATMUL_SIZES_H_
#define SINTER_IR_LIBRARY_MATMUL_SIZES_H_

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"

namespace sinter::ir {

// Sizes of matmul or matmul_grad: `batch` matmuls of [m, k] and [k, n].
struct MatmulSizes {
  int64_t batch = 1, m = 0, n = 0, k = 0;

  template <typename Op>
  static MatmulSizes Of(Op op) {
    llvm::ArrayRef<int64_t> a = op.getA().getType().getShape(), b = op.getB().getType().getShape();
    const size_t last = a.size() - 1;
    MatmulSizes s = {1, a[last - !op.getTransposeA()], b[last - op.getTransposeB()],
                     a[last - op.getTransposeA()]};
    for (int64_t size : a.drop_back(2)) s.batch *= size;
    return s;
  }
};

}  // namespace sinter::ir

#endif  // SINTER_IR_LIBRARY_MATMUL_SIZES_H_
