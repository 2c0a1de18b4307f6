// Matmuls of the builder.
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {

namespace {

// Returns the leading dimensions of `shape`, without the last two.
Shape BatchOf(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

Shape WithMatrix(Shape batch, const Shape& from) {
  batch.insert(batch.end(), from.end() - 2, from.end());
  return batch;
}

// Explains why MatMul has no results of this type. Empty if it has.
std::string ResultProblem(DType of_operands, DType of_result) {
  const bool is_half = of_operands == DType::kBf16 || of_operands == DType::kF16;
  if (of_result == of_operands || (is_half && of_result == DType::kF32) ||
      (of_operands == DType::kI8 && of_result == DType::kI32)) {
    return "";
  }
  return absl::StrCat("has no result of ", std::string(DTypeName(of_result)), " from ",
                      std::string(DTypeName(of_operands)),
                      "; it is I32 for I8, and F32 for BF16 and F16: Cast it");
}

}  // namespace

Tensor MatMul(const Tensor& a, const Tensor& b, MatMulOptions options, Where where) {
  Call call("MatMul", where, {a, b});
  if (!call.ok()) return {};
  if (a.dtype() != b.dtype()) return call.Fail(MixedTypes(a.dtype(), b.dtype()));
  if (!IsNumber(a.dtype())) return call.Fail("takes numbers; Cast(x, F32) first");
  const DType of_result = options.result.value_or(a.dtype());
  if (std::string problem = ResultProblem(a.dtype(), of_result); !problem.empty()) return call.Fail(problem);
  if (a.rank() < 2 || b.rank() < 2)
    return call.Fail("takes tensors of rank 2 or more; ExpandDims adds a dimension");
  Shape sa = a.shape(), sb = b.shape();
  int64_t m = a.dim(options.transpose_a ? -1 : -2), ka = a.dim(options.transpose_a ? -2 : -1);
  int64_t kb = b.dim(options.transpose_b ? -1 : -2), n = b.dim(options.transpose_b ? -2 : -1);
  if (ka != kb) {
    std::string hint;
    if (a.dim(-1) == b.dim(-1) && !options.transpose_b) hint = "; did you mean transpose_b?";
    if (a.dim(-2) == b.dim(-2) && !options.transpose_a && hint.empty()) hint = "; did you mean transpose_a?";
    return call.Fail(absl::StrCat("has inner sizes ", ka, " and ", kb, ", which must be equal", hint));
  }
  std::optional<Shape> batch = BroadcastShapes({BatchOf(sa), BatchOf(sb)});
  if (!batch) return call.Fail("takes leading dimensions that broadcast");
  ir::GraphBuilder& g = call.b();
  Shape shape = *batch, batch_a = WithMatrix(*batch, sa), batch_b = WithMatrix(*batch, sb);
  shape.insert(shape.end(), {m, n});
  for (const Shape& s : {shape, batch_a, batch_b}) {
    if (!call.CheckShape(of_result, s)) return {};
  }
  const auto product = [&](const Shape& sizes, mlir::Value x, mlir::Value y) -> mlir::Value {
    return g.builder().create<ir::MatmulOp>(call.loc(), call.type(of_result, sizes), x, y, mlir::Value(),
                                            options.transpose_a, options.transpose_b, ir::Activation::none,
                                            static_cast<ir::MathMode>(options.math));
  };
  // Rows that meet one matrix are one product, whatever their leading dimensions.
  if (b.rank() == 2 && a.rank() > 2 && !options.transpose_a && ka > 0) {
    const int64_t rows = a.size() / ka;
    const mlir::Value flat = product({rows, n}, g.reshape(call.expr(0), {rows, ka}).value, call.value(1));
    return call.Done(g.reshape(g.wrap(flat), shape));
  }
  ir::Expr xa = BroadcastExpr(g, call.expr(0), batch_a);
  ir::Expr xb = BroadcastExpr(g, call.expr(1), batch_b);
  return call.Done(product(shape, xa.value, xb.value));
}

}  // namespace sinter
