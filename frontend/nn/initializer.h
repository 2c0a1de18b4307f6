// Initial values of parameters.
// Fans come from the parameter's shape: [out, in] for Linear's transposed form, [out, in, kh, kw] for
// convolutions.
//
//   nn::Linear(128, {.weight = nn::HeNormal()})
#ifndef SINTER_FRONTEND_NN_INITIALIZER_H_
#define SINTER_FRONTEND_NN_INITIALIZER_H_

#include "sinter/frontend/graph/graph.h"

namespace sinter::nn {

// Resolves to a VariableInit when the parameter's fans are known.
class Initializer {
 public:
  enum class Kind { kConstant, kNormal, kUniform, kScaledNormal, kScaledUniform, kOrthogonal };
  enum class Fan { kIn, kAverage, kOut };
  // Zeros.
  Initializer() = default;
  Initializer(Kind kind, double a, double b, Fan fan = Fan::kIn) : kind_(kind), a_(a), b_(b), fan_(fan) {}
  VariableInit Resolve(double fan_in, double fan_out) const;

 private:
  Kind kind_ = Kind::kConstant;
  double a_ = 0;
  double b_ = 0;
  Fan fan_ = Fan::kIn;
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
enum class Spread { kNormal, kUniform };
Initializer VarianceScaling(double scale, Initializer::Fan fan = Initializer::Fan::kIn,
                            Spread spread = Spread::kNormal);
// The factor of the standard deviation in front of a nonlinearity: 1, 1, 5/3, sqrt(2), sqrt(2 / (1 +
// slope^2)) and 3/4, as torch.nn.init.calculate_gain. The slope is that of a leaky ReLU.
enum class Nonlinearity { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };
double Gain(Nonlinearity nonlinearity, double slope = 0.01);
// Saxe et al., "Exact solutions to the nonlinear dynamics of learning" (arXiv 1312.6120): orthogonal rows or
// columns of the parameter as a matrix of its first dimension by the other dimensions.
Initializer Orthogonal(double gain = 1);

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_INITIALIZER_H_
