#include "sinter/frontend/ops/numbers.h"

#include <cmath>
#include <initializer_list>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

constexpr const char* kFloatNumbers = "takes floats (f64, f32, bf16, f16); Cast(x, F32) first";

std::vector<Tensor> OperandTensors(std::initializer_list<Operand> operands) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) tensors.push_back(operand.tensor());
  }
  return tensors;
}

double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1.7976931348623157e308;
    case DType::kBf16:
      return 3.3895313892515355e38;
    case DType::kF16:
      return 65504;
    default:
      return 3.4028234663852886e38;
  }
}

}  // namespace

Tensor FloorDivide(Operand x, Operand y) {
  CompositeCall call("FloorDivide", x.where(), OperandTensors({x, y}));
  if (!call.ok()) return {};
  const DType dtype = x.is_tensor() ? x.tensor().dtype() : y.tensor().dtype();
  if (!IsNumber(dtype)) return call.Fail("takes numbers, not i1 and not 8-bit floats; Cast(x, F32) first");
  const Tensor quotient = x / y;
  if (!quotient.ok()) return {};
  if (IsFloat(dtype)) return Floor(quotient);
  // The quotient is rounded up where the two remainders differ.
  return quotient - Cast(NotEqual(Rem(x, y), Mod(x, y)), dtype);
}

Tensor Frac(const Tensor& x, Where where) {
  CompositeCall call("Frac", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloatNumbers);
  return x - Trunc(x);
}

Tensor Lerp(const Tensor& x, const Tensor& y, Operand weight) {
  CompositeCall call("Lerp", weight.where(), OperandTensors({x, y, weight}));
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloatNumbers);
  const Tensor way = y - x;
  if (!way.ok()) return {};
  // Each end is exact from its own side.
  const auto from_x = [&] { return x + weight * way; };
  const auto from_y = [&](const Operand& rest) { return y - rest * way; };
  if (!weight.is_tensor()) {
    const double number = weight.number().real();
    return number < 0.5 ? from_x() : from_y(1.0 - number);
  }
  return Select(weight < 0.5, from_x(), from_y(1.0 - weight));
}

Tensor Cbrt(const Tensor& x, Where where) {
  CompositeCall call("Cbrt", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloatNumbers);
  const Tensor wide = Cast(x, F64);
  return Cast(Sign(wide) * Pow(Abs(wide), 1.0 / 3), x.dtype());
}

Tensor CopySign(const Tensor& x, Operand sign) {
  CompositeCall call("CopySign", sign.where(), OperandTensors({x, sign}));
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloatNumbers);
  const Tensor size = Abs(x);
  if (!sign.is_tensor()) return std::signbit(sign.number().real()) ? -size : size;
  // -0 is told from 0 by its reciprocal.
  const Tensor signs = StopGradient(sign.tensor());
  return Select(signs < 0.0 || (Equal(signs, 0.0) && 1.0 / signs < 0.0), -size, size);
}

Tensor NanToNum(const Tensor& x, const NanToNumOptions& options, Where where) {
  CompositeCall call("NanToNum", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kFloatNumbers);
  const double largest = LargestOf(x.dtype());
  const Tensor number = Select(IsNan(x), options.nan, x), is_infinite = IsInf(x);
  const Tensor high = Select(is_infinite && x > 0.0, options.infinity.value_or(largest), number);
  return Select(is_infinite && x < 0.0, options.negative_infinity.value_or(-largest), high);
}

}  // namespace sinter
