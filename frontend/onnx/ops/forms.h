// Forms of operands and attributes that several converters read, and that folding reads too.
//
//   SINTER_ASSIGN_OR_RETURN(const Shape axes, AxesOf(node, 1, node.shape(0).size()));
#ifndef SINTER_FRONTEND_ONNX_OPS_FORMS_H_
#define SINTER_FRONTEND_ONNX_OPS_FORMS_H_

#include <utility>

#include "absl/status/statusor.h"
#include "sinter/frontend/onnx/node.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::onnx {

// The attribute "axes", or the operand `i` if the node has it; from 0, and empty if neither is there.
absl::StatusOr<Shape> AxesOf(Node& node, size_t i, int64_t rank);

// Along each dimension `count` elements from `start` in steps of `step`, which may be negative.
struct SliceForm {
  Shape starts, counts, steps;
};
absl::StatusOr<SliceForm> SliceFormOf(Node& node, const Shape& shape);

// The shapes of results.
absl::StatusOr<Shape> ReshapedShape(Node& node, const Shape& from);
absl::StatusOr<Shape> UnsqueezedShape(Node& node, const Shape& from);
absl::StatusOr<Shape> SqueezedShape(Node& node, const Shape& from);
Shape FlattenedShape(Node& node, const Shape& from);
absl::StatusOr<Shape> PermutationOf(Node& node, int64_t rank);

// x with indices below 0 counted from the end of a dimension of this size.
Tensor FromStart(const Tensor& indices, int64_t size);
// i32 or i64 of any integers.
Tensor AsIndex(const Tensor& x);
// The factors of a shape.
int64_t Product(const Shape& shape, size_t begin, size_t end);
// [n] as [1, ..., n, ..., 1] for dimension `axis` of `rank`.
Tensor AlongAxis(const Tensor& x, int64_t axis, int64_t rank);

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_OPS_FORMS_H_
