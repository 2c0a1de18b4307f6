#include "sinter/frontend/linalg/linalg.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::linalg {
namespace {

// Says what is wrong with operands that must be matrices; empty if nothing is.
std::string NoMatrices(const Tensor& a) {
  if (a.dtype() != F32 && a.dtype() != F64) return "takes f32 or f64; Cast(x, F32) first";
  if (a.rank() < 2) return "takes matrices [..., m, n]: at least two dimensions";
  return "";
}

std::string NoSquareMatrices(const Tensor& a) {
  if (std::string wrong = NoMatrices(a); !wrong.empty()) return wrong;
  if (a.dim(-2) == a.dim(-1)) return "";
  return absl::StrCat("takes square matrices [..., n, n], got ", a.dim(-2), " rows and ", a.dim(-1),
                      " columns");
}

// The sizes of a tensor of matrices before those of a matrix.
Shape LeadingOf(const Tensor& a) {
  Shape shape = a.shape();
  shape.resize(shape.size() - 2);
  return shape;
}

Shape Joined(Shape leading, const Shape& sizes) {
  leading.insert(leading.end(), sizes.begin(), sizes.end());
  return leading;
}

// Says why b cannot be right-hand sides of systems with matrices a; empty if it can.
std::string NoSides(const Tensor& a, const Tensor& b, bool left) {
  if (std::string wrong = NoSquareMatrices(a); !wrong.empty()) return wrong;
  if (a.dtype() != b.dtype()) return "takes operands of one element type";
  const int64_t n = a.dim(-1);
  if (b.rank() < 2 || b.dim(left ? -2 : -1) != n) {
    return absl::StrCat("needs right-hand sides ",
                        left ? absl::StrCat("[..., ", n, ", k]") : absl::StrCat("[..., k, ", n, "]"));
  }
  if (BroadcastShapes({LeadingOf(a), LeadingOf(b)})) return "";
  return "has leading dimensions that do not broadcast";
}

struct System {
  Tensor a, b;
};
// The operands with equal leading dimensions.
System BroadcastSystem(const Tensor& a, const Tensor& b) {
  const Shape leading = *BroadcastShapes({LeadingOf(a), LeadingOf(b)});
  const auto to = [&](const Tensor& x) {
    const Shape shape = Joined(leading, {x.dim(-2), x.dim(-1)});
    return shape == x.shape() ? x : BroadcastTo(x, shape);
  };
  return {to(a), to(b)};
}

mlir::Value ValueOf(const Tensor& x) { return mlir::Value::getFromOpaquePointer(x.value()); }

struct Lu {
  Tensor lu, permutation;
};
Lu FactorLu(Call& call, const Tensor& a) {
  Shape rows = a.shape();
  rows.pop_back();
  auto op = call.b().builder().create<ir::LuOp>(call.loc(), call.type(a.dtype(), a.shape()),
                                                call.type(I32, rows), ValueOf(a));
  return {call.Done(op.getLu()), call.Done(op.getPermutation())};
}

// Says what is wrong with operands that become an op with i32 positions of rows.
std::string NoLuOperand(const Tensor& a) {
  if (std::string wrong = NoSquareMatrices(a); !wrong.empty()) return wrong;
  return a.dim(-1) > std::numeric_limits<int32_t>::max() ? "takes matrices of fewer than 2^31 rows" : "";
}

// 1 for an even permutation and -1 for an odd one: by its number of pairs in the wrong order.
Tensor SignOf(const Tensor& permutation, DType dtype) {
  const Tensor wrong = ExpandDims(permutation, -1) > ExpandDims(permutation, -2);
  const Tensor pairs = Sum(Triu(Cast(wrong, I32), 1), {-2, -1});
  return Cast(1 - 2 * Rem(pairs, 2), dtype);
}

}  // namespace

Tensor Cholesky(const Tensor& a, Where where) {
  Call call("linalg::Cholesky", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoSquareMatrices(a); !wrong.empty()) return call.Fail(wrong);
  return call.Done(
      call.b().builder().create<ir::CholeskyOp>(call.loc(), call.type(a.dtype(), a.shape()), call.value(0)));
}

Tensor TriangularSolve(const Tensor& a, const Tensor& b, TriangularSolveOptions options, Where where) {
  CompositeCall call("linalg::TriangularSolve", where, {a, b});
  if (!call.ok()) return {};
  if (const std::string wrong = NoSides(a, b, options.left); !wrong.empty()) return call.Fail(wrong);
  const System system = BroadcastSystem(a, b);
  Call solve("linalg::TriangularSolve", where, {system.a, system.b});
  if (!solve.ok()) return {};
  return solve.Done(solve.b().builder().create<ir::TriangularSolveOp>(
      solve.loc(), solve.type(b.dtype(), system.b.shape()), solve.value(0), solve.value(1), options.upper,
      options.transpose, options.unit_diagonal, !options.left));
}

