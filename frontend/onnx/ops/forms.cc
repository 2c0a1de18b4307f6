#include "sinter/frontend/onnx/ops/forms.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::onnx {

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end && i < shape.size(); ++i) product *= shape[i];
  return product;
}

absl::StatusOr<Shape> AxesOf(Node& node, size_t i, int64_t rank) {
  Shape axes;
  if (node.HasAttr("axes")) {
    axes = node.Ints("axes");
  } else if (node.Has(i)) {
    SINTER_ASSIGN_OR_RETURN(axes, node.Ints(i));
  }
  axes = node.Axes(axes, rank);
  SINTER_RETURN_IF_ERROR(node.status());
  return axes;
}

absl::StatusOr<SliceForm> SliceFormOf(Node& node, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  Shape starts = node.Ints("starts"), ends = node.Ints("ends"), axes = node.Ints("axes"), steps;
  if (node.version() >= 10) {
    SINTER_ASSIGN_OR_RETURN(starts, node.Ints(1));
    SINTER_ASSIGN_OR_RETURN(ends, node.Ints(2));
    if (node.Has(3)) {
      SINTER_ASSIGN_OR_RETURN(axes, node.Ints(3));
    }
    if (node.Has(4)) {
      SINTER_ASSIGN_OR_RETURN(steps, node.Ints(4));
    }
  }
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return node.Bad("starts, ends, axes and steps differ in number");
  }
  axes = node.Axes(axes, rank);
  SINTER_RETURN_IF_ERROR(node.status());
  SliceForm form{.starts = Shape(shape.size(), 0), .counts = shape, .steps = Shape(shape.size(), 1)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<size_t>(axes[i]);
    const int64_t size = shape[dim], step = steps[i];
    if (step == 0) return node.Bad("a step is 0");
    const auto limited = [&](int64_t x, int64_t low, int64_t high) {
      return std::clamp(x < 0 ? std::max(x, -size - 1) + size : x, low, high);
    };
    const int64_t start = step > 0 ? limited(starts[i], 0, size) : limited(starts[i], -1, size - 1);
    const int64_t end = step > 0 ? limited(ends[i], 0, size) : limited(ends[i], -1, size - 1);
    const int64_t distance = step > 0 ? end - start : start - end;
    const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    form.counts[dim] =
        distance <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / width) + 1;
    form.starts[dim] = start;
    form.steps[dim] = form.counts[dim] <= 1 ? 1 : step;
  }
  return form;
}

absl::StatusOr<Shape> ReshapedShape(Node& node, const Shape& from) {
  Shape shape = node.Ints("shape");
  if (node.version() >= 5) {
    SINTER_ASSIGN_OR_RETURN(shape, node.Ints(1));
  }
  const bool allow_zero = node.Int("allowzero", 0) != 0;
  int64_t open = -1, known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= from.size()) return node.Bad("a 0 in the new shape stands for a dimension that x lacks");
      shape[i] = from[i];
    }
    if (shape[i] == -1 && open < 0) {
      open = static_cast<int64_t>(i);
    } else if (shape[i] < 0) {
      return node.Bad(absl::StrCat("a size of ", shape[i]));
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      return node.Bad("the new shape has too many elements");
    }
  }
  const int64_t count = Product(from, 0, from.size());
  if (open >= 0) {
    if (known == 0 || count % known != 0) return node.Bad("the size -1 does not come out whole");
    shape[static_cast<size_t>(open)] = count / known;
    known = count;
  }
  if (known != count) return node.Bad(absl::StrCat("the new shape has ", known, " elements, x has ", count));
  return shape;
}

absl::StatusOr<Shape> UnsqueezedShape(Node& node, const Shape& from) {
  Shape given = node.Ints("axes");
  if (!node.HasAttr("axes")) {
    SINTER_ASSIGN_OR_RETURN(given, node.Ints(1));
  }
  const size_t rank = from.size() + given.size();
  const Shape axes = node.Axes(given, static_cast<int64_t>(rank));
  SINTER_RETURN_IF_ERROR(node.status());
  Shape shape;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    const bool is_new = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    shape.push_back(is_new ? 1 : from[next++]);
  }
  return shape;
}

absl::StatusOr<Shape> SqueezedShape(Node& node, const Shape& from) {
  SINTER_ASSIGN_OR_RETURN(const Shape axes, AxesOf(node, 1, static_cast<int64_t>(from.size())));
  const bool all = axes.empty();
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool drops = all ? from[i] == 1 : std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (drops && from[i] != 1)
      return node.Bad(absl::StrCat("dimension ", i, " has the size ", from[i], ", not 1"));
    if (!drops) shape.push_back(from[i]);
  }
  return shape;
}

Shape FlattenedShape(Node& node, const Shape& from) {
  const int64_t axis = node.Int("axis", 1);
  const auto rank = static_cast<int64_t>(from.size());
  const auto at = static_cast<size_t>(axis == rank ? rank : node.Axis(axis, rank));
  return {Product(from, 0, at), Product(from, at, from.size())};
}

absl::StatusOr<Shape> PermutationOf(Node& node, int64_t rank) {
  Shape permutation = node.Ints("perm");
  if (!node.HasAttr("perm")) {
    for (int64_t i = rank - 1; i >= 0; --i) permutation.push_back(i);
  }
  if (static_cast<int64_t>(permutation.size()) != rank) return node.Bad("perm does not name all dimensions");
  permutation = node.Axes(permutation, rank);
  SINTER_RETURN_IF_ERROR(node.status());
  return permutation;
}

Tensor AsIndex(const Tensor& x) {
  return x.dtype() == DType::kI32 || x.dtype() == DType::kI64 ? x : Cast(x, DType::kI64);
}

Tensor FromStart(const Tensor& indices, int64_t size) {
  const Tensor index = AsIndex(indices);
  return Select(index < 0, index + size, index);
}

Tensor AlongAxis(const Tensor& x, int64_t axis, int64_t rank) {
  if (!x.ok() || axis < 0 || axis >= rank) return {};
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = x.size();
  return Reshape(x, shape);
}

}  // namespace sinter::onnx
