// The loss scale of one update (optim::LossScale): scales the loss and adapts the scale.
// For Sinter's own sources only.
//
//   LossScaling scaling(u, options);
//   std::vector<Tensor> gradients = ...scaling.Scaled(loss)...;
//   scaling.Unscale(gradients);
//   scaling.Judge(gradients);
#ifndef SINTER_FRONTEND_OPTIM_LOSS_SCALING_H_
#define SINTER_FRONTEND_OPTIM_LOSS_SCALING_H_

#include <string>
#include <vector>

#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_options.h"

namespace sinter::optim {

// Describes an error in the options, as the rest of a sentence; empty if there is none.
std::string WrongIn(const LossScale& scale);

class LossScaling {
 public:
  LossScaling(Update& u, const LossScale& options);

  // Returns the scaled loss in f32 or f64, because f16 cannot hold a large scale.
  Tensor Scaled(const Tensor& loss);
  void Unscale(std::vector<Tensor>& gradients);
  // Applies the update only if all gradients are finite, and adapts the scale; nothing if it is constant.
  void Judge(const std::vector<Tensor>& gradients);

  static constexpr double kLargest = 16777216;  // 2^24

 private:
  Tensor Choose(const Tensor& condition, const Operand& yes, const Operand& no) {
    return Select(u_.At(condition), u_.At(yes), u_.At(no));
  }
  // Returns x on the device of `like`, if the graph places `like`; else x.
  Tensor Near(const Tensor& x, const Tensor& like) { return IsPlaced(like) ? Copy(x, like, where_) : x; }

  Update& u_;
  LossScale options_;
  Where where_;
  Variable scale_, good_steps_;
  Tensor now_;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_LOSS_SCALING_H_
