// Checks the arguments of a schedule. For Sinter's own sources.
//
//   return ScheduleCheck("StepDecay", where).Number("a rate", rate).Steps("a number of steps", every).Else(
//       {on_host, on_device});
#ifndef SINTER_FRONTEND_OPTIM_SCHEDULE_CHECK_H_
#define SINTER_FRONTEND_OPTIM_SCHEDULE_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/optim/rate_schedule.h"

namespace sinter::optim {

// Checks the numbers of one schedule and keeps the first error.
class ScheduleCheck {
 public:
  ScheduleCheck(std::string name, Where where) : name_(std::move(name)), where_(where) {}

  ScheduleCheck& Number(std::string_view what, double value) {
    if (wrong_.empty()) wrong_ = OutOfBounds(what, value, {.low = 0});
    return *this;
  }
  ScheduleCheck& Steps(std::string_view what, int64_t steps, int64_t least = 1) {
    return That(steps >= least,
                absl::StrCat("needs ", std::string(what), " of at least ", least, ", got ", steps));
  }
  ScheduleCheck& That(bool holds, std::string_view else_wrong) {
    if (wrong_.empty() && !holds) wrong_ = else_wrong;
    return *this;
  }
  // Returns the schedule, or a schedule with the error.
  RateSchedule Else(RateSchedule schedule) const {
    if (wrong_.empty()) return schedule;
    return RateSchedule(absl::InvalidArgumentError(
        absl::StrCat(where_.file_name(), ":", where_.line(), ": ", name_, " ", wrong_)));
  }

 private:
  std::string name_;
  Where where_;
  std::string wrong_;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_SCHEDULE_CHECK_H_
