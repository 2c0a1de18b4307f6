// Activations that are made of other ops, which fuse. The others are in pointwise.h and ops.h.
//
//   Tensor y = HardSwish(x);
//
// All take floats. ops.h includes this header.
#ifndef SINTER_FRONTEND_OPS_ACTIVATIONS_H_
#define SINTER_FRONTEND_OPS_ACTIVATIONS_H_

#include <cstdint>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// x limited to [low, high]; the gradient is 0 outside. Relu6: to [0, 6].
Tensor HardTanh(const Tensor& x, double low = -1, double high = 1, Where where = Where::current());
Tensor Relu6(const Tensor& x, Where where = Where::current());
// x / 6 + 1/2 limited to [0, 1], and x times that (Howard et al., "Searching for MobileNetV3", arXiv
// 1905.02244).
Tensor HardSigmoid(const Tensor& x, Where where = Where::current());
Tensor HardSwish(const Tensor& x, Where where = Where::current());
// scale * (x where x > 0, else alpha * (exp(x) - 1)), with scale 1.0507... and alpha 1.6733... (Klambauer et
// al., "Self-Normalizing Neural Networks", arXiv 1706.02515).
Tensor Selu(const Tensor& x, Where where = Where::current());
// x where x > 0, else alpha * (exp(x / alpha) - 1) (Barron, arXiv 1704.07483). alpha is above 0.
Tensor Celu(const Tensor& x, double alpha = 1, Where where = Where::current());
// x * tanh(softplus(x)) (Misra, arXiv 1908.08681).
Tensor Mish(const Tensor& x, Where where = Where::current());
// x / (1 + |x|).
Tensor Softsign(const Tensor& x, Where where = Where::current());
// x - tanh(x).
Tensor TanhShrink(const Tensor& x, Where where = Where::current());
// SoftShrink moves x towards 0 by lambda; HardShrink keeps x. Within [-lambda, lambda] both give 0.
Tensor SoftShrink(const Tensor& x, double lambda = 0.5, Where where = Where::current());
Tensor HardShrink(const Tensor& x, double lambda = 0.5, Where where = Where::current());
// x where x > threshold, else value.
Tensor Threshold(const Tensor& x, double threshold, double value, Where where = Where::current());
// x where x > 0, else slope * x; the slope broadcasts, as [C, 1, 1] for images (He et al., arXiv 1502.01852).
Tensor PRelu(const Tensor& x, const Tensor& slope, Where where = Where::current());
// The first half of x along `dim`, times the sigmoid of the second (Dauphin et al., arXiv 1612.08083). The
// size must be even. SwiGlu takes silu of the first half, times the second (Shazeer, arXiv 2002.05202).
Tensor Glu(const Tensor& x, int64_t dim = -1, Where where = Where::current());
Tensor SwiGlu(const Tensor& x, int64_t dim = -1, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_ACTIVATIONS_H_
