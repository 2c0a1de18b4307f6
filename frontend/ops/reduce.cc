// Reductions of the builder.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/scatter.h"

namespace sinter {

namespace {

constexpr char kNoFloats[] = "takes floats; Cast(x, F32) first";

enum class ReduceTakes { kFloats, kNumbers, kBools };

// Returns the reduced dimensions in ascending order; nullopt, with an error kept, if one is invalid.
template <typename AnyCall>
std::optional<Shape> ReducedDims(AnyCall& call, const Tensor& x, const Shape& dims) {
  Shape counted;
  if (dims.empty()) {
    counted.resize(x.rank());
    std::iota(counted.begin(), counted.end(), int64_t{0});
    return counted;
  }
  for (int64_t d : dims) {
    auto at = call.Dim(d, x.rank());
    if (!at) return std::nullopt;
    counted.push_back(*at);
  }
  std::sort(counted.begin(), counted.end());
  if (std::adjacent_find(counted.begin(), counted.end()) != counted.end()) {
    call.Fail("names a dimension twice");
    return std::nullopt;
  }
  return counted;
}

template <typename Op>
Tensor Reduce(std::string_view name, ReduceTakes takes, const Tensor& x, const Shape& dims,
              ReduceOptions options, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (takes == ReduceTakes::kFloats && !IsFloat(x.dtype())) return call.Fail(kNoFloats);
  if (takes == ReduceTakes::kNumbers && !IsNumber(x.dtype())) return call.Fail(NotNumbers(x.dtype()));
  if (takes == ReduceTakes::kBools && x.dtype() != DType::kI1)
    return call.Fail("takes i1; compare first, as in x > 0");
  std::optional<Shape> reduced = ReducedDims(call, x, dims);
  if (!reduced) return {};
  Shape shape, kept;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool gone = std::binary_search(reduced->begin(), reduced->end(), d);
    if (!gone) shape.push_back(x.dim(d));
    kept.push_back(gone ? 1 : x.dim(d));
  }
  mlir::Value result =
      call.b().builder().create<Op>(call.loc(), call.type(x.dtype(), shape), call.value(0), *reduced);
  return call.Done(options.keep_dims ? call.b().reshape(call.b().wrap(result), kept) : call.b().wrap(result));
}

template <typename Op>
Tensor ArgReduce(std::string_view name, const Tensor& x, int64_t dim, DType dtype, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsNumber(x.dtype())) return call.Fail(NotNumbers(x.dtype()));
  if (dtype != DType::kI32 && dtype != DType::kI64) return call.Fail("gives i32 or i64");
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  if (x.dim(*d) == 0) return call.Fail("has no position along a dimension of size 0");
  if (!CheckLiteral(call, x.dim(*d) - 1, dtype)) return {};
  Shape shape = x.shape();
  shape.erase(shape.begin() + *d);
  return call.Done(
      call.b().builder().create<Op>(call.loc(), call.type(dtype, shape), call.value(0), *d).getResult());
}

}  // namespace

Tensor Sum(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::SumOp>("Sum", ReduceTakes::kNumbers, x, dims, options, where);
}
Tensor Mean(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::MeanOp>("Mean", ReduceTakes::kFloats, x, dims, options, where);
}
Tensor Max(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::MaxOp>("Max", ReduceTakes::kNumbers, x, dims, options, where);
}
Tensor Min(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::MinOp>("Min", ReduceTakes::kNumbers, x, dims, options, where);
}
Tensor Prod(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::ProdOp>("Prod", ReduceTakes::kNumbers, x, dims, options, where);
}
Tensor Any(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::AnyOp>("Any", ReduceTakes::kBools, x, dims, options, where);
}
Tensor All(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::AllOp>("All", ReduceTakes::kBools, x, dims, options, where);
}
Tensor LogSumExp(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  return Reduce<ir::LogsumexpOp>("LogSumExp", ReduceTakes::kFloats, x, dims, options, where);
}
Tensor ArgMax(const Tensor& x, int64_t dim, DType dtype, Where where) {
  return ArgReduce<ir::ArgmaxOp>("ArgMax", x, dim, dtype, where);
}
Tensor ArgMin(const Tensor& x, int64_t dim, DType dtype, Where where) {
  return ArgReduce<ir::ArgminOp>("ArgMin", x, dim, dtype, where);
}

