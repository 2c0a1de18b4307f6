#include "sinter/frontend/optim/global_norm.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/optim/update.h"

namespace sinter::optim {

namespace {

// False, with an error kept, if one of the tensors is not of floats.
bool CheckFloats(Call& call, const std::vector<Tensor>& gradients) {
  if (!call.ok()) return false;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (IsFloat(gradients[i].dtype())) continue;
    call.Fail(
        absl::StrCat("takes gradients of floats, and number ", i, " from 0 is ", gradients[i].ToString()));
    return false;
  }
  return true;
}

// Returns the norm. Gradients on several devices send their sums to the device of the first one.
Tensor NormOf(const std::vector<Tensor>& gradients, Where where) {
  const bool is_placed = std::ranges::any_of(gradients, IsPlaced);
  const bool has_f64 =
      std::ranges::any_of(gradients, [](const Tensor& g) { return g.dtype() == DType::kF64; });
  Tensor total;
  for (const Tensor& g : gradients) {
    Tensor squares = Sum(Square(Cast(g, has_f64 ? DType::kF64 : DType::kF32, where), where), {}, {}, where);
    if (is_placed && total.ok()) squares = Copy(squares, total, where);
    total = total.ok() ? Operand(total, where) + Operand(squares, where) : squares;
  }
  return Sqrt(total, where);
}

// Describes an error in the limit, as the rest of a sentence; empty if there is none.
std::string WrongLimit(const Operand& most) {
  if (!most.is_tensor()) return OutOfBounds("a norm", most.number().real(), {.above = 0});
  const Tensor& tensor = most.tensor();
  if (!tensor.ok() || (tensor.rank() == 0 && IsFloat(tensor.dtype()))) return "";
  return absl::StrCat("takes a norm that is a number or a float of rank 0, got ", tensor.ToString());
}

}  // namespace

Tensor GlobalNorm(const std::vector<Tensor>& gradients, Where where) {
  Call call("GlobalNorm", where, gradients);
  if (!CheckFloats(call, gradients)) return {};
  const LocationScope scope(&call.graph(), where, "optim::GlobalNorm");
  const UnplacedScope unplaced(&call.function());
  return NormOf(gradients, where);
}

std::vector<Tensor> ClipByGlobalNorm(const std::vector<Tensor>& gradients, const Operand& most, Where where) {
  Call call("ClipByGlobalNorm", where, gradients);
  if (!CheckFloats(call, gradients)) return {};
  if (const std::string wrong = WrongLimit(most); !wrong.empty()) {
    call.Fail(wrong);
    return {};
  }
  const LocationScope scope(&call.graph(), where, "optim::ClipByGlobalNorm");
  const UnplacedScope unplaced(&call.function());
  const Tensor norm = NormOf(gradients, where);
  const auto near = [&](const Tensor& x, const Tensor& like) {
    return Cast(IsPlaced(x) || IsPlaced(like) ? Copy(x, like, where) : x, like.dtype(), where);
  };
  const Operand limit = most.is_tensor() ? Operand(near(most.tensor(), norm), where) : most;
  // A norm of 0 divides to infinity, and the minimum makes the factor 1.
  const Tensor factor = Minimum(limit / Operand(norm, where), Operand(1.0, where));
  std::vector<Tensor> clipped;
  for (const Tensor& g : gradients) {
    clipped.push_back(Operand(g, where) * Operand(near(factor, g), where));
  }
  return clipped;
}

}  // namespace sinter::optim
