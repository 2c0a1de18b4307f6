#include "sinter/frontend/quantization/quantization.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/pointwise.h"
#include "sinter/ir/library/quantized_sizes.h"

namespace sinter {
namespace {

struct IntegerRange {
  double low, high;
};

// The range of a type that Quantize makes; nullopt for other types.
std::optional<IntegerRange> RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return IntegerRange{-128, 127};
    case DType::kU8:
      return IntegerRange{0, 255};
    case DType::kI16:
      return IntegerRange{-32768, 32767};
    case DType::kU16:
      return IntegerRange{0, 65535};
    case DType::kI32:
      return IntegerRange{-2147483648.0, 2147483647.0};
    default:
      return std::nullopt;
  }
}

bool Broadcasts(const Tensor& from, const Tensor& to) {
  const std::optional<Shape> shape = BroadcastShapes({from.shape(), to.shape()});
  return shape && *shape == to.shape();
}

// Says what is wrong with a scale and a zero point; empty if nothing is.
std::string ScaleProblem(const Tensor& like, const Tensor& scale, const Tensor& zero_point, DType of_zero) {
  if (!IsFloat(scale.dtype())) return "takes a scale of floats";
  if (!Broadcasts(scale, like)) return "has a scale that does not broadcast to the tensor";
  if (!zero_point.ok()) return "";
  if (zero_point.dtype() != of_zero) {
    return absl::StrCat("has a zero point of ", std::string(DTypeName(zero_point.dtype())), "; expected ",
                        std::string(DTypeName(of_zero)));
  }
  return Broadcasts(zero_point, like) ? "" : "has a zero point that does not broadcast to the tensor";
}

std::vector<Tensor> WithZero(std::vector<Tensor> operands, const Tensor& zero_point) {
  if (zero_point.ok()) operands.push_back(zero_point);
  return operands;
}

// x / scale rounded, with the zero point added, before the limits. It is at least in f32, which holds it
// exactly in the range of types up to 16 bits; f64 holds that of i32.
Tensor Steps(const Tensor& x, const Tensor& scale, const Tensor& zero_point, DType dtype) {
  const DType wide = dtype == DType::kI32 || x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Tensor steps = Round(Cast(x, wide) / Cast(scale, wide));
  if (zero_point.ok()) steps = steps + Cast(zero_point, wide);
  return steps;
}

struct Checked {
  bool ok = false;
  IntegerRange range = {};
};
Checked CheckQuantize(Call& call, const Tensor& x, const Tensor& scale, const QuantizeOptions& options) {
  const std::optional<IntegerRange> range = RangeOf(options.dtype);
  std::string problem;
  if (!IsFloat(x.dtype())) {
    problem = "takes floats";
  } else if (!range) {
    problem = absl::StrCat("has no results of ", std::string(DTypeName(options.dtype)),
                           "; expected i8, u8, i16, u16 or i32");
  } else if (scale.dtype() != x.dtype()) {
    problem = absl::StrCat("has a scale of ", std::string(DTypeName(scale.dtype())), "; expected ",
                           std::string(DTypeName(x.dtype())), " as the tensor has");
  } else {
    problem = ScaleProblem(x, scale, options.zero_point, options.dtype);
  }
  if (problem.empty()) return {true, *range};
  call.Fail(problem);
  return {};
}

// Says what is wrong with the operands of a product; empty if nothing is.
std::string ProductProblem(const Tensor& x, const Tensor& values, const Tensor& scales) {
  const DType type = x.dtype();
  if (type != DType::kF32 && type != DType::kBf16 && type != DType::kF16) {
    return "takes x of f32, bf16 or f16; Cast it";
  }
  if (x.rank() < 1) return "takes x [..., k]";
  if (values.rank() != 2 || (values.dtype() != DType::kI8 && values.dtype() != DType::kU8)) {
    return "takes values i8 [n, k], or u8 [n, k / 2] for 4 bits";
  }
  const bool in_pairs = values.dtype() == DType::kU8;
  const int64_t k = x.dim(-1);
  if (in_pairs && k % ir::kQuantizedBlock != 0) {
    return absl::StrCat("has rows of ", k, " numbers of 4 bits; expected a multiple of ",
                        ir::kQuantizedBlock);
  }
  if (values.dim(1) != (in_pairs ? k / 2 : k)) {
    return absl::StrCat("has rows of ", values.dim(1), " bytes for ", k, " columns of x; expected ",
                        in_pairs ? k / 2 : k);
  }
  if (scales.rank() != 2 || !IsFloat(scales.dtype()) || scales.dtype() == DType::kF64) {
    return "takes scales [n, groups] of f32, bf16 or f16";
  }
  const int64_t groups = scales.dim(1);
  const bool fits =
      groups == 1 || (groups > 1 && k > 0 && k % groups == 0 && k / groups % ir::kQuantizedBlock == 0);
  if (scales.dim(0) == values.dim(0) && fits) return "";
  return absl::StrCat("has scales ", scales.ToString(), "; expected [", values.dim(0),
                      ", groups], for groups of a multiple of ", ir::kQuantizedBlock, " of the ", k,
                      " elements");
}

}  // namespace

