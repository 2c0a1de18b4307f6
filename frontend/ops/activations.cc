#include "sinter/frontend/ops/activations.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// Calls make(x) as a call of this name, on floats.
template <typename Make>
Tensor OfFloats(std::string_view name, const Tensor& x, Where where, const std::string& wrong, Make make) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail("takes floats (f64, f32, bf16, f16); Cast(x, F32) first");
  if (!wrong.empty()) return call.Fail(wrong);
  return make();
}

// Returns both halves of x along `dim`; empty, with an error kept, if there are none.
std::vector<Tensor> Halves(CompositeCall& call, const Tensor& x, int64_t dim) {
  if (!IsFloat(x.dtype())) {
    call.Fail("takes floats (f64, f32, bf16, f16); Cast(x, F32) first");
    return {};
  }
  const auto d = call.Dim(dim, x.rank());
  if (!d) return {};
  if (x.dim(*d) % 2 != 0) {
    call.Fail(absl::StrCat("needs an even size of dimension ", *d, ", to halve it"));
    return {};
  }
  return Split(x, {x.dim(*d) / 2, x.dim(*d) / 2}, *d);
}

}  // namespace

Tensor HardTanh(const Tensor& x, double low, double high, Where where) {
  return OfFloats("HardTanh", x, where, "", [&] { return Clamp(x, low, high); });
}
Tensor Relu6(const Tensor& x, Where where) {
  return OfFloats("Relu6", x, where, "", [&] { return Clamp(x, 0, 6); });
}
Tensor HardSigmoid(const Tensor& x, Where where) {
  return OfFloats("HardSigmoid", x, where, "", [&] { return Clamp(x * (1.0 / 6) + 0.5, 0, 1); });
}
Tensor HardSwish(const Tensor& x, Where where) {
  return OfFloats("HardSwish", x, where, "", [&] { return x * Clamp(x * (1.0 / 6) + 0.5, 0, 1); });
}
Tensor Selu(const Tensor& x, Where where) {
  return OfFloats("Selu", x, where, "",
                  [&] { return Elu(x, 1.6732632423543772848) * 1.0507009873554804934; });
}
Tensor Celu(const Tensor& x, double alpha, Where where) {
  return OfFloats("Celu", x, where, OutOfBounds("an alpha", alpha, {.above = 0}),
                  [&] { return Elu(x * (1 / alpha), 1) * alpha; });
}
Tensor Mish(const Tensor& x, Where where) {
  return OfFloats("Mish", x, where, "", [&] { return x * Tanh(Softplus(x)); });
}
Tensor Softsign(const Tensor& x, Where where) {
  return OfFloats("Softsign", x, where, "", [&] { return x / (Abs(x) + 1.0); });
}
Tensor TanhShrink(const Tensor& x, Where where) {
  return OfFloats("TanhShrink", x, where, "", [&] { return x - Tanh(x); });
}
Tensor SoftShrink(const Tensor& x, double lambda, Where where) {
  return OfFloats("SoftShrink", x, where, OutOfBounds("a lambda", lambda, {.low = 0}),
                  [&] { return x - Clamp(x, -lambda, lambda); });
}
Tensor HardShrink(const Tensor& x, double lambda, Where where) {
  return OfFloats("HardShrink", x, where, OutOfBounds("a lambda", lambda, {.low = 0}),
                  [&] { return Select(Abs(x) <= lambda, 0.0, x); });
}
Tensor Threshold(const Tensor& x, double threshold, double value, Where where) {
  return OfFloats("Threshold", x, where, "", [&] { return Select(x > threshold, x, value); });
}

Tensor PRelu(const Tensor& x, const Tensor& slope, Where where) {
  CompositeCall call("PRelu", where, {x, slope});
  if (!call.ok()) return {};
  if (!IsFloat(x.dtype())) return call.Fail("takes floats (f64, f32, bf16, f16); Cast(x, F32) first");
  return Select(x > 0.0, x, slope * x);
}

Tensor Glu(const Tensor& x, int64_t dim, Where where) {
  CompositeCall call("Glu", where, {x});
  if (!call.ok()) return {};
  const std::vector<Tensor> halves = Halves(call, x, dim);
  return halves.empty() ? Tensor() : halves[0] * Sigmoid(halves[1]);
}
Tensor SwiGlu(const Tensor& x, int64_t dim, Where where) {
  CompositeCall call("SwiGlu", where, {x});
  if (!call.ok()) return {};
  const std::vector<Tensor> halves = Halves(call, x, dim);
  return halves.empty() ? Tensor() : Silu(halves[0]) * halves[1];
}

}  // namespace sinter
