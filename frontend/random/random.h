// Random numbers of many distributions, and keys, which say which numbers they are.
//
//   Tensor token = RandomCategorical(logits);                      // Other tokens at each run.
//   Key key = NewKey(b.Input("seed", I64, {}));                    // The caller decides the numbers.
//   Tensor noise = RandomNormal(key.Fold(0), F32, {4, 3, 32, 32});
//   auto [x, none] = Scan(noise, Steps{50}, [&](Tensor x, Tensor i) {
//     return std::pair(Denoise(x, i, RandomNormal(key.Fold(i + 1), F32, x.shape())), None{});
//   });
//
// Without a key the numbers come from the function's streams: they differ in each run and in each trip of a
// loop, and depend only on the graph's seed and the count of runs. The builder's own RandomUniform,
// RandomNormal, RandomBernoulli and RandomPermutation (graph/graph.h) draw like that.
//
// Keys are not used up: the same key gives the same numbers, in every call, run, trip and function. Calls
// that shall differ take different keys, by Fold or Split. Numbers are Philox's of their place in the tensor,
// so they do not depend on how the tensor is cut over devices.
//
// Numbers are drawn in f32 (f64 for f64) with 24 (53) random bits, so tails end at probabilities of 2^-24.
// Results get no gradient, except towards the parameters that a function says it is reparametrised in.
#ifndef SINTER_FRONTEND_RANDOM_RANDOM_H_
#define SINTER_FRONTEND_RANDOM_RANDOM_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/graph.h"

namespace sinter {

// Decides random numbers. A tree of tensors (graph/tree.h), so that it may be a carry of a loop.
struct Key {
  Tensor seed, step;  // i64[].

  // The key of this number, or of an integer tensor of rank 0: 106 random bits of this key and the number.
  Key Fold(const Operand& number, Where where = Where::current()) const;
  // The keys of 0 to n - 1.
  std::vector<Key> Split(int64_t n, Where where = Where::current()) const;
};

// A key for a seed that is computed or given at each run, i64[] or i32[].
Key NewKey(const Tensor& seed, Where where = Where::current());
// A key of the graph's seed and the name: the same in every run and function.
Key NewKey(Builder& b, std::string_view name, Where where = Where::current());
// The next key of the function's stream, another one at each run.
Key NewKey(Builder& b, Where where = Where::current());

struct RandomOptions {
  std::optional<Key> key = {};
};

// Numbers like those of the builder's functions of these names, for a key.
Tensor RandomUniform(const Key& key, DType dtype, const Shape& shape, double low = 0, double high = 1,
                     Where where = Where::current());
Tensor RandomNormal(const Key& key, DType dtype, const Shape& shape, double mean = 0, double stddev = 1,
                    Where where = Where::current());
Tensor RandomBernoulli(const Key& key, const Shape& shape, double probability,
                       Where where = Where::current());
Tensor RandomPermutation(const Key& key, DType dtype, int64_t n, Where where = Where::current());

// Integers from low up to, but not including, high, all as probable: i32 or i64. There are at most 2^53.
Tensor RandomInt(Builder& b, DType dtype, const Shape& shape, int64_t low, int64_t high,
                 const RandomOptions& options = {}, Where where = Where::current());
// k different numbers of 0 to n - 1 in random order, i32[k]: a choice without replacement.
Tensor RandomChoice(Builder& b, int64_t n, int64_t k, const RandomOptions& options = {},
                    Where where = Where::current());
// Normal, but only between low and high standard deviations from the mean, by inversion.
struct TruncatedNormalOptions {
  double low = -2, high = 2;
  std::optional<Key> key = {};
};
Tensor RandomTruncatedNormal(Builder& b, DType dtype, const Shape& shape, double mean = 0, double stddev = 1,
                             const TruncatedNormalOptions& options = {}, Where where = Where::current());
// Floats with the densities rate * exp(-rate * x) above 0, exp(-|x - loc| / scale) / (2 scale), exp(-z -
// exp(-z)) / scale with z = (x - loc) / scale, and 1 / (pi * scale * (1 + z^2)).
Tensor RandomExponential(Builder& b, DType dtype, const Shape& shape, double rate = 1,
                         const RandomOptions& options = {}, Where where = Where::current());
Tensor RandomLaplace(Builder& b, DType dtype, const Shape& shape, double loc = 0, double scale = 1,
                     const RandomOptions& options = {}, Where where = Where::current());
Tensor RandomGumbel(Builder& b, DType dtype, const Shape& shape, double loc = 0, double scale = 1,
                    const RandomOptions& options = {}, Where where = Where::current());
Tensor RandomCauchy(Builder& b, DType dtype, const Shape& shape, double loc = 0, double scale = 1,
                    const RandomOptions& options = {}, Where where = Where::current());

// The functions below draw one number, or vector, for each of their parameters, which are float tensors; for
// more, BroadcastTo the parameters first.

// A class of logits [..., classes], as i32 [...]: the largest sum of a logit and a Gumbel number.
Tensor RandomCategorical(const Tensor& logits, const RandomOptions& options = {},
                         Where where = Where::current());
// k different classes of logits [..., classes], drawn one after the other without replacement, as i32 [...,
// k] (Kool et al., "Stochastic Beams and Where to Find Them", arXiv 1903.06059).
Tensor RandomSubset(const Tensor& logits, int64_t k, const RandomOptions& options = {},
                    Where where = Where::current());
// A softmax of logits and Gumbel numbers, divided by the temperature, which is above 0: a relaxed draw of a
// class, [..., classes], with gradients to the logits (Jang et al., arXiv 1611.01144). With `hard` the result
// is the one-hot vector of the class, and the gradient that of the relaxed one.
struct GumbelSoftmaxOptions {
  bool hard = false;
  std::optional<Key> key = {};
};
Tensor GumbelSoftmax(const Tensor& logits, double temperature = 1, const GumbelSoftmaxOptions& options = {},
                     Where where = Where::current());
// The density is proportional to x^(concentration - 1) * exp(-rate * x). By Marsaglia and Tsang, "A simple
// method for generating gamma variables" (2000), in 8 tries at once; all fail with a probability below
// 3e-11, and the result is then the mode of the proposals. Reparametrised in the rate alone. NaN for a
// concentration that is not above 0.
Tensor RandomGamma(const Tensor& concentration, const Operand& rate = 1.0, const RandomOptions& options = {},
                   Where where = Where::current());
// The logarithm of RandomGamma's number with rate 1, which for small concentrations is too small for a float.
Tensor RandomLogGamma(const Tensor& concentration, const RandomOptions& options = {},
                      Where where = Where::current());
// In (0, 1), with a density proportional to x^(alpha - 1) * (1 - x)^(beta - 1).
Tensor RandomBeta(const Tensor& alpha, const Tensor& beta, const RandomOptions& options = {},
                  Where where = Where::current());
// Probabilities [..., classes] of concentrations of the same shape.
Tensor RandomDirichlet(const Tensor& concentration, const RandomOptions& options = {},
                       Where where = Where::current());
// Student's t with these degrees of freedom.
Tensor RandomStudentT(const Tensor& degrees, const RandomOptions& options = {},
                      Where where = Where::current());
// Counts with this mean, as floats. Below a mean of 10 by inversion up to 63, beyond it by Hoermann, "The
// transformed rejection method for generating Poisson random variables" (1993), in 16 tries at once; all fail
// with a probability below 1e-9, and the result is then the rounded mean. NaN for a mean below 0.
Tensor RandomPoisson(const Tensor& mean, const RandomOptions& options = {}, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_RANDOM_RANDOM_H_
