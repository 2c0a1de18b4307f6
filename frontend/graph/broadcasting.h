// NumPy's broadcasting rules for the builder.
// Shapes are aligned at their last dimension. A missing dimension, or one of size 1, repeats.
//
//   auto same = BroadcastOperands(call, {x, y}, dtype);   // nullopt if the shapes do not fit.
#ifndef SINTER_FRONTEND_GRAPH_BROADCASTING_H_
#define SINTER_FRONTEND_GRAPH_BROADCASTING_H_

#include <optional>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

// The common shape of `shapes`. nullopt if two sizes differ and neither is 1.
std::optional<Shape> BroadcastShapes(const std::vector<Shape>& shapes);

// Returns `x` broadcast to `shape`. The shapes must be compatible.
ir::Expr BroadcastExpr(ir::GraphBuilder& b, ir::Expr x, const Shape& shape);

// Broadcasts the operands to one shape; numbers become splats of `dtype`. Returns nullopt, with an error kept
// by `call`, if the shapes do not fit or `dtype` cannot hold a number.
std::optional<std::vector<ir::Expr>> BroadcastOperands(Call& call, const std::vector<Operand>& operands,
                                                       DType dtype);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_BROADCASTING_H_
