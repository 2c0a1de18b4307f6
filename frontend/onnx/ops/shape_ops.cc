#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Constants, shapes, and new shapes for the same elements.
namespace sinter::onnx {
namespace {

absl::StatusOr<Values> KnownInts(const Shape& shape, const std::vector<int64_t>& values) {
  SINTER_ASSIGN_OR_RETURN(HostTensor value, (Numbers{.shape = shape, .whole = values}.To(DType::kI64)));
  return Values(Value::Known(std::move(value)));
}

absl::StatusOr<Values> KnownFloats(const Shape& shape, const std::vector<double>& values) {
  SINTER_ASSIGN_OR_RETURN(HostTensor value,
                          (Numbers{.shape = shape, .is_real = true, .real = values}.To(DType::kF32)));
  return Values(Value::Known(std::move(value)));
}

absl::StatusOr<Values> ConstantOf(Node& node) {
  if (node.HasAttr("value")) {
    SINTER_ASSIGN_OR_RETURN(Value value, node.TensorAttr("value"));
    return Values(std::move(value));
  }
  if (node.HasAttr("value_int")) return KnownInts({}, {node.Int("value_int", 0)});
  if (node.HasAttr("value_float")) return KnownFloats({}, {node.Real("value_float", 0)});
  if (node.HasAttr("value_ints")) {
    const Shape values = node.Ints("value_ints");
    return KnownInts({static_cast<int64_t>(values.size())}, values);
  }
  if (node.HasAttr("value_floats")) {
    const std::vector<double> values = node.Reals("value_floats");
    return KnownFloats({static_cast<int64_t>(values.size())}, values);
  }
  if (node.HasAttr("value_string") || node.HasAttr("value_strings")) return Values(Value::Strings());
  if (node.HasAttr("sparse_value")) return node.Unsupported("OP_FORM", "the value is sparse");
  return node.Bad("has no value");
}

absl::StatusOr<Values> ShapeOfOperand(Node& node) {
  if (!node.Operand(0).is_tensor()) node.In(0);
  const Shape shape = node.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto limited = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = limited(node.Int("start", 0)), end = limited(node.Int("end", rank));
  Shape part;
  for (int64_t i = start; i < end; ++i) part.push_back(shape[static_cast<size_t>(i)]);
  return KnownInts({static_cast<int64_t>(part.size())}, part);
}

absl::StatusOr<Values> SizeOfOperand(Node& node) {
  if (!node.Operand(0).is_tensor()) node.In(0);
  const Shape shape = node.shape(0);
  return KnownInts({}, {CountOf(shape)});
}

absl::StatusOr<Values> ConstantOfShapeOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape shape, node.Ints(0));
  Value value;
  if (node.HasAttr("value")) {
    SINTER_ASSIGN_OR_RETURN(value, node.TensorAttr("value"));
  } else {
    SINTER_ASSIGN_OR_RETURN(Values zero, KnownFloats({1}, {0}));
    value = zero[0];
  }
  if (!value.is_tensor() || value.known()->num_elements() != 1)
    return node.Bad("its value is not one number");
  const Numbers number = Numbers::Of(*value.known());
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return node.Bad("no legal shape");
  }
  if (count <= 4096) {
    Numbers all{.shape = shape, .is_real = number.is_real};
    (all.is_real ? all.real.resize(static_cast<size_t>(count), number.Real(0))
                 : all.whole.resize(static_cast<size_t>(count), number.Whole(0)));
    absl::StatusOr<HostTensor> known = all.To(value.dtype());
    if (known.ok()) return Values(Value::Known(*std::move(known)));
  }
  return Values(BroadcastTo(Reshape(node.TensorOf(value), {}), shape));
}

absl::StatusOr<Values> RangeOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const double start, node.Real(0));
  SINTER_ASSIGN_OR_RETURN(const double limit, node.Real(1));
  SINTER_ASSIGN_OR_RETURN(const double delta, node.Real(2));
  const double count = delta == 0 ? 0 : std::max(0.0, std::ceil((limit - start) / delta));
  if (delta == 0 || !(count < 1e12)) return node.Bad("has no finite number of elements");
  const Tensor steps = node.b().Iota(node.dtype(0), {static_cast<int64_t>(count)});
  return Values(steps * node.In(2) + node.In(0));
}

absl::StatusOr<Values> IdentityOf(Node& node) {
  if (node.Operand(0).is_absent()) return Values(Value());
  return Values(node.Operand(0));
}

