// Functions of each element that other functions of pointwise.h compose.
//
//   Tensor row = FloorDivide(position, 8), column = Mod(position, 8);
//
// Shapes broadcast, and operands are of one type, as for x + y. They take floats unless noted, and have the
// gradients of what they compose.
#ifndef SINTER_FRONTEND_OPS_NUMBERS_H_
#define SINTER_FRONTEND_OPS_NUMBERS_H_

#include <optional>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// The largest integer not above x / y, as Python's x // y: with Mod, y * FloorDivide(x, y) + Mod(x, y) is x
// but for rounding. Numbers. Integers give 0 for a divisor of 0.
Tensor FloorDivide(Operand x, Operand y);
// x - Trunc(x), with the sign of x.
Tensor Frac(const Tensor& x, Where where = Where::current());
// x + weight * (y - x): x at weight 0 and y at weight 1, both exactly.
Tensor Lerp(const Tensor& x, const Tensor& y, Operand weight);
// The real cube root, of negative numbers too. The gradient is infinite or NaN at 0.
Tensor Cbrt(const Tensor& x, Where where = Where::current());
// |x| with the sign of `sign`, also of -0; a NaN counts as positive. The gradient goes to x.
Tensor CopySign(const Tensor& x, Operand sign);

struct NanToNumOptions {
  double nan = 0;
  // In place of infinities. nullopt: the largest and the smallest finite number of x's type.
  std::optional<double> infinity = std::nullopt, negative_infinity = std::nullopt;
};
// x with numbers in place of NaN and infinities, to which no gradient goes.
Tensor NanToNum(const Tensor& x, const NanToNumOptions& options = {}, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_NUMBERS_H_
