#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/nn/initializer.h"
#include "sinter/kernels/cpu/math/vector_math.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/initializer.h"

namespace sinter::nn {
namespace {

using Made = absl::StatusOr<HostTensor>;

Made Wrong(std::string_view message) { return absl::InvalidArgumentError(std::string(message)); }

Made Filled(const InitialValues& values, DType dtype, const Shape& shape) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Zeros(dtype, {shape.begin(), shape.end()}));
  SINTER_RETURN_IF_ERROR(
      FillInitialValues(values, dtype, tensor.shape(), tensor.mutable_data(), ThreadPool(1)));
  return tensor;
}

// Copies an element of a tensor to one of another of the same type.
void CopyElement(const HostTensor& from, int64_t source, HostTensor& to, int64_t target) {
  const auto size = static_cast<size_t>(SizeOf(to.dtype()));
  std::memcpy(static_cast<std::byte*>(to.mutable_data()) + static_cast<size_t>(target) * size,
              static_cast<const std::byte*>(from.data()) + static_cast<size_t>(source) * size, size);
}

// The number of elements of a kernel's window, and of its middle one.
std::pair<int64_t, int64_t> WindowOf(const Shape& shape) {
  int64_t size = 1, middle = 0;
  for (size_t d = 2; d < shape.size(); ++d) {
    size *= shape[d];
    middle = middle * shape[d] + shape[d] / 2;
  }
  return {size, middle};
}

}  // namespace

Initializer Eye(double scale) {
  return FromFunction([scale](DType dtype, const Shape& shape, int64_t) -> Made {
    if (shape.size() != 2)
      return Wrong("cannot start as the identity, which takes rank 2; nn::Dirac is for kernels");
    SINTER_ASSIGN_OR_RETURN(HostTensor result, Filled({}, dtype, shape));
    SINTER_ASSIGN_OR_RETURN(const HostTensor one, Filled({.a = scale}, dtype, {1}));
    for (int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) CopyElement(one, 0, result, i * shape[1] + i);
    return result;
  });
}

Initializer Dirac(int64_t groups) {
  return FromFunction([groups](DType dtype, const Shape& shape, int64_t) -> Made {
    if (shape.size() < 3 || groups < 1 || shape[0] % groups != 0) {
      return Wrong(absl::StrCat("cannot start from Dirac(", groups,
                                "), which takes kernels [out, in, ...] with outputs that the groups divide"));
    }
    SINTER_ASSIGN_OR_RETURN(HostTensor result, Filled({}, dtype, shape));
    SINTER_ASSIGN_OR_RETURN(const HostTensor one, Filled({.a = 1}, dtype, {1}));
    const auto [window, middle] = WindowOf(shape);
    const int64_t outputs = shape[0] / groups;
    for (int64_t o = 0; o < shape[0] && window > 0; ++o) {
      const int64_t channel = o % outputs;
      if (channel < shape[1]) CopyElement(one, 0, result, (o * shape[1] + channel) * window + middle);
    }
    return result;
  });
}

Initializer Sparse(double sparsity, double stddev) {
  return FromFunction([=](DType dtype, const Shape& shape, int64_t seed) -> Made {
    if (shape.size() != 2 || !(sparsity >= 0 && sparsity <= 1) || !(stddev >= 0) || !std::isfinite(stddev)) {
      return Wrong(
          absl::StrCat("cannot start from Sparse(", sparsity, ", ", stddev,
                       "), which takes rank 2, a sparsity from 0 to 1 and a deviation of at least 0"));
    }
    SINTER_ASSIGN_OR_RETURN(
        HostTensor result,
        Filled({.kind = InitialValues::Kind::kNormal, .b = stddev, .seed = seed}, dtype, shape));
    SINTER_ASSIGN_OR_RETURN(const HostTensor zero, Filled({}, dtype, {1}));
    const int64_t rows = shape[0], columns = shape[1];
    const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
    std::vector<std::pair<uint64_t, int64_t>> order(static_cast<size_t>(rows));
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        // Lanes of a counter word that the normal numbers do not use.
        const auto word = [&](int lane) {
          return uint64_t{
              sn_philox(static_cast<uint64_t>(seed), 1, 0, static_cast<uint64_t>(r * columns + c), lane)};
        };
        order[static_cast<size_t>(r)] = {word(0) << 32 | word(1), r};
      }
      std::ranges::sort(order);
      for (int64_t z = 0; z < zeros; ++z)
        CopyElement(zero, 0, result, order[static_cast<size_t>(z)].second * columns + c);
    }
    return result;
  });
}

Initializer DeltaOrthogonal(double gain) {
  return FromFunction([gain](DType dtype, const Shape& shape, int64_t seed) -> Made {
    if (shape.size() < 3 || shape[0] < shape[1]) {
      return Wrong("cannot start from DeltaOrthogonal, which takes kernels [out, in, ...] with out >= in");
    }
    SINTER_ASSIGN_OR_RETURN(HostTensor result, Filled({}, dtype, shape));
    SINTER_ASSIGN_OR_RETURN(const HostTensor matrix,
                            Filled({.kind = InitialValues::Kind::kOrthogonal, .a = gain, .seed = seed}, dtype,
                                   {shape[0], shape[1]}));
    const auto [window, middle] = WindowOf(shape);
    for (int64_t i = 0; i < shape[0] * shape[1] && window > 0; ++i)
      CopyElement(matrix, i, result, i * window + middle);
    return result;
  });
}

Initializer FromTensor(const HostTensor& values) {
  const auto copy = std::make_shared<const Made>(values.Clone());
  return FromFunction([copy](DType, const Shape&, int64_t) -> Made {
    SINTER_RETURN_IF_ERROR(copy->status());
    return (*copy)->Clone();
  });
}

Initializer FromFunction(VariableInit::Values function) { return Initializer(std::move(function)); }

Initializer TruncatedNormal(double stddev, double mean, double low, double high) {
  return Initializer(Initializer::Kind::kTruncated, mean, stddev).Between(low, high);
}

Initializer internal_initializer::WithZeroRow(const Initializer& values, int64_t row, double fan_in,
                                              double fan_out) {
  const VariableInit init = values.Resolve(fan_in, fan_out);
  return FromFunction([init, row](DType dtype, const Shape& shape, int64_t seed) -> Made {
    Made made = init.kind == VariableInit::Kind::kValues
                    ? (*init.values)(dtype, shape, seed)
                    : Filled({.kind = static_cast<InitialValues::Kind>(init.kind),
                              .a = init.a.real(),
                              .b = init.b,
                              .seed = seed,
                              .low = init.low,
                              .high = init.high},
                             dtype, shape);
    if (!made.ok() || made->dtype() != dtype || made->shape() != shape) return made;
    const auto bytes = static_cast<size_t>(made->num_bytes() / shape[0]);
    std::memset(static_cast<std::byte*>(made->mutable_data()) + static_cast<size_t>(row) * bytes, 0, bytes);
    return made;
  });
}

}  // namespace sinter::nn