absl::StatusOr<Values> ExpandOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape asked, node.Ints(1));
  Shape shape;
  if (!BroadcastShapes(node.shape(0), asked, shape)) return node.Bad("the shapes do not broadcast");
  return Values(BroadcastTo(node.In(0), shape));
}

absl::StatusOr<Values> EyeLikeOf(Node& node) {
  const Shape shape = node.shape(0);
  if (shape.size() != 2) return node.Bad("takes a matrix");
  SINTER_ASSIGN_OR_RETURN(const DType dtype, TypeAttr(node, "dtype", node.dtype(0)));
  Builder& b = node.b();
  const Tensor eye = Equal(b.Iota(DType::kI64, shape, 1), b.Iota(DType::kI64, shape, 0) + node.Int("k", 0));
  return Values(dtype == DType::kI1 ? eye : Cast(eye, dtype));
}

absl::StatusOr<Values> ReshapeOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape shape, ReshapedShape(node, node.shape(0)));
  return Values(Reshape(node.In(0), shape));
}

absl::StatusOr<Values> UnsqueezeOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape shape, UnsqueezedShape(node, node.shape(0)));
  return Values(Reshape(node.In(0), shape));
}

absl::StatusOr<Values> SqueezeOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape shape, SqueezedShape(node, node.shape(0)));
  return Values(Reshape(node.In(0), shape));
}

absl::StatusOr<Values> FlattenOf(Node& node) {
  const Shape shape = FlattenedShape(node, node.shape(0));
  return Values(Reshape(node.In(0), shape));
}

absl::StatusOr<Values> TransposeOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Shape permutation,
                          PermutationOf(node, static_cast<int64_t>(node.shape(0).size())));
  return Values(Transpose(node.In(0), permutation));
}

absl::StatusOr<Values> ConcatOf(Node& node) {
  const std::vector<Tensor> xs = node.AllIn();
  if (xs.empty()) return node.Bad("has no operand");
  const int64_t axis = node.Axis(node.Int("axis", node.version() < 4 ? 1 : 0), xs[0].rank());
  return Values(Concat(xs, axis));
}

absl::StatusOr<Values> SliceOf(Node& node) {
  const Shape shape = node.shape(0);
  SINTER_ASSIGN_OR_RETURN(const SliceForm form, SliceFormOf(node, shape));
  Shape starts, limits, strides, reversed;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool back = form.steps[i] < 0;
    if (back) reversed.push_back(static_cast<int64_t>(i));
    const int64_t start = back ? shape[i] - 1 - form.starts[i] : form.starts[i];
    const int64_t step = back ? -form.steps[i] : form.steps[i];
    starts.push_back(form.counts[i] == 0 ? 0 : start);
    limits.push_back(form.counts[i] == 0 ? 0 : start + (form.counts[i] - 1) * step + 1);
    strides.push_back(form.counts[i] <= 1 ? 1 : step);
  }
  const Tensor x = reversed.empty() ? node.In(0) : Reverse(node.In(0), reversed);
  return Values(Slice(x, starts, limits, strides));
}

absl::StatusOr<Values> SplitOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", 0), x.rank());
  Shape sizes = node.Ints("split");
  if (node.Has(1)) {
    SINTER_ASSIGN_OR_RETURN(sizes, node.Ints(1));
  }
  if (sizes.empty()) {
    const int64_t parts = node.Int("num_outputs", static_cast<int64_t>(node.num_outputs()));
    if (parts < 1 || parts > 1 << 16) return node.Bad("splits into no parts, or too many");
    const int64_t each = (x.dim(axis) + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(x.dim(axis) - i * each, 0, each));
  }
  return Values(Split(x, sizes, axis));
}

constexpr OpRecord kShapes[] = {
    {"Concat", 1, ConcatOf},       {"Constant", 1, ConstantOf}, {"ConstantOfShape", 9, ConstantOfShapeOf},
    {"Expand", 8, ExpandOf},       {"EyeLike", 9, EyeLikeOf},   {"Flatten", 1, FlattenOf},
    {"Identity", 1, IdentityOf},   {"Range", 11, RangeOf},      {"Reshape", 1, ReshapeOf},
    {"Shape", 1, ShapeOfOperand},  {"Size", 1, SizeOfOperand},  {"Slice", 1, SliceOf},
    {"Split", 1, SplitOf},         {"Squeeze", 1, SqueezeOf},   {"Transpose", 1, TransposeOf},
    {"Unsqueeze", 1, UnsqueezeOf},
};

}  // namespace

std::span<const OpRecord> ShapeOps() { return kShapes; }

}  // namespace sinter::onnx
