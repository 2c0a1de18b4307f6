// The table of the allowed distance from the reference: |got - want| <= relative * |want| + absolute.
//
//   EXPECT_LE(std::fabs(got - want), ToleranceOf(OpClass::kProduct, DType::kF32).Allowed(want));
//
// Two NaN agree, and so do equal infinities. Integers must be equal. The numbers are not fitted to measured
// errors: they are bounds of the formats (half a unit in the last place is 1.1e-16, 6.0e-8, 3.9e-3 and 4.9e-4
// of the value) times the error growth of the class's algorithms.
#ifndef SINTER_TESTS_NUMERICS_TOLERANCES_H_
#define SINTER_TESTS_NUMERICS_TOLERANCES_H_

#include <cmath>

#include "sinter/runtime/host/dtype.h"

namespace sinter::numerics {

enum class OpClass {
  kExact,           // Moves, comparisons, sign changes: no rounding.
  kArithmetic,      // A few roundings.
  kTranscendental,  // A few units in the last place; absolute near a zero of the function.
  kReduction,       // Sums of up to about 1e5 terms of order 1.
  kProduct,         // Matmuls and convolutions of about 100 terms.
  kFloat8Matmul,    // As kProduct; as kTf32Matmul on GPUs, whose sums of 8-bit products keep about 13 bits.
  kTf32Matmul,      // As kProduct, but f32 operands may be rounded to 10 bits of mantissa.
  kComposite,       // Softmax, norms, losses: several of the above.
  kGraph,           // Whole random graphs.
};

struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double Allowed(double want) const { return relative * std::fabs(want) + absolute; }
};

inline Tolerance ToleranceOf(OpClass op_class, DType dtype) {
  // In the order of DType: f64, f32, bf16, f16.
  static constexpr Tolerance kTable[][4] = {
      {{0, 0}, {0, 0}, {0, 0}, {0, 0}},
      {{1e-15, 1e-300}, {3e-7, 1e-37}, {8e-3, 1e-37}, {1e-3, 6e-8}},
      {{1e-14, 1e-15}, {2e-6, 5e-7}, {8e-3, 1e-6}, {1e-3, 1e-6}},
      {{1e-12, 1e-10}, {1e-5, 3e-3}, {1e-2, 1e-2}, {2e-3, 1e-2}},
      {{1e-13, 1e-13}, {1e-5, 5e-5}, {1e-2, 2e-2}, {2e-3, 5e-3}},
      {{1e-13, 1e-13}, {1e-5, 5e-5}, {1e-2, 2e-2}, {2e-3, 5e-3}},
      {{1e-13, 1e-13}, {2e-3, 1e-2}, {1e-2, 2e-2}, {2e-3, 5e-3}},
      {{1e-12, 1e-12}, {1e-5, 1e-5}, {2e-2, 1e-2}, {4e-3, 2e-3}},
      {{1e-9, 1e-10}, {1e-3, 1e-4}, {1e-1, 1e-1}, {2e-2, 2e-2}},
  };
  if (!IsFloat(dtype)) return {};
  return kTable[static_cast<int>(op_class)][static_cast<int>(dtype)];
}

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_TOLERANCES_H_
