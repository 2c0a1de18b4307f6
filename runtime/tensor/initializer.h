// Computes the initial values of variables.
//
//   FillInitialValues({.kind = InitialValues::Kind::kNormal, .b = 0.02, .seed = 7}, DType::kF32, {64, 64},
//                     data, pool);
//
// FillInitialPart makes a part of a tensor without the rest.
//
// Random numbers come from Philox4x32-10 with key (seed low, seed high). Element i in row-major order has
// counter (i low, i high, 0, 0), so the values are the same on every machine and for every number of threads.
// Uniform uses 24 bits of word 0 (f64: 53 bits of words 0 and 1). Normal uses Box and Muller's cosine branch
// of words 0 and 1 (f64: all four words). TruncatedNormal inverts the distribution function in f64, at 53
// bits of words 0 and 1. Low precision types round the f32 value. Orthogonal: a matrix of
// normal numbers, with the first dimension as rows. Its rows, or its columns if there are fewer columns, are
// made orthonormal in f64 by modified Gram-Schmidt, then multiplied by the gain.
#ifndef SINTER_RUNTIME_TENSOR_INITIALIZER_H_
#define SINTER_RUNTIME_TENSOR_INITIALIZER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/thread_pool.h"
#include "sinter/runtime/tensor/tensor_box.h"

namespace sinter {

// Same meaning as in runtime/plan/plan.fbs.
struct InitialValues {
  enum class Kind : uint8_t {
    kConstant = 0,
    kUniform = 1,
    kNormal = 2,
    kOrthogonal = 3,
    kTruncatedNormal = 4,
    kValues = 5
  };
  Kind kind = Kind::kConstant;
  double a = 0;  // The constant, lower bound, mean or gain.
  double b = 0;  // The upper bound or standard deviation.
  int64_t seed = 0;
  double low = 0, high = 0;      // Range of a truncated normal, in deviations from the mean.
  const void* values = nullptr;  // All elements of the whole tensor, dense.
};

// Fills `data` with the dense elements. A constant is converted to floats as in C++; for integers it is
// truncated and clamped to the type's range, with NaN as 0. InvalidArgument: random values of integers, or
// orthogonal values of rank below 2. ResourceExhausted: no room for a temporary f64 matrix (orthogonal
// values).
absl::Status FillInitialValues(const InitialValues& values, DType dtype, std::span<const int64_t> shape,
                               void* data, const ThreadPool& pool);

// True if each element is computed independently: all kinds except orthogonal.
bool IsByElement(const InitialValues& values);
// Fills `data` with `count` elements, starting at element `begin` in row-major order, with the bits of
// FillInitialValues. Only for values with IsByElement. InvalidArgument: random values of integers.
absl::Status FillInitialElements(const InitialValues& values, DType dtype, int64_t begin, int64_t count,
                                 void* data, const ThreadPool& pool);
// Fills `data` with elements [begin, begin + count) of the box, with the bits that they have in the whole
// tensor. As FillInitialElements.
absl::Status FillInitialPart(const InitialValues& values, DType dtype, const TensorBox& box, int64_t begin,
                             int64_t count, void* data, const ThreadPool& pool);
// Returns the common value of all bytes of such a variable, for example 0 for zeros. nullopt if bytes differ
// or the values are random.
std::optional<uint8_t> RepeatedByte(const InitialValues& values, DType dtype);

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_INITIALIZER_H_
