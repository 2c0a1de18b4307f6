// Complex numbers as pairs of real ones: a last dimension of size 2, [re, im], as torch.view_as_real.
//
//   Tensor z = ComplexFrom(re, im);                       // [..., 2]
//   Tensor power = Square(ComplexAbs(ComplexMul(z, w)));  // [...]
//
// Numbers are floats. Sums, products with real numbers and shapes need no functions of their own: x + y, 2 *
// x. Gradients are those of the pairs.
#ifndef SINTER_FRONTEND_FOURIER_COMPLEX_NUMBERS_H_
#define SINTER_FRONTEND_FOURIER_COMPLEX_NUMBERS_H_

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// Pairs [..., 2] of real and imaginary parts [...], which broadcast; and the parts of pairs.
Tensor ComplexFrom(const Tensor& real, const Tensor& imaginary, Where where = Where::current());
Tensor ComplexReal(const Tensor& x, Where where = Where::current());
Tensor ComplexImag(const Tensor& x, Where where = Where::current());

// The product of x and y, of which leading dimensions broadcast.
Tensor ComplexMul(const Tensor& x, const Tensor& y, Where where = Where::current());
Tensor ComplexConj(const Tensor& x, Where where = Where::current());

// The absolute value [...], by the sum of the squares, which must not overflow; its gradient at 0 is 0. The
// angle [...] is from -pi to pi.
Tensor ComplexAbs(const Tensor& x, Where where = Where::current());
Tensor ComplexAngle(const Tensor& x, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_FOURIER_COMPLEX_NUMBERS_H_