TopKResult TopK(const Tensor& x, int64_t k, Where where) {
  Call call("TopK", where, {x});
  if (!call.ok()) return {};
  if (!IsNumber(x.dtype())) return {call.Fail(NotNumbers(x.dtype())), {}};
  if (x.rank() == 0) return {call.Fail("takes elements of rank 1 or more; Reshape(x, {1}) first"), {}};
  Shape shape = x.shape();
  if (k < 1 || k > shape.back()) {
    return {call.Fail(absl::StrCat("takes the ", k, " largest of rows of ", shape.back(),
                                   " elements; give a k from 1 to the size of the last dimension")),
            {}};
  }
  if (shape.back() > std::numeric_limits<int32_t>::max()) {
    return {call.Fail("takes rows of fewer than 2^31 elements; positions are i32"), {}};
  }
  shape.back() = k;
  auto op = call.b().builder().create<ir::TopKOp>(call.loc(), call.type(x.dtype(), shape),
                                                  call.type(DType::kI32, shape), call.value(0), k);
  return {call.Done(op.getValues()), call.Done(op.getPositions())};
}

Tensor CumSum(const Tensor& x, int64_t dim, bool reverse, Where where) {
  Call call("CumSum", where, {x});
  if (!call.ok()) return {};
  if (!IsNumber(x.dtype())) return call.Fail(NotNumbers(x.dtype()));
  auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  auto flag = reverse ? call.b().builder().getUnitAttr() : mlir::UnitAttr();
  return call.Done(call.b()
                       .builder()
                       .create<ir::CumsumOp>(call.loc(), call.value(0).getType(), call.value(0),
                                             call.b().builder().getI64IntegerAttr(*d), flag)
                       .getResult());
}

namespace {

// Combines each element with those before it along a dimension, or with reverse with those behind it. After
// the pass of a shift, an element holds what up to 2 * shift elements give (Hillis and Steele, "Data parallel
// algorithms", 1986).
template <typename Combine>
Tensor Running(const char* name, const Tensor& x, int64_t dim, bool reverse, Where where,
               const Combine& combine) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsNumber(x.dtype()))
    return call.Fail("takes numbers, not i1 and not 8-bit floats; Cast(x, F32) first");
  const auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  Tensor y = x;
  const int64_t n = x.dim(*d);
  for (int64_t shift = 1; shift < n; shift *= 2) {
    const Tensor front = SliceDim(y, *d, 0, n - shift), back = SliceDim(y, *d, shift, n);
    y = reverse ? Concat({combine(front, back), SliceDim(y, *d, n - shift, n)}, *d)
                : Concat({SliceDim(y, *d, 0, shift), combine(front, back)}, *d);
  }
  return y;
}

}  // namespace

Tensor CumProd(const Tensor& x, int64_t dim, bool reverse, Where where) {
  return Running("CumProd", x, dim, reverse, where, [](const Tensor& a, const Tensor& b) { return a * b; });
}
Tensor CumMax(const Tensor& x, int64_t dim, bool reverse, Where where) {
  return Running("CumMax", x, dim, reverse, where,
                 [](const Tensor& a, const Tensor& b) { return Maximum(a, b); });
}
Tensor CumMin(const Tensor& x, int64_t dim, bool reverse, Where where) {
  return Running("CumMin", x, dim, reverse, where,
                 [](const Tensor& a, const Tensor& b) { return Minimum(a, b); });
}

