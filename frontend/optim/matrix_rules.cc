#include "sinter/frontend/optim/matrix_rules.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/optim/moments.h"

namespace sinter::optim {

namespace {

Tensor RootMeanSquare(const Tensor& x) { return Sqrt(Mean(Square(x))); }

// Returns beta * slot + rest * x, assigned to the slot.
Tensor Decayed(Parameter& p, std::string_view slot, const Tensor& rest, const Tensor& x) {
  const Tensor old = p.Slot(slot, x.shape());
  const Tensor next = old * (1 - rest) + x * rest;
  p.SetSlot(slot, next);
  return next;
}

// Returns the Newton-Schulz quintic's approximation of the nearest orthogonal matrix.
Tensor Orthogonal(const Tensor& matrix, const Operand& epsilon, int64_t iterations) {
  const bool is_tall = matrix.dim(0) > matrix.dim(1);
  Tensor x = is_tall ? Transpose(matrix, {1, 0}) : matrix;
  x = x / (Norm(x) + epsilon);
  for (int64_t i = 0; i < iterations; ++i) {
    const Tensor square = MatMul(x, x, {.transpose_b = true});
    x = x * 3.4445 + MatMul(square * -4.775 + MatMul(square, square) * 2.0315, x);
  }
  return is_tall ? Transpose(x, {1, 0}) : x;
}

}  // namespace

Tensor Adafactor::operator()(Parameter& p) const {
  const Tensor t = p.Step();
  if (!t.ok()) return {};
  const Operand power = p.At(decay);
  const Tensor rest = Pow(t, power.is_tensor() ? Operand(-power) : Operand(-decay.number()));  // 1 - beta.
  const Tensor squares = Square(p.gradient) + p.At(epsilon1);
  Tensor v;
  if (p.value.rank() < 2) {
    v = Decayed(p, "v", rest, squares);
  } else {
    const Tensor rows = Decayed(p, "rows", rest, Sum(squares, {-1}, {.keep_dims = true}));
    const Tensor columns = Decayed(p, "columns", rest, Sum(squares, {-2}, {.keep_dims = true}));
    // Divided before the product, which f32 might not hold.
    v = rows / Sum(rows, {-2}, {.keep_dims = true}) * columns;
  }
  Tensor u = p.gradient / Sqrt(v);
  u = u / Maximum(RootMeanSquare(u) / p.At(clip), 1);
  const Tensor rate =
      Maximum(RootMeanSquare(p.value), p.At(epsilon2)) * Minimum(Rsqrt(t), p.At(learning_rate));
  return p.value - u * rate;
}

Tensor Muon::operator()(Parameter& p) const {
  if (p.value.rank() != 2) {
    return p.Fail(
        absl::StrCat("updates matrices only, and \"", p.variable.name(), "\" is ", p.value.ToString(),
                     "; list the matrices in .parameters, and update the others with another rule"));
  }
  const Tensor m = Decaying(p, p.Slot("m"), momentum, p.gradient);
  p.SetSlot("m", m);
  Tensor step = Orthogonal(nesterov ? Decaying(p, m, momentum, p.gradient) : m, p.At(epsilon), iterations);
  const auto rows = static_cast<double>(p.value.dim(0)), columns = static_cast<double>(p.value.dim(1));
  if (rows > columns) step = step * std::sqrt(rows / columns);
  if (!weight_decay.is_zero()) step = step + p.value * p.At(weight_decay);
  return p.value - step * p.At(learning_rate);
}

std::vector<Bounded> Adafactor::Bounds() const {
  return {{"a decay", decay, {.low = 0}},
          {"an epsilon1", epsilon1, {.above = 0}},
          {"an epsilon2", epsilon2, {.low = 0}},
          {"a clip", clip, {.above = 0}}};
}

std::vector<Bounded> Muon::Bounds() const {
  return {{"a momentum", momentum, kFraction},
          {"a weight decay", weight_decay, {.low = 0}},
          {"an epsilon", epsilon, {.low = 0}},
          {"a number of iterations", static_cast<double>(iterations), {.low = 1}}};
}

}  // namespace sinter::optim
