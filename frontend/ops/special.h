// Special functions of each element: of the gamma function and of the normal distribution.
//
//   Tensor log_factorial = LogGamma(n + 1.0);
//
// All take floats, and are computed in f64 from other ops and rounded once to the type of x, so that f32
// results have f32's accuracy and gradients of every order exist. Absolute errors in f64 are below 1e-13
// for results of the order of 1.
#ifndef SINTER_FRONTEND_OPS_SPECIAL_H_
#define SINTER_FRONTEND_OPS_SPECIAL_H_

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// log(|gamma(x)|): Stirling's series behind x = 8, the recurrence below it, and Euler's reflection for x of
// at most 0. Infinite at 0 and the negative integers.
Tensor LogGamma(const Tensor& x, Where where = Where::current());
// The derivative of LogGamma, by the same steps. Infinite or NaN at 0 and the negative integers.
Tensor Digamma(const Tensor& x, Where where = Where::current());
// log of the beta function: LogGamma(x) + LogGamma(y) - LogGamma(x + y). x and y are of one type.
Tensor LogBeta(const Tensor& x, const Tensor& y, Where where = Where::current());
// 1 - Erf(x) without loss of digits where it is small: the trapezoidal rule with poles of Matta and Reichel,
// "Uniform computation of the error function and other related functions" (1971).
Tensor Erfc(const Tensor& x, Where where = Where::current());
// The number whose Erf is x, by the rational functions of Wichura, "Algorithm AS 241" (1988). Infinite at -1
// and 1, NaN beyond.
Tensor ErfInv(const Tensor& x, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_SPECIAL_H_