Tensor LogCumSumExp(const Tensor& x, int64_t dim, bool reverse, Where where) {
  CompositeCall call("LogCumSumExp", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kNoFloats);
  return Running("LogCumSumExp", x, dim, reverse, where, [](const Tensor& a, const Tensor& b) {
    // The gradient of LogAddExp is NaN for two infinities.
    const Tensor is_same = Equal(a, b);
    return Select(is_same, (a + b) * 0.5 + std::log(2.0),
                  LogAddExp(Select(is_same, 0.0, a), Select(is_same, 0.0, b)));
  });
}

namespace {

// Returns the norm of floats. A p that is finite and neither 0, 1 nor 2 takes powers, by which elements and
// sums of 0 have no part.
Tensor NormOf(const Tensor& x, const Shape& dims, double p, ReduceOptions options) {
  if (p == 0) return Sum(Cast(NotEqual(x, 0.0), x.dtype()), dims, options);
  const Tensor size = Abs(x);
  if (std::isinf(p)) return p > 0 ? Max(size, dims, options) : Min(size, dims, options);
  if (p == 1) return Sum(size, dims, options);
  const double of_zero = p > 0 ? 0 : std::numeric_limits<double>::infinity();
  const Tensor is_zero = Equal(size, 0.0);
  const Tensor sum = Sum(Select(is_zero, of_zero, Pow(Select(is_zero, 1.0, size), p)), dims, options);
  const Tensor is_bound = Equal(sum, of_zero);
  return Select(is_bound, 0.0, Pow(Select(is_bound, 1.0, sum), 1 / p));
}

// f64 stays, and other floats are computed in f32.
Tensor Widened(const Tensor& x) { return x.dtype() == DType::kF64 ? x : Cast(x, F32); }

// Joins dimensions, which are in ascending order, to one behind the others.
Tensor JoinedLast(const Tensor& x, const Shape& dims) {
  Shape order, shape;
  int64_t joined = 1;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (std::binary_search(dims.begin(), dims.end(), d)) {
      joined *= x.dim(d);
      continue;
    }
    order.push_back(d);
    shape.push_back(x.dim(d));
  }
  order.insert(order.end(), dims.begin(), dims.end());
  shape.push_back(joined);
  return Reshape(Transpose(x, order), shape);
}

// The places of two elements of a sorted row of n, and the weight of the second.
struct QuantilePlaces {
  QuantilePlaces(double q, int64_t n, QuantileRule rule) {
    const double place = q * static_cast<double>(n - 1);
    first = static_cast<int64_t>(std::floor(place));
    last = static_cast<int64_t>(std::ceil(place));
    weight = rule == QuantileRule::kMidpoint ? 0.5 : place - std::floor(place);
    if (rule == QuantileRule::kLower) last = first;
    if (rule == QuantileRule::kHigher) first = last;
    if (rule == QuantileRule::kNearest) first = last = static_cast<int64_t>(std::nearbyint(place));
  }
  int64_t first, last;
  double weight;
};

Tensor QuantileOf(const char* name, const Tensor& x, double q, const Shape& dims, QuantileOptions options,
                  Where where) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kNoFloats);
  if (const std::string wrong = OutOfBounds("a q", q, {.low = 0, .high = 1}); !wrong.empty()) {
    return call.Fail(wrong);
  }
  const std::optional<Shape> reduced = ReducedDims(call, x, dims);
  if (!reduced) return {};
  const Tensor rows = JoinedLast(x, *reduced);
  if (!rows.ok()) return {};
  const int64_t n = rows.dim(-1);
  if (n == 0) return call.Fail("takes an element of none; its dimensions have size 0");
  const QuantilePlaces places(q, n, options.rule);
  const Tensor sorted = Sort(rows).values;
  const auto at = [&](int64_t i) { return Squeeze(SliceDim(sorted, -1, i, i + 1), -1); };
  Tensor y = at(places.first);
  if (places.first != places.last) {
    y = Cast(Widened(y) * (1 - places.weight) + Widened(at(places.last)) * places.weight, x.dtype());
  }
  // Sort puts NaN last.
  y = Select(IsNan(at(n - 1)), std::numeric_limits<double>::quiet_NaN(), y);
  if (!options.keep_dims) return y;
  Shape kept = x.shape();
  for (const int64_t d : *reduced) kept[static_cast<size_t>(d)] = 1;
  return Reshape(y, kept);
}

}  // namespace

