// Distributions of counts, classes and coins.
//
//   dist::Categorical policy(logits);                    // [batch, actions].
//   Tensor action = policy.Sample();                     // i32[batch].
//   Tensor loss = -Mean(policy.LogProb(action) * advantage) - 0.01 * Mean(policy.Entropy());
//
// As in distributions/continuous.h, but samples get no gradient. Counts and coins are floats of the
// parameters' type; classes are i32. LogProb takes whole numbers, and does not check that they are whole.
#ifndef SINTER_FRONTEND_DISTRIBUTIONS_DISCRETE_H_
#define SINTER_FRONTEND_DISTRIBUTIONS_DISCRETE_H_

#include "sinter/frontend/distributions/family.h"

namespace sinter::distributions {

// 1 with the probability sigmoid(logits), else 0.
class Bernoulli : public Family {
 public:
  explicit Bernoulli(const Operand& logits, Where where = Where::current());
  // The distributions with these probabilities of 1, between 0 and 1.
  static Bernoulli OfProbabilities(const Tensor& probabilities, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Bernoulli& p, const Bernoulli& q, Where where);
};

// Classes with the probabilities softmax(logits), for logits [..., classes].
class Categorical : public Family {
 public:
  explicit Categorical(const Tensor& logits, Where where = Where::current());
  // i32 [sample_shape, ...].
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  // Takes i32 or i64 classes whose shape ends with batch_shape().
  Tensor LogProb(const Tensor& classes, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Probabilities(Where where = Where::current()) const;
  // The most probable classes, i32.
  Tensor Mode(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Categorical& p, const Categorical& q, Where where);
};

// The same as vectors [..., classes], with 1 at the class and 0 elsewhere.
class OneHotCategorical : public Family {
 public:
  explicit OneHotCategorical(const Tensor& logits, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const OneHotCategorical& p, const OneHotCategorical& q, Where where);
};

// Failures in front of the first success: 0, 1, 2, ...
class Geometric : public Family {
 public:
  // The probability of success is above 0 and below 1.
  explicit Geometric(const Operand& probability, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Geometric& p, const Geometric& q, Where where);
};

// Successes in `count` tries, at most 4096. Sample draws every try.
class Binomial : public Family {
 public:
  Binomial(int64_t count, const Operand& probability, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  // The sum over all counts.
  Tensor Entropy(Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Binomial& p, const Binomial& q, Where where);

 private:
  int64_t count_;
};

class Poisson : public Family {
 public:
  explicit Poisson(const Operand& rate, Where where = Where::current());
  Tensor Sample(const Shape& sample_shape = {}, const RandomOptions& options = {},
                Where where = Where::current()) const;
  Tensor LogProb(const Operand& x, Where where = Where::current()) const;
  Tensor Mean(Where where = Where::current()) const;
  Tensor Variance(Where where = Where::current()) const;
  friend Tensor KlDivergence(const Poisson& p, const Poisson& q, Where where);
};

// The divergence of q from p, in nats. Binomials must have one count, or it is an error.
Tensor KlDivergence(const Bernoulli& p, const Bernoulli& q, Where where = Where::current());
Tensor KlDivergence(const Categorical& p, const Categorical& q, Where where = Where::current());
Tensor KlDivergence(const OneHotCategorical& p, const OneHotCategorical& q, Where where = Where::current());
Tensor KlDivergence(const Geometric& p, const Geometric& q, Where where = Where::current());
Tensor KlDivergence(const Binomial& p, const Binomial& q, Where where = Where::current());
Tensor KlDivergence(const Poisson& p, const Poisson& q, Where where = Where::current());

}  // namespace sinter::distributions

#endif  // SINTER_FRONTEND_DISTRIBUTIONS_DISCRETE_H_
