#include "sinter/runtime/tensor/initializer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cpu/math/random_values.h"
#include "sinter/kernels/cpu/math/vector_math.h"
#include "sinter/runtime/host/element_types.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {
namespace {

using Kind = InitialValues::Kind;

constexpr int64_t kRandomGrain = 4096;
constexpr int64_t kRandomBlock = 512;

// Returns the element of the constant; integers saturate.
template <typename T>
T ConstantOf(double value) {
  if constexpr (!std::is_integral_v<T>) {
    return FromDouble<T>(value);
  } else {
    if (std::isnan(value)) return T{0};
    // The largest 64-bit integer is not a double: compare before converting.
    if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  }
}

struct Words {
  uint32_t word[4];
  Words(int64_t seed, int64_t index) {
    for (int lane = 0; lane < 4; ++lane) {
      word[lane] = sn_philox(static_cast<uint64_t>(seed), 0, 0, static_cast<uint64_t>(index), lane);
    }
  }
};

double UniformF64(const Words& w) { return sn_uniform_f64(w.word[0], w.word[1]); }
double Normal(const Words& w, bool wide) {
  return wide ? sn_normal_f64(w.word[0], w.word[1], w.word[2], w.word[3])
              : sn_normal_f32(w.word[0], w.word[1]);
}

// Eight partial sums, added at the end: vectorizable, and the same bits on every machine.
double Dot(const double* x, const double* y, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  for (; i < n; ++i) sums[0] += x[i] * y[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void Orthonormalize(double* vectors, int64_t count, int64_t size, const ThreadPool& pool) {
  for (int64_t i = 0; i < count; ++i) {
    double* const v = vectors + i * size;
    const double scale = 1 / std::sqrt(Dot(v, v, size));
    for (int64_t e = 0; e < size; ++e) v[e] *= scale;
    pool.ParallelFor(count - i - 1, 1 + 16384 / size, [&](int64_t begin, int64_t end, int) {
      for (int64_t j = i + 1 + begin; j < i + 1 + end; ++j) {
        double* const other = vectors + j * size;
        const double along = Dot(v, other, size);
        for (int64_t e = 0; e < size; ++e) other[e] -= along * v[e];
      }
    });
  }
}

absl::Status CheckRandom(DType dtype) {
  if (IsFloat(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("random initial values are floats, not ", std::string(DTypeName(dtype))));
}

// The y with erf(y) = x: a polynomial (Giles, "Approximating the erfinv function", 2010), then two steps of
// Newton's method, whose result is as exact as sn_erf_f64.
double InverseErf(double x) {
  static constexpr double kNear[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                     -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                     -0.00417768164,  0.246640727,    1.50140941};
  static constexpr double kFar[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                    0.00943887047,   1.00167406,     2.83297682};
  const double tail = (1 - x) * (1 + x);
  if (!(tail > 0)) return std::copysign(std::numeric_limits<double>::infinity(), x);
  const double w = -sn_log_f64(tail);
  const bool is_near = w < 5;
  const double at = is_near ? w - 2.5 : std::sqrt(w) - 3;
  double p = 0;
  for (const double c : is_near ? kNear : kFar) p = p * at + c;
  double y = p * x;
  constexpr double kHalfRootPi = 0.88622692545275801365;
  for (int i = 0; i < 2; ++i) y -= (sn_erf_f64(y) - x) * kHalfRootPi * sn_exp_f64(y * y);
  return y;
}

// Draws from the normal distribution within a range.
class TruncatedNormal {
 public:
  explicit TruncatedNormal(const InitialValues& values)
      : values_(values),
        low_(sn_erf_f64(values.low * kRootHalf)),
        range_(sn_erf_f64(values.high * kRootHalf) - low_) {}
  double At(int64_t element) const {
    const double deviations =
        InverseErf(low_ + range_ * UniformF64(Words(values_.seed, element))) / kRootHalf;
    return values_.a + values_.b * std::clamp(deviations, values_.low, values_.high);
  }

 private:
  static constexpr double kRootHalf = 0.70710678118654752440;
  const InitialValues& values_;
  double low_, range_;
};

// Fills `to` with `count` elements as f32, starting at element `first`.
void FillRandomF32(const InitialValues& values, int64_t first, int64_t count, float* to) {
  const auto seed = static_cast<uint64_t>(values.seed), index = static_cast<uint64_t>(first);
  if (values.kind == Kind::kUniform) {
    sn_fill_uniform_f32(seed, index, count, values.a, values.b - values.a, to);
  } else {
    sn_fill_normal_f32(seed, index, count, values.a, values.b, to);
  }
}

template <typename T>
void FillRandom(const InitialValues& values, int64_t first, int64_t count, T* to) {
  if (values.kind == Kind::kTruncatedNormal) {
    const TruncatedNormal draw(values);
    for (int64_t i = 0; i < count; ++i) to[i] = FromDouble<T>(draw.At(first + i));
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    FillRandomF32(values, first, count, to);
  } else if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < count; ++i) {
      const Words words(values.seed, first + i);
      to[i] = values.kind == Kind::kUniform ? values.a + (values.b - values.a) * UniformF64(words)
                                            : values.a + values.b * Normal(words, /*wide=*/true);
    }
  } else if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    float block[kRandomBlock];
    for (int64_t done = 0; done < count; done += kRandomBlock) {
      const int64_t size = std::min(kRandomBlock, count - done);
      FillRandomF32(values, first + done, size, block);
      for (int64_t i = 0; i < size; ++i) to[done + i] = T::FromFloat(block[i]);
    }
  }
}

absl::Status FillOrthogonal(const InitialValues& values, DType dtype, std::span<const int64_t> shape,
                            int64_t elements, void* data, const ThreadPool& pool) {
  if (shape.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("orthogonal initial values need rank 2 or more, not ", ShapeToString(dtype, shape)));
  }
  if (elements == 0) return absl::OkStatus();
  const int64_t rows = shape[0], columns = elements / rows;
  const bool by_row = rows <= columns;
  const int64_t count = std::min(rows, columns), size = std::max(rows, columns);
  std::unique_ptr<double[]> vectors(new (std::nothrow) double[static_cast<size_t>(elements)]);
  if (vectors == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "main memory has no room to make the orthogonal values of ", ShapeToString(dtype, shape)));
  }
  const auto place = [&](int64_t element) {
    return by_row ? element : element % columns * size + element / columns;
  };
  const bool wide = dtype == DType::kF64;
  pool.ParallelFor(elements, kRandomGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) vectors[place(i)] = Normal(Words(values.seed, i), wide);
  });
  Orthonormalize(vectors.get(), count, size, pool);
  WithElementType(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = static_cast<T*>(data);
    for (int64_t i = 0; i < elements; ++i) to[i] = ConstantOf<T>(values.a * vectors[place(i)]);
  });
  return absl::OkStatus();
}

}  // namespace

