// Distributions of real numbers, of vectors of them, and of positive numbers.
//
//   namespace dist = sn::distributions;
//   dist::Normal q(mean, Exp(log_stddev)), prior(0, 1);
//   Tensor z = q.Sample();                              // Reparametrised: with gradients to the mean.
//   Tensor elbo = Decode(z).LogProb(x) - KlDivergence(q, prior);
//
// Parameters are float tensors of one element type, or numbers, and broadcast together. They are not checked:
// a scale below 0 gives NaN. Sample(shape) draws the shape, followed by the distributions' own; {.key}
// chooses the numbers (random/random.h). LogProb takes values that broadcast with the distributions; outside
// of the support it is -infinity. Entropies are in nats. Samples are reparametrised, so that their gradients
// reach the parameters, except for concentrations (Gamma, Beta, Dirichlet, and the degrees of freedom of
// StudentT). A function that a family lacks has no closed form.
#ifndef SINTER_FRONTEND_DISTRIBUTIONS_CONTINUOUS_H_
#define SINTER_FRONTEND_DISTRIBUTIONS_CONTINUOUS_H_

#include "sinter/frontend/distributions/family.h"

namespace sinter::distributions {

class Normal : public Family {
 public:
  Normal(const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  // The inverse of Cdf.
  Tensor Quantile(const Operand& probability, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Normal& p, const Normal& q, Where where);
};

// exp of a normal number of this loc and scale.
class LogNormal : public Family {
 public:
  LogNormal(const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const LogNormal& p, const LogNormal& q, Where where);
};

// Between low and high.
class Uniform : public Family {
 public:
  Uniform(const Operand& low, const Operand& high, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Uniform& p, const Uniform& q, Where where);
};

class Laplace : public Family {
 public:
  Laplace(const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Laplace& p, const Laplace& q, Where where);
};

// Has no mean and no variance.
class Cauchy : public Family {
 public:
  Cauchy(const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Cauchy& p, const Cauchy& q, Where where);
};

class Gumbel : public Family {
 public:
  Gumbel(const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Gumbel& p, const Gumbel& q, Where where);
};

// The mean is NaN for at most 1 degree of freedom, the variance for at most 2.
class StudentT : public Family {
 public:
  StudentT(const Operand& degrees, const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
};

// The density is rate * exp(-rate * x).
class Exponential : public Family {
 public:
  explicit Exponential(const Operand& rate, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Cdf(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Exponential& p, const Exponential& q, Where where);
};

// The density is proportional to x^(concentration - 1) * exp(-rate * x).
class Gamma : public Family {
 public:
  Gamma(const Operand& concentration, const Operand& rate, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Gamma& p, const Gamma& q, Where where);
};

// The density is proportional to x^(alpha - 1) * (1 - x)^(beta - 1).
class Beta : public Family {
 public:
  Beta(const Operand& alpha, const Operand& beta, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Beta& p, const Beta& q, Where where);
};

// Vectors [..., n] of independent normal numbers: the covariance is diagonal.
class MultivariateNormal : public Family {
 public:
  MultivariateNormal(const Operand& loc, const Operand& scale, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const MultivariateNormal& p, const MultivariateNormal& q, Where where);
};

// Probabilities [..., n].
class Dirichlet : public Family {
 public:
  explicit Dirichlet(const Operand& concentration, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Dirichlet& p, const Dirichlet& q, Where where);
};

// The Kullback-Leibler divergence of q from p, the mean of log(p(x) / q(x)) over x of p, in nats.
Tensor KlDivergence(const Normal& p, const Normal& q, Where where = Where::current());
Tensor KlDivergence(const LogNormal& p, const LogNormal& q, Where where = Where::current());
Tensor KlDivergence(const Uniform& p, const Uniform& q, Where where = Where::current());
Tensor KlDivergence(const Laplace& p, const Laplace& q, Where where = Where::current());
Tensor KlDivergence(const Cauchy& p, const Cauchy& q, Where where = Where::current());
Tensor KlDivergence(const Gumbel& p, const Gumbel& q, Where where = Where::current());
Tensor KlDivergence(const Exponential& p, const Exponential& q, Where where = Where::current());
Tensor KlDivergence(const Gamma& p, const Gamma& q, Where where = Where::current());
Tensor KlDivergence(const Beta& p, const Beta& q, Where where = Where::current());
Tensor KlDivergence(const MultivariateNormal& p, const MultivariateNormal& q, Where where = Where::current());
Tensor KlDivergence(const Dirichlet& p, const Dirichlet& q, Where where = Where::current());

}  // namespace sinter::distributions

#endif  // SINTER_FRONTEND_DISTRIBUTIONS_CONTINUOUS_H_
