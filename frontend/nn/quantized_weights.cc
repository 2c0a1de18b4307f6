#include "sinter/frontend/nn/quantized_weights.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::nn {
namespace {

absl::StatusOr<HostTensor> Transposed(const HostTensor& weight) {
  const int64_t rows = weight.shape()[0], columns = weight.shape()[1];
  SINTER_ASSIGN_OR_RETURN(HostTensor result, HostTensor::Empty(weight.dtype(), {columns, rows}));
  const auto size = static_cast<size_t>(SizeOf(weight.dtype()));
  const auto* const from = static_cast<const std::byte*>(weight.data());
  auto* const to = static_cast<std::byte*>(result.mutable_data());
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(to + static_cast<size_t>(j * rows + i) * size,
                  from + static_cast<size_t>(i * columns + j) * size, size);
    }
  }
  return result;
}

}  // namespace

Tensor internal_quantized_weights::MultiplyStored(ParameterMaker& maker, const StoredWeights& stored,
                                                  const Tensor& x, int64_t out) {
  const auto& [weights, inputs] = stored;
  const int64_t in = x.dim(-1), groups = weights.group == 0 || in == 0 ? 1 : in / weights.group;
  if (std::string problem = WeightQuantizationProblem(weights, in); !problem.empty()) {
    return maker.Fail(absl::StrCat("of QuantizeWeights ", problem));
  }
  if (inputs && (weights.bits != 8 || groups != 1)) {
    return maker.Fail(
        "of QuantizeWeights has quantised inputs, which need weights of 8 bits with a scale a row");
  }
  const bool in_pairs = weights.bits == 4;
  const Variable values =
      maker.State("weight_values", in_pairs ? DType::kU8 : DType::kI8, {out, in_pairs ? in / 2 : in}, {});
  if (!values.ok()) return {};
  const Variable scales = maker.State("weight_scales", DType::kF32, {out, groups}, {.a = 1});
  if (!scales.ok()) return {};
  const Tensor matrix = maker.Read(values), factors = maker.Read(scales);
  return inputs ? Int8MatMul(x, matrix, factors) : QuantizedMatMul(x, matrix, factors);
}

absl::Status WriteQuantized(Session& session, std::string_view name, const HostTensor& weight) {
  const std::string base(name), values = base + "_values", scales = base + "_scales";
  const auto find = [&](const std::string& variable) {
    return std::ranges::find(session.variables(), variable, &VariableInfo::name);
  };
  const auto of_values = find(values), of_scales = find(scales);
  if (of_values == session.variables().end() || of_scales == session.variables().end()) {
    return absl::NotFoundError(absl::StrCat("the session has no variables \"", values, "\" and \"", scales,
                                            "\": \"", base,
                                            "\" is no weight of an nn::Linear that "
                                            "nn::QuantizeWeights changed"));
  }
  const int bits = of_values->dtype == DType::kU8 ? 4 : 8;
  const int64_t out = of_values->shape[0], in = of_values->shape[1] * (bits == 4 ? 2 : 1);
  if (weight.shape() != std::vector<int64_t>{in, out}) {
    return absl::InvalidArgumentError(absl::StrCat("WriteQuantized(\"", base, "\") got ", weight.ToString(),
                                                   "; expected [", in, ",", out, "]: inputs, outputs"));
  }
  const int64_t groups = of_scales->shape[1];
  SINTER_ASSIGN_OR_RETURN(const HostTensor rows, Transposed(weight));
  SINTER_ASSIGN_OR_RETURN(const QuantizedWeights quantized,
                          sinter::QuantizeWeights(rows, {bits, groups == 1 ? 0 : in / groups}));
  SINTER_RETURN_IF_ERROR(session.WriteVariable(values, quantized.values));
  return session.WriteVariable(scales, quantized.scales);
}

}  // namespace sinter::nn
