// PaddedSizes: the sizes of a matmul that padding would make multiples of what a GPU's tensor cores read, and
// the time that this saves.
//
//   const PaddedSizes padded = PaddedSizes::Wanted(matmul);
//   if (padded.any() && padded.gain(matmul, seconds) > copies) ...      // m, n and k: see MatmulSizes.
//
// Rows of an operand or result that are no multiple of 16 bytes cannot be copied by the copy engine, so
// the library has slower kernels for them. The figures are in docs/performance-notes.md.
#ifndef SINTER_PASSES_LAYOUT_PRODUCT_PADDING_H_
#define SINTER_PASSES_LAYOUT_PRODUCT_PADDING_H_

#include <string>

#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/layout/wide_values.h"

namespace sinter {

// Seconds that padding must save: less is not known so well.
inline constexpr double kLeastGain = 2e-6;
// Smaller sizes are few tiles, to which padding would add much.
inline constexpr int64_t kLeastSize = 64;

struct PaddedSizes {
  bool m = false, n = false, k = false;
  bool transpose_a = false, transpose_b = false;
  size_t rank = 2;

  // Returns the sizes along which rows of an operand or of the result lie, and are not whole. None for
  // products that the target's library computes as fast with any rows. Smaller sizes than `least_size` stay.
  static PaddedSizes Wanted(ir::MatmulOp op, int64_t least_size);

  bool any() const { return m || n || k; }
  // The padded dimensions of the values, and those of them along which the product sums.
  Dims ofA() const { return at(transpose_a, m) | at(!transpose_a, k); }
  Dims ofB() const { return at(transpose_b, k) | at(!transpose_b, n); }
  Dims ofResult() const { return at(false, m) | at(true, n); }
  Dims termsOfA() const { return at(!transpose_a, k); }
  Dims termsOfB() const { return at(transpose_b, k); }
  // Returns the seconds that a product saves which takes `seconds` with whole rows.
  double gain(ir::MatmulOp op, double seconds) const;
  // Returns " n from 50257 to 50304".
  std::string text(ir::MatmulOp op) const;

 private:
  Dims at(bool is_last, bool is_padded) const {
    return is_padded ? Dims{1} << (rank - (is_last ? 1 : 2)) : 0;
  }
};

}  // namespace sinter

#endif  // SINTER_PASSES_LAYOUT_PRODUCT_PADDING_H_
