#include "sinter/frontend/graph/broadcasting.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/literals.h"

namespace sinter {

std::optional<Shape> BroadcastShapes(const std::vector<Shape>& shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, 1);
  for (const Shape& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& size = result[rank - shape.size() + i];
      if (size == 1) {
        size = shape[i];
      } else if (shape[i] != 1 && shape[i] != size) {
        return std::nullopt;
      }
    }
  }
  return result;
}

ir::Expr BroadcastExpr(ir::GraphBuilder& b, ir::Expr x, const Shape& shape) {
  if (x.shape() == llvm::ArrayRef<int64_t>(shape)) return x;
  Shape dims;
  for (size_t i = 0; i < x.shape().size(); ++i)
    dims.push_back(static_cast<int64_t>(shape.size() - x.shape().size() + i));
  return b.broadcast(x, shape, dims);
}

std::optional<std::vector<ir::Expr>> BroadcastOperands(Call& call, const std::vector<Operand>& operands,
                                                       DType dtype) {
  std::vector<Shape> shapes;
  for (const Operand& o : operands) {
    if (o.is_tensor()) shapes.push_back(o.tensor().shape());
  }
  std::optional<Shape> shape = BroadcastShapes(shapes);
  if (!shape) {
    call.Fail("takes shapes that broadcast: aligned at the last dimension, sizes must be equal or 1");
    return std::nullopt;
  }
  if (!call.CheckShape(dtype, *shape)) return std::nullopt;
  std::vector<ir::Expr> result;
  for (const Operand& o : operands) {
    if (o.is_tensor()) {
      result.push_back(BroadcastExpr(
          call.b(), call.b().wrap(mlir::Value::getFromOpaquePointer(o.tensor().value())), *shape));
    } else {
      std::optional<ir::Expr> number = Literal(call, o.number(), dtype, *shape);
      if (!number) return std::nullopt;
      result.push_back(*number);
    }
  }
  return result;
}

}  // namespace sinter