Tensor Norm(const Tensor& x, const Shape& dims, NormOptions options, Where where) {
  const ReduceOptions keep{.keep_dims = options.keep_dims};
  if (options.p == 2) return Reduce<ir::NormOp>("Norm", ReduceTakes::kFloats, x, dims, keep, where);
  CompositeCall call("Norm", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kNoFloats);
  if (std::isnan(options.p)) return call.Fail("has a p of NaN; give a number, which may be infinite");
  return Cast(NormOf(Widened(x), dims, options.p, keep), x.dtype());
}

Tensor NanSum(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  CompositeCall call("NanSum", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kNoFloats);
  return Sum(Select(IsNan(x), 0.0, x), dims, options);
}

Tensor NanMean(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  CompositeCall call("NanMean", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kNoFloats);
  const Tensor is_number = !IsNan(x), wide = Widened(x);
  return Cast(
      Sum(Select(is_number, wide, 0.0), dims, options) / Sum(Cast(is_number, wide.dtype()), dims, options),
      x.dtype());
}

Tensor CountNonZero(const Tensor& x, const Shape& dims, ReduceOptions options, Where where) {
  CompositeCall call("CountNonZero", where, {x});
  if (!call.ok()) return {};
  if (!IsNumber(x.dtype()) && x.dtype() != I1) return call.Fail(NotNumbers(x.dtype()));
  const Tensor counts = Cast(x.dtype() == I1 ? x : NotEqual(x, 0), I32);
  const Tensor sum = Sum(counts, dims, options);
  if (!sum.ok() || x.size() / std::max<int64_t>(sum.size(), 1) <= std::numeric_limits<int32_t>::max())
    return sum;
  return call.Fail("counts fewer than 2^31 elements for a result; its counts are i32");
}

Tensor Quantile(const Tensor& x, double q, const Shape& dims, QuantileOptions options, Where where) {
  return QuantileOf("Quantile", x, q, dims, options, where);
}
Tensor Median(const Tensor& x, const Shape& dims, QuantileOptions options, Where where) {
  return QuantileOf("Median", x, 0.5, dims, options, where);
}

Tensor Var(const Tensor& x, const Shape& dims, VarianceOptions options, Where where) {
  CompositeCall call("Var", where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail(kNoFloats);
  const Tensor mean = Mean(x, dims, {.keep_dims = true});
  if (!mean.ok()) return {};
  const int64_t count = mean.size() == 0 ? 0 : x.size() / mean.size();
  if (options.correction < 0 || (options.correction > 0 && options.correction >= count)) {
    return call.Fail(absl::StrCat("has a correction of ", options.correction,
                                  ", which must be at least 0 and below the ", count,
                                  " elements of a variance"));
  }
  const Tensor variance = Mean(Square(x - mean), dims, {.keep_dims = options.keep_dims});
  const double n = static_cast<double>(count), others = static_cast<double>(count - options.correction);
  return options.correction == 0 ? variance : variance * (n / others);
}

Tensor Std(const Tensor& x, const Shape& dims, VarianceOptions options, Where where) {
  CompositeCall call("Std", where, {x});
  if (!call.ok()) return {};
  // The gradient is 0 where all elements are equal, as that of Norm is.
  const Tensor variance = Var(x, dims, options);
  const Tensor varies = variance > 0.0;
  return Select(varies, Sqrt(Select(varies, variance, 1.0)), variance);
}

}  // namespace sinter
