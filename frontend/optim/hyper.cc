#include "sinter/frontend/optim/hyper.h"

#include "absl/strings/str_cat.h"

namespace sinter::optim {

namespace {

std::string WrongHyper(const Bounded& hyper) {
  if (const std::optional<RateSchedule>& schedule = hyper.value.schedule()) {
    if (!schedule->status().ok()) {
      return absl::StrCat("has a schedule with an error: ", schedule->status().message());
    }
    if (schedule->is_on_device()) return "";
    return absl::StrCat("takes ", std::string(hyper.what),
                        " from a function of the program, which a device cannot call; pass its values as an "
                        "input, b.Scalar(...), or use a schedule of rate_schedule.h");
  }
  if (hyper.value.is_number()) return OutOfBounds(hyper.what, hyper.value.number(), hyper.bounds);
  const Tensor& tensor = hyper.value.operand().tensor();
  if (!tensor.ok() || (tensor.rank() == 0 && tensor.dtype() == DType::kF32)) return "";
  return absl::StrCat("takes ", std::string(hyper.what), " that is a number, f32[] or a schedule, got ",
                      tensor.ToString());
}

}  // namespace

Hyper Hyper::Times(double factor) const {
  Hyper result = *this;
  result.factor_ *= factor;
  return result;
}

std::string WrongIn(const std::vector<Bounded>& hypers) {
  for (const Bounded& hyper : hypers) {
    if (std::string wrong = WrongHyper(hyper); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace sinter::optim