bool IsByElement(const InitialValues& values) { return values.kind != Kind::kOrthogonal; }

absl::Status FillInitialElements(const InitialValues& values, DType dtype, int64_t begin, int64_t count,
                                 void* data, const ThreadPool& pool) {
  return FillInitialPart(values, dtype, TensorBox::Whole(begin + count), begin, count, data, pool);
}

absl::Status FillInitialPart(const InitialValues& values, DType dtype, const TensorBox& box, int64_t begin,
                             int64_t count, void* data, const ThreadPool& pool) {
  SINTER_CHECK(IsByElement(values));
  if (values.kind == Kind::kConstant) {
    WithElementType(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      T* const to = static_cast<T*>(data);
      pool.ParallelFor(count, kRandomGrain, [&](int64_t first, int64_t end, int) {
        std::fill(to + first, to + end, ConstantOf<T>(values.a));
      });
    });
    return absl::OkStatus();
  }
  if (values.kind == Kind::kValues) {
    const int64_t size = SizeOf(dtype);
    const auto* const from = static_cast<const std::byte*>(values.values);
    auto* const to = static_cast<std::byte*>(data);
    box.ForEachRun(begin, count, [&](int64_t part, int64_t whole, int64_t run) {
      std::memcpy(to + (part - begin) * size, from + whole * size, static_cast<size_t>(run * size));
    });
    return absl::OkStatus();
  }
  SINTER_RETURN_IF_ERROR(CheckRandom(dtype));
  WithElementType(dtype, [&](auto type) {
    auto* const to = static_cast<typename decltype(type)::type*>(data);
    pool.ParallelFor(count, kRandomGrain, [&](int64_t first, int64_t end, int) {
      box.ForEachRun(begin + first, end - first, [&](int64_t part, int64_t whole, int64_t run) {
        FillRandom(values, whole, run, to + (part - begin));
      });
    });
  });
  return absl::OkStatus();
}

std::optional<uint8_t> RepeatedByte(const InitialValues& values, DType dtype) {
  if (values.kind != Kind::kConstant) return std::nullopt;
  alignas(double) uint8_t bytes[sizeof(double)];
  const int64_t size = SizeOf(dtype);
  SINTER_CHECK(FillInitialElements(values, dtype, 0, 1, bytes, ThreadPool(1)).ok());
  if (std::any_of(bytes, bytes + size, [&](uint8_t byte) { return byte != bytes[0]; })) return std::nullopt;
  return bytes[0];
}

absl::Status FillInitialValues(const InitialValues& values, DType dtype, std::span<const int64_t> shape,
                               void* data, const ThreadPool& pool) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  if (IsByElement(values)) return FillInitialElements(values, dtype, 0, elements, data, pool);
  SINTER_RETURN_IF_ERROR(CheckRandom(dtype));
  return FillOrthogonal(values, dtype, shape, elements, data, pool);
}

}  // namespace sinter
