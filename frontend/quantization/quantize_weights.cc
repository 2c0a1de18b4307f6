// Quantises arrays of weights in main memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/quantization/quantization.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr int64_t kBlock = 32;  // Numbers of 4 bits that are stored together.

float ElementOf(const HostTensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kBf16:
      return static_cast<const BFloat16*>(tensor.data())[i].ToFloat();
    case DType::kF16:
      return static_cast<const Float16*>(tensor.data())[i].ToFloat();
    default:
      return static_cast<const float*>(tensor.data())[i];
  }
}

// Returns the scale of a group: 8 bits are symmetric, and 4 bits reach -8 on the side of the largest
// magnitude.
float ScaleOf(const std::vector<float>& group, int bits) {
  float largest = 0;
  for (const float x : group) {
    if (std::fabs(x) > std::fabs(largest)) largest = x;
  }
  return bits == 8 ? std::fabs(largest) / 127 : largest / -8;
}

// Writes number `at` of a row, in the form of quantized_matmul (ir/library/linear_ops.td).
void StoreNumber(int64_t number, int bits, int64_t at, uint8_t* row) {
  if (bits == 8) {
    row[at] = static_cast<uint8_t>(static_cast<int8_t>(number));
    return;
  }
  const auto nibble = static_cast<unsigned>(number + 8);
  uint8_t& byte = row[at / kBlock * (kBlock / 2) + at % (kBlock / 2)];
  const bool is_high = at % kBlock >= kBlock / 2;
  byte = static_cast<uint8_t>(is_high ? (byte & 15u) | nibble << 4 : (byte & 240u) | nibble);
}

}  // namespace

std::string WeightQuantizationProblem(const WeightQuantization& options, int64_t k) {
  if (options.bits != 8 && options.bits != 4)
    return absl::StrCat("has ", options.bits, " bits; expected 8 or 4");
  if (options.bits == 4 && k % kBlock != 0) {
    return absl::StrCat("has 4 bits for rows of ", k, " elements; expected a multiple of ", kBlock);
  }
  const int64_t group = options.group;
  if (group == 0 || group == k || (group > 0 && group % kBlock == 0 && k % group == 0)) return "";
  return absl::StrCat("has groups of ", group, " for rows of ", k, " elements; expected 0, or a multiple of ",
                      kBlock, " that divides ", k);
}

absl::StatusOr<QuantizedWeights> QuantizeWeights(const HostTensor& weights,
                                                 const WeightQuantization& options) {
  const auto error = [&](const std::string& problem) {
    return absl::InvalidArgumentError(absl::StrCat("QuantizeWeights(", weights.ToString(), ") ", problem));
  };
  const DType dtype = weights.dtype();
  if (weights.rank() != 2 || (dtype != DType::kF32 && dtype != DType::kBf16 && dtype != DType::kF16)) {
    return error("takes weights [n, k] of f32, bf16 or f16");
  }
  const int64_t n = weights.shape()[0], k = weights.shape()[1];
  if (std::string problem = WeightQuantizationProblem(options, k); !problem.empty()) return error(problem);
  const int64_t group = options.group == 0 ? k : options.group, groups = k == 0 ? 1 : k / group;
  const int64_t bytes = options.bits == 8 ? k : k / 2;
  QuantizedWeights result;
  SINTER_ASSIGN_OR_RETURN(result.values,
                          HostTensor::Zeros(options.bits == 8 ? DType::kI8 : DType::kU8, {n, bytes}));
  SINTER_ASSIGN_OR_RETURN(result.scales, HostTensor::Zeros(DType::kF32, {n, groups}));
  auto* const values = static_cast<uint8_t*>(result.values.mutable_data());
  auto* const scales = static_cast<float*>(result.scales.mutable_data());
  std::vector<float> elements(static_cast<size_t>(group));
  const float least = options.bits == 8 ? -127 : -8, most = options.bits == 8 ? 127 : 7;
  for (int64_t i = 0; i < n * groups && k > 0; ++i) {
    const int64_t row = i / groups, first = i % groups * group;
    for (int64_t j = 0; j < group; ++j) {
      const float x = ElementOf(weights, row * k + first + j);
      if (!std::isfinite(x)) {
        return error(
            absl::StrCat("has ", x, " in row ", row, ", column ", first + j, "; expected finite numbers"));
      }
      elements[static_cast<size_t>(j)] = x;
    }
    scales[i] = ScaleOf(elements, options.bits);
    for (int64_t j = 0; j < group; ++j) {
      const float steps = scales[i] == 0 ? 0 : std::nearbyint(elements[static_cast<size_t>(j)] / scales[i]);
      StoreNumber(static_cast<int64_t>(std::clamp(steps, least, most)), options.bits, first + j,
                  values + row * bytes);
    }
  }
  return result;
}

}  // namespace sinter
