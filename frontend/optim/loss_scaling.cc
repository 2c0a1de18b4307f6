#include "sinter/frontend/optim/loss_scaling.h"

#include "absl/strings/str_cat.h"

namespace sinter::optim {

std::string WrongIn(const LossScale& scale) {
  const auto& [initial, double_after, constant] = scale;
  if (initial >= 1 && initial <= LossScaling::kLargest && double_after >= 1) return "";
  return absl::StrCat("needs a first loss scale from 1 to 2^24 and at least 1 step until it is doubled, got ",
                      initial, " and ", double_after);
}

LossScaling::LossScaling(Update& u, const LossScale& options) : u_(u), options_(options), where_(u.where()) {
  scale_ = u.State("loss_scale", DType::kF32, {}, options.initial);
  if (scale_.ok() && !options.constant) good_steps_ = u.State("good_steps", DType::kI64, {}, 0);
  if (scale_.ok() && !u.failed()) now_ = u.Read(scale_);
}

Tensor LossScaling::Scaled(const Tensor& loss) {
  Tensor wide = Cast(loss, Update::ComputeType(loss.dtype()), where_);
  return u_.Mul(wide, Cast(Near(now_, wide), wide.dtype(), where_));
}

void LossScaling::Unscale(std::vector<Tensor>& gradients) {
  Tensor inverse = u_.Div(1.0, now_);
  for (Tensor& g : gradients) g = u_.Mul(g, Cast(Near(inverse, g), g.dtype(), where_));
}

void LossScaling::Judge(const std::vector<Tensor>& gradients) {
  if (options_.constant) return;
  Tensor good;
  for (const Tensor& g : gradients) {
    Tensor finite = All(IsFinite(g, where_), {}, {}, where_);
    good = good.ok() ? Operand(good, where_) && Operand(Near(finite, good), where_) : finite;
  }
  u_.CountOnlyIf(good);
  Tensor steps = u_.Add(u_.Read(good_steps_), 1);
  Tensor due = Operand(steps, where_) >= Operand(static_cast<double>(options_.double_after), where_);
  Tensor more = Minimum(Operand(u_.Mul(now_, 2.0), where_), Operand(kLargest, where_));
  Tensor less = Maximum(Operand(u_.Mul(now_, 0.5), where_), Operand(1.0, where_));
  Tensor after_good = Choose(due, more, now_);
  u_.AssignAlways(scale_, Choose(good, after_good, less));
  u_.AssignAlways(good_steps_, Choose(good, Choose(due, 0.0, steps), 0.0));
}

}  // namespace sinter::optim
