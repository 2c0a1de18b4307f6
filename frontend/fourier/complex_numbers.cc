#include "sinter/frontend/fourier/complex_numbers.h"

#include <string>

#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// Says why x holds no complex numbers; empty if it does.
std::string NoPairs(const Tensor& x) {
  if (!IsFloat(x.dtype())) return "takes floats; Cast(x, F32) first";
  if (x.rank() >= 1 && x.dim(-1) == 2) return "";
  return "takes complex numbers: pairs [re, im] in a last dimension of size 2";
}

// Part 0 or 1 of each pair, as a last dimension of size 1.
Tensor PartOfPairs(const Tensor& x, int64_t part) { return SliceDim(x, -1, part, part + 1); }

// The pair {first, -first}, in the type of the call's first operand.
Tensor OppositeSigns(std::string_view name, const Tensor& like, double first, Where where) {
  Call call(name, where, {like});
  if (!call.ok()) return {};
  ir::GraphBuilder& b = call.b();
  const int64_t sizes[] = {2};
  const ir::Expr place = b.cast(b.iota(sizes, call.element(I32), 0), call.element(like.dtype()));
  return call.Done(place * (-2 * first) + first);
}

}  // namespace

Tensor ComplexFrom(const Tensor& real, const Tensor& imaginary, Where where) {
  CompositeCall call("ComplexFrom", where, {real, imaginary});
  if (!call.ok()) return {};
  if (!IsFloat(real.dtype())) return call.Fail("takes floats; Cast(x, F32) first");
  if (real.dtype() != imaginary.dtype()) return call.Fail("takes operands of one element type");
  const std::optional<Shape> shape = BroadcastShapes({real.shape(), imaginary.shape()});
  if (!shape) return call.Fail("has shapes that do not broadcast");
  return Stack({BroadcastTo(real, *shape), BroadcastTo(imaginary, *shape)}, -1);
}

Tensor ComplexReal(const Tensor& x, Where where) {
  CompositeCall call("ComplexReal", where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoPairs(x); !wrong.empty()) return call.Fail(wrong);
  return Squeeze(PartOfPairs(x, 0), -1);
}

Tensor ComplexImag(const Tensor& x, Where where) {
  CompositeCall call("ComplexImag", where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoPairs(x); !wrong.empty()) return call.Fail(wrong);
  return Squeeze(PartOfPairs(x, 1), -1);
}

// (a + ib)(c + id) is the pair (a, b) c + (b, a) (-d, d), of maps of elements alone.
Tensor ComplexMul(const Tensor& x, const Tensor& y, Where where) {
  CompositeCall call("ComplexMul", where, {x, y});
  if (!call.ok()) return {};
  for (const Tensor& pairs : {x, y}) {
    if (const std::string wrong = NoPairs(pairs); !wrong.empty()) return call.Fail(wrong);
  }
  if (x.dtype() != y.dtype()) return call.Fail("takes operands of one element type");
  if (!BroadcastShapes({x.shape(), y.shape()}))
    return call.Fail("has leading dimensions that do not broadcast");
  return x * PartOfPairs(y, 0) +
         Reverse(x, {-1}) * (PartOfPairs(y, 1) * OppositeSigns("ComplexMul", x, -1, where));
}

Tensor ComplexConj(const Tensor& x, Where where) {
  CompositeCall call("ComplexConj", where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoPairs(x); !wrong.empty()) return call.Fail(wrong);
  return x * OppositeSigns("ComplexConj", x, 1, where);
}

// The root is taken of 1 where both parts are 0: its slope there would be infinite.
Tensor ComplexAbs(const Tensor& x, Where where) {
  CompositeCall call("ComplexAbs", where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoPairs(x); !wrong.empty()) return call.Fail(wrong);
  const Tensor squares = Sum(Square(x), {-1});
  const Tensor is_zero = Equal(squares, 0);
  return Select(is_zero, 0, Sqrt(Select(is_zero, 1, squares)));
}

Tensor ComplexAngle(const Tensor& x, Where where) {
  CompositeCall call("ComplexAngle", where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoPairs(x); !wrong.empty()) return call.Fail(wrong);
  return Squeeze(Atan2(PartOfPairs(x, 1), PartOfPairs(x, 0)), -1);
}

}  // namespace sinter