Tensor Quantize(const Tensor& x, const Tensor& scale, QuantizeOptions options, Where where) {
  Call call("Quantize", where, WithZero({x, scale}, options.zero_point));
  if (!call.ok()) return {};
  const Checked checked = CheckQuantize(call, x, scale, options);
  if (!checked.ok) return {};
  const LocationScope scope(&call.graph(), where, "Quantize");
  const Tensor steps = Steps(StopGradient(x), StopGradient(scale), options.zero_point, options.dtype);
  return Cast(Clamp(steps, checked.range.low, checked.range.high), options.dtype);
}

Tensor Dequantize(const Tensor& q, const Tensor& scale, DequantizeOptions options, Where where) {
  Call call("Dequantize", where, WithZero({q, scale}, options.zero_point));
  if (!call.ok()) return {};
  if (!RangeOf(q.dtype())) return call.Fail("takes integers i8, u8, i16, u16 or i32");
  if (std::string problem = ScaleProblem(q, scale, options.zero_point, q.dtype()); !problem.empty()) {
    return call.Fail(problem);
  }
  const LocationScope scope(&call.graph(), where, "Dequantize");
  const DType wide = q.dtype() == DType::kI32 || scale.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Tensor steps = Cast(q, wide);
  if (options.zero_point.ok()) steps = steps - Cast(options.zero_point, wide);
  return Cast(steps * Cast(scale, wide), scale.dtype());
}

Tensor FakeQuantize(const Tensor& x, const Tensor& scale, QuantizeOptions options, Where where) {
  Call call("FakeQuantize", where, WithZero({x, scale}, options.zero_point));
  if (!call.ok()) return {};
  const Checked checked = CheckQuantize(call, x, scale, options);
  if (!checked.ok) return {};
  const LocationScope scope(&call.graph(), where, "FakeQuantize");
  const Tensor fixed = StopGradient(x), fixed_scale = StopGradient(scale);
  const Tensor steps = Steps(fixed, fixed_scale, options.zero_point, options.dtype);
  const Tensor limited = Clamp(steps, checked.range.low, checked.range.high);
  const Tensor inside = Equal(steps, limited);
  Tensor centred = limited;
  if (options.zero_point.ok()) centred = centred - Cast(options.zero_point, centred.dtype());
  const Tensor rounded = Cast(centred * Cast(fixed_scale, centred.dtype()), x.dtype());
  // x - StopGradient(x) is 0, and has the gradient.
  return rounded + Select(inside, x - fixed, 0.0);
}

QuantizedRows QuantizeRows(const Tensor& x, Where where) {
  Call call("QuantizeRows", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() < 1) {
    call.Fail("takes floats [..., k]");
    return {};
  }
  const LocationScope scope(&call.graph(), where, "QuantizeRows");
  const Tensor fixed = StopGradient(x);
  const Tensor scales = Max(Abs(fixed), {-1}, {.keep_dims = true}) * (1.0 / 127);
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor divisor = Select(Equal(scales, 0.0), 1.0, scales);
  const Tensor steps = Round(Cast(fixed, wide) / Cast(divisor, wide));
  return {Cast(Clamp(steps, -127, 127), DType::kI8), scales};
}

Tensor QuantizedMatMul(const Tensor& x, const Tensor& values, const Tensor& scales, Where where) {
  Call call("QuantizedMatMul", where, {x, values, scales});
  if (!call.ok()) return {};
  if (std::string problem = ProductProblem(x, values, scales); !problem.empty()) return call.Fail(problem);
  const int64_t k = x.dim(-1), n = values.dim(0);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < x.shape().size(); ++d) rows *= x.shape()[d];
  Shape shape = x.shape();
  shape.back() = n;
  if (!call.CheckShape(x.dtype(), shape)) return {};
  ir::GraphBuilder& g = call.b();
  const ir::Expr flat = x.rank() == 2 ? call.expr(0) : g.reshape(call.expr(0), {rows, k});
  const mlir::Value product = g.builder().create<ir::QuantizedMatmulOp>(
      call.loc(), call.type(x.dtype(), {rows, n}), flat.value, call.value(1), call.value(2));
  return call.Done(x.rank() == 2 ? g.wrap(product) : g.reshape(g.wrap(product), shape));
}

Tensor Int8MatMul(const Tensor& x, const Tensor& values, const Tensor& scales, Where where) {
  Call call("Int8MatMul", where, {x, values, scales});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype()) || x.rank() < 1) return call.Fail("takes floats x [..., k]");
  if (values.rank() != 2 || values.dtype() != DType::kI8 || values.dim(1) != x.dim(-1)) {
    return call.Fail(absl::StrCat("takes values i8 [n, ", x.dim(-1), "]"));
  }
  const int64_t n = values.dim(0);
  if (!IsFloat(scales.dtype()) || (scales.shape() != Shape{n} && scales.shape() != Shape{n, 1})) {
    return call.Fail(absl::StrCat("takes scales of floats [", n, "] or [", n, ", 1]"));
  }
  const LocationScope scope(&call.graph(), where, "Int8MatMul");
  const QuantizedRows rows = QuantizeRows(x.rank() == 1 ? ExpandDims(x, 0) : x);
  const Tensor sums = MatMul(rows.values, values, {.transpose_b = true, .result = DType::kI32});
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor result = Cast(sums, wide) * Cast(rows.scales, wide) * Cast(Reshape(scales, {n}), wide);
  const Tensor narrow = Cast(result, x.dtype());
  return x.rank() == 1 ? Reshape(narrow, {n}) : narrow;
}

}  // namespace sinter
