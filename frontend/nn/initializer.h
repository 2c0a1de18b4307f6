// Initial values of parameters.
// Fans come from the parameter's shape: [out, in] for Linear's transposed form, [out, in, kh, kw] for
// convolutions.
//
//   nn::Linear(128, {.weight = nn::HeNormal()})
#ifndef SINTER_FRONTEND_NN_INITIALIZER_H_
#define SINTER_FRONTEND_NN_INITIALIZER_H_

#include <cstdint>
#include <memory>

#include "sinter/frontend/graph/graph.h"

namespace sinter::nn {

// Resolves to a VariableInit when the parameter's fans are known.
class Initializer {
 public:
  enum class Kind {
    kConstant,
    kNormal,
    kUniform,
    kScaledNormal,
    kScaledUniform,
    kOrthogonal,
    kTruncated,
    kScaledTruncated
  };
  enum class Fan { kIn, kAverage, kOut };
  // Zeros.
  Initializer() = default;
  Initializer(Kind kind, double a, double b, Fan fan = Fan::kIn) : kind_(kind), a_(a), b_(b), fan_(fan) {}
  // Initial values that a function returns.
  explicit Initializer(VariableInit::Values values);
  VariableInit Resolve(double fan_in, double fan_out) const;
  // The same, with the range of the truncated kinds, in deviations.
  Initializer Between(double low, double high) const;

 private:
  Kind kind_ = Kind::kConstant;
  double a_ = 0;
  double b_ = 0;
  Fan fan_ = Fan::kIn;
  double low_ = -2, high_ = 2;
  std::shared_ptr<const VariableInit::Values> values_;
};

Initializer Zeros();
Initializer Ones();
Initializer Constant(double value);
Initializer Normal(double stddev, double mean = 0);
Initializer Uniform(double low, double high);
// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks" (2010):
// variance 2 / (fan_in + fan_out).
Initializer GlorotNormal();
Initializer GlorotUniform();
// He et al., "Delving Deep into Rectifiers" (arXiv 1502.01852): variance 2 / fan_in.
Initializer HeNormal();
Initializer HeUniform();
// LeCun et al., "Efficient BackProp" (1998): variance 1 / fan_in.
Initializer LeCunNormal();
Initializer LeCunUniform();
// Variance scale / fan, from which the six above differ only in scale and fan. With a scale of Gain(f)^2 and
// Fan::kIn the results of a layer in front of the function f keep their variance, with Fan::kOut the
// gradients.
//   nn::Conv2d(64, 3, {.weight = nn::VarianceScaling(2, nn::Initializer::Fan::kOut)})
// kTruncatedNormal draws within two deviations, from a distribution that has the variance after the cut, as
// jax.nn.initializers.variance_scaling.
enum class Spread { kNormal, kUniform, kTruncatedNormal };
Initializer VarianceScaling(double scale, Initializer::Fan fan = Initializer::Fan::kIn,
                            Spread spread = Spread::kNormal);
// The factor of the standard deviation in front of a nonlinearity: 1, 1, 5/3, sqrt(2), sqrt(2 / (1 +
// slope^2)) and 3/4, as torch.nn.init.calculate_gain. The slope is that of a leaky ReLU.
enum class Nonlinearity { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };
double Gain(Nonlinearity nonlinearity, double slope = 0.01);
// Saxe et al., "Exact solutions to the nonlinear dynamics of learning" (arXiv 1312.6120): orthogonal rows or
// columns of the parameter as a matrix of its first dimension by the other dimensions.
Initializer Orthogonal(double gain = 1);
// The normal distribution of this deviation, cut to the range `low` to `high`, in deviations from the mean.
// torch.nn.init.trunc_normal_(w, mean, std, a, b) is TruncatedNormal(std, mean, (a - mean) / std, (b - mean)
// / std).
Initializer TruncatedNormal(double stddev, double mean = 0, double low = -2, double high = 2);

// The following compute all elements when the variable is made, and the plan has them.
//
// `scale` at the elements [i, i] of a matrix, and 0 elsewhere.
Initializer Eye(double scale = 1);
// Kernels [out, in / groups, ...] of convolutions that return their input: 1 in the middle of channel i of
// output i in each of `groups` groups of outputs, and 0 elsewhere.
Initializer Dirac(int64_t groups = 1);
// Normal numbers of which a part of each column of a matrix, rounded up, is 0 (Martens, "Deep learning via
// Hessian-free optimization", 2010): of the inputs of each unit of nn::Linear. `sparsity` is from 0 to 1.
Initializer Sparse(double sparsity, double stddev = 0.01);
// Kernels [out, in, ...] of convolutions that keep the norm of each pixel's channels: an orthogonal matrix in
// the middle, and 0 elsewhere (Xiao et al., arXiv 1806.05393). There must be at least as many outputs as
// inputs.
Initializer DeltaOrthogonal(double gain = 1);
// The values of a tensor, of the parameter's type.
Initializer FromTensor(const HostTensor& values);
// Elements that a function returns, of the parameter's type. `seed` depends on the graph's seed and the
// parameter's name.
//   nn::FromFunction([](DType dtype, const Shape& shape, int64_t seed) { return ...; })
Initializer FromFunction(VariableInit::Values function);

namespace internal_initializer {

// Returns the values of another initialiser but for a row of zeros. The plan has them.
Initializer WithZeroRow(const Initializer& values, int64_t row, double fan_in, double fan_out);

}  // namespace internal_initializer

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_INITIALIZER_H_
