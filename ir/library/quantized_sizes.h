// The sizes of a quantized_matmul: see linear_ops.td.
//
//   QuantizedSizes s = QuantizedSizes::Of(product);      // Of a verified op.
#ifndef SINTER_IR_LIBRARY_QUANTIZED_SIZES_H_
#define SINTER_IR_LIBRARY_QUANTIZED_SIZES_H_

#include <cstdint>
#include <optional>

#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {

// Elements of a block of ui8, and the least of a group that is a part of a row.
inline constexpr int64_t kQuantizedBlock = 32;

struct QuantizedSizes {
  int64_t m = 0, n = 0, k = 0;
  int64_t groups = 1, group = 0;  // Scales of a row, and elements of k with one scale.
  int64_t bits = 8;

  static QuantizedSizes Of(QuantizedMatmulOp op) {
    QuantizedSizes s;
    s.m = op.getX().getType().getDimSize(0), s.k = op.getX().getType().getDimSize(1);
    s.n = op.getWeights().getType().getDimSize(0);
    s.groups = op.getScales().getType().getDimSize(1);
    s.group = s.k / s.groups;
    s.bits = op.getWeights().getType().getElementType().isUnsignedInteger(8) ? 4 : 8;
    return s;
  }

  // The bytes of a row that a lane reads in a step on tensor cores (kernels/cuda/quantized_mma.cuh): a row
  // has whole lanes, and a group whole steps of four lanes. nullopt if that kernel does not fit.
  std::optional<int64_t> mmaLaneBytes() const {
    for (const int64_t bytes : {16, 8}) {
      const int64_t numbers = bytes * 8 / bits;
      if (k > 0 && k % numbers == 0 && (groups == 1 || group % (4 * numbers) == 0)) return bytes;
    }
    return std::nullopt;
  }
};

}  // namespace sinter::ir

#endif  // SINTER_IR_LIBRARY_QUANTIZED_SIZES_H_