QrResult Qr(const Tensor& a, QrMode mode, Where where) {
  Call call("linalg::Qr", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoMatrices(a); !wrong.empty()) return {call.Fail(wrong), {}};
  const int64_t m = a.dim(-2), n = a.dim(-1);
  const bool is_complete = mode == QrMode::kComplete && m > n;
  const int64_t k = is_complete ? m : std::min(m, n);
  const Shape of_q = Joined(LeadingOf(a), {m, k}), of_r = Joined(LeadingOf(a), {k, n});
  if (!call.CheckShape(a.dtype(), of_q)) return {};
  const auto results = [&](auto op) { return QrResult{call.Done(op.getQ()), call.Done(op.getR())}; };
  mlir::OpBuilder& builder = call.b().builder();
  const mlir::Type q = call.type(a.dtype(), of_q), r = call.type(a.dtype(), of_r);
  if (is_complete) return results(builder.create<ir::QrCompleteOp>(call.loc(), q, r, call.value(0)));
  return results(builder.create<ir::QrOp>(call.loc(), q, r, call.value(0)));
}

EighResult Eigh(const Tensor& a, Where where) {
  Call call("linalg::Eigh", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoSquareMatrices(a); !wrong.empty()) return {call.Fail(wrong), {}};
  auto op = call.b().builder().create<ir::EighOp>(call.loc(),
                                                  call.type(a.dtype(), Joined(LeadingOf(a), {a.dim(-1)})),
                                                  call.type(a.dtype(), a.shape()), call.value(0));
  return {call.Done(op.getValues()), call.Done(op.getVectors())};
}

SvdResult Svd(const Tensor& a, Where where) {
  Call call("linalg::Svd", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoMatrices(a); !wrong.empty()) return {call.Fail(wrong), {}, {}};
  const int64_t m = a.dim(-2), n = a.dim(-1), k = std::min(m, n);
  const auto type = [&](const Shape& sizes) { return call.type(a.dtype(), Joined(LeadingOf(a), sizes)); };
  auto op =
      call.b().builder().create<ir::SvdOp>(call.loc(), type({m, k}), type({k}), type({k, n}), call.value(0));
  return {call.Done(op.getU()), call.Done(op.getS()), call.Done(op.getVt())};
}

Tensor Solve(const Tensor& a, const Tensor& b, Where where) {
  CompositeCall call("linalg::Solve", where, {a, b});
  if (!call.ok()) return {};
  const bool is_vector = b.rank() == 1;
  const Tensor sides = is_vector ? ExpandDims(b, -1) : b;
  if (const std::string wrong = NoLuOperand(a); !wrong.empty()) return call.Fail(wrong);
  if (const std::string wrong = NoSides(a, sides, true); !wrong.empty()) return call.Fail(wrong);
  const System system = BroadcastSystem(a, sides);
  Call solve("linalg::Solve", where, {system.a, system.b});
  if (!solve.ok()) return {};
  const Tensor x = solve.Done(solve.b().builder().create<ir::SolveOp>(
      solve.loc(), solve.type(b.dtype(), system.b.shape()), solve.value(0), solve.value(1), false));
  return is_vector ? Squeeze(x, -1) : x;
}

Tensor Inv(const Tensor& a, Where where) {
  CompositeCall call("linalg::Inv", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoLuOperand(a); !wrong.empty()) return call.Fail(wrong);
  Call build("linalg::Inv", where, {a});
  if (!build.ok()) return {};
  ir::GraphBuilder& b = build.b();
  const int64_t sizes[] = {a.dim(-2), a.dim(-1)};
  mlir::Type number = b.builder().getI32Type();
  const ir::Expr is_one = b.eq(b.iota(sizes, number, 0), b.iota(sizes, number, 1));
  const Tensor one = build.Done(b.cast(is_one, build.element(a.dtype())));
  return Solve(a, BroadcastTo(one, a.shape()), where);
}

Tensor Det(const Tensor& a, Where where) {
  CompositeCall call("linalg::Det", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoLuOperand(a); !wrong.empty()) return call.Fail(wrong);
  Call factor("linalg::Det", where, {a});
  if (!factor.ok()) return {};
  const Lu of = FactorLu(factor, a);
  return SignOf(of.permutation, a.dtype()) * Prod(Diagonal(of.lu), {-1});
}

SlogDetResult SlogDet(const Tensor& a, Where where) {
  CompositeCall call("linalg::SlogDet", where, {a});
  if (!call.ok()) return {};
  if (const std::string wrong = NoLuOperand(a); !wrong.empty()) return {call.Fail(wrong), {}};
  Call factor("linalg::SlogDet", where, {a});
  if (!factor.ok()) return {};
  const Lu of = FactorLu(factor, a);
  const Tensor diagonal = Diagonal(of.lu);
  return {SignOf(of.permutation, a.dtype()) * Prod(Sign(diagonal), {-1}), Sum(Log(Abs(diagonal)), {-1})};
}

}  // namespace sinter::linalg
