// A hyper-parameter of an optimiser: a number, a tensor or a schedule.
//
//   optim::AdamW{.learning_rate = optim::WarmupCosine(3e-4, 200, 10'000),   // Computed on the device.
//                .beta1 = 0.9,                                              // Fixed at compilation.
//                .weight_decay = b.Scalar("decay")}.Minimize(loss);         // Given at each run.
//
// A tensor is f32 of rank 0. A schedule is evaluated at the number of the update, counted from 0; updates
// that a loss scale drops do not count.
#ifndef SINTER_FRONTEND_OPTIM_HYPER_H_
#define SINTER_FRONTEND_OPTIM_HYPER_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/optim/rate_schedule.h"

namespace sinter::optim {

class Hyper {
 public:
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Hyper(T number) : operand_(number) {}
  Hyper(const Operand& operand) : operand_(operand) {}
  Hyper(const Tensor& tensor, Where where = Where::current()) : operand_(tensor, where) {}
  Hyper(RateSchedule schedule) : schedule_(std::move(schedule)) {}

  // The hyper-parameter times a number.
  Hyper Times(double factor) const;
  bool is_number() const { return !schedule_ && !operand_.is_tensor(); }
  // The number; 0 for a tensor or a schedule.
  double number() const { return is_number() ? operand_.number().real() * factor_ : 0; }
  // True for the number 0: a rule leaves out what it multiplies.
  bool is_zero() const { return is_number() && number() == 0; }

  // For Sinter's own sources: what Times multiplied, and its factor.
  const Operand& operand() const { return operand_; }
  const std::optional<RateSchedule>& schedule() const { return schedule_; }
  double factor() const { return factor_; }

 private:
  Operand operand_ = 0;
  std::optional<RateSchedule> schedule_;
  double factor_ = 1;
};

// A hyper-parameter with its bounds. Numbers are checked when the graph is built; tensors and schedules are
// not.
struct Bounded {
  std::string_view what;  // "a beta1".
  Hyper value;
  NumberBounds bounds;
};

inline constexpr NumberBounds kFraction = {.low = 0, .below = 1};

// Describes the first hyper-parameter that is out of its bounds, is a tensor of another type, or is a
// schedule that cannot be computed on a device, as the rest of a sentence; empty if there is none.
std::string WrongIn(const std::vector<Bounded>& hypers);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_HYPER_H_
