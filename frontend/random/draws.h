// The uniform and normal numbers that a call with RandomOptions draws, for Sinter's own sources.
//
//   Draws draws(Builder(x.function()), options, where);
//   Tensor u = draws.Uniform(F32, x.shape());      // The next of the key, or else of the function's stream.
#ifndef SINTER_FRONTEND_RANDOM_DRAWS_H_
#define SINTER_FRONTEND_RANDOM_DRAWS_H_

#include <utility>

#include "sinter/frontend/random/random.h"

namespace sinter {

// The least uniform number whose logarithm is taken: the distance of two f32 numbers in [0, 1).
inline constexpr double kLeastUniform = 0x1p-24;

// The type in which numbers of a type are drawn.
inline DType DrawnType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

class Draws {
 public:
  Draws(Builder b, const RandomOptions& options, Where where)
      : b_(std::move(b)), key_(options.key), where_(where) {}

  // In [0, 1).
  Tensor Uniform(DType dtype, const Shape& shape);
  // In [2^-24, 1), so that the logarithm is finite.
  Tensor Positive(DType dtype, const Shape& shape);
  // Numbers of mean 0 and standard deviation 1.
  Tensor Normal(DType dtype, const Shape& shape);
  // -log(-log(u)).
  Tensor Gumbel(DType dtype, const Shape& shape);
  // The logarithms of standard gamma numbers, for concentrations in f32 or f64.
  Tensor LogGamma(const Tensor& concentration);
  Tensor Permutation(DType dtype, int64_t n);
  Builder& b() { return b_; }

 private:
  Builder b_;
  std::optional<Key> key_;
  Where where_;
  int64_t next_ = 0;  // The number of the key's draws so far.
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_RANDOM_DRAWS_H_
