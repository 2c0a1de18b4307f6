// NumPy's broadcasting rules for the builder: shapes are aligned at their last dimension; a missing dimension
// or one of size 1 repeats.
//
//   auto same = BroadcastOperands(call, {x, y}, dtype);   // numbers become splats; null when the shapes do
//   not fit
#ifndef SINTER_FRONTEND_GRAPH_BROADCASTING_H_
#define SINTER_FRONTEND_GRAPH_BROADCASTING_H_

#include <optional>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

// The common shape; null when two sizes differ and neither is 1.
std::optional<Shape> BroadcastShapes(const std::vector<Shape>& shapes);

// `x` in the given shape, which it broadcasts to.
ir::Expr BroadcastExpr(ir::GraphBuilder& b, ir::Expr x, const Shape& shape);

// The operands in one shape; numbers as splats of `dtype`. Null, with an error kept by `call`, when they do
// not fit, or `dtype` does not hold a number.
std::optional<std::vector<ir::Expr>> BroadcastOperands(Call& call, const std::vector<Operand>& operands,
                                                       DType dtype);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_BROADCASTING_H_
