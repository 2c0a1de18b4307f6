// The initial values of variables.
//
//   FillInitialValues({.kind = InitialValues::Kind::kNormal, .b = 0.02, .seed = 7}, DType::kF32, {64, 64}, data, pool);
//
// Random numbers are Philox4x32-10 with key (seed low, seed high) and, for element i in row-major order, counter
// (i low, i high, 0, 0): the same on every machine and for every number of threads. Uniform: 24 bits of word 0 (f64: 53
// of words 0 and 1). Normal: Box and Muller's cosine branch of words 0 and 1 (f64: all four). Narrower floats round what
// f32 gets. Orthogonal: normal numbers as a matrix of the first dimension by the rest, its rows (or its columns, if
// these are fewer) made orthonormal in f64 by modified Gram-Schmidt, times the gain.
#ifndef SINTER_RUNTIME_TENSOR_INITIALIZER_H_
#define SINTER_RUNTIME_TENSOR_INITIALIZER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/thread_pool.h"

namespace sinter {

// As in runtime/plan/plan.fbs.
struct InitialValues {
  enum class Kind : uint8_t { kConstant = 0, kUniform = 1, kNormal = 2, kOrthogonal = 3 };
  Kind kind = Kind::kConstant;
  double a = 0;  // The constant; the lower bound; the mean; the gain.
  double b = 0;  // The upper bound; the standard deviation.
  int64_t seed = 0;
};

// `data` holds the dense elements. A constant is converted as C++ does for floats; for integers it is truncated and
// clamped to the type's range, NaN to 0. InvalidArgument: random values of integers; orthogonal values of rank below 2.
// ResourceExhausted: no room for an orthogonal matrix in f64 beside it.
absl::Status FillInitialValues(const InitialValues& values, DType dtype, std::span<const int64_t> shape,
                               void* data, const ThreadPool& pool);

// Whether each element is made without the others: all but orthogonal values.
bool IsByElement(const InitialValues& values);
// Of such values the elements from `begin` on, `count` of them, in row-major order: the bits that FillInitialValues gives them.
// `data` holds these alone. InvalidArgument: random values of integers.
absl::Status FillInitialElements(const InitialValues& values, DType dtype, int64_t begin, int64_t count,
                                 void* data, const ThreadPool& pool);
// What all bytes of such a variable are, as of zeros. None: they differ.
std::optional<uint8_t> RepeatedByte(const InitialValues& values, DType dtype);

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_INITIALIZER_H_
