// Keeps the averages of the parameters that an update's options ask for. For Sinter's own sources only.
//
//   if (!AddToAverages(u, parts, *options.average)) return;  // The parameters have their new values.
#ifndef SINTER_FRONTEND_OPTIM_AVERAGING_H_
#define SINTER_FRONTEND_OPTIM_AVERAGING_H_

#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/optim/touched_rows.h"
#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_options.h"

namespace sinter::optim {

// Names of the variables, after the optimiser's: a slot for each parameter, and the number of values in them.
inline constexpr std::string_view kAverage = "average";
inline constexpr std::string_view kAveraged = "averaged";
// Name of the sum of the logarithms of all decays, and of a slot of this sum at the last update of each row.
inline constexpr std::string_view kAverageLog = "average_log";

// A parameter that was updated, or some rows of one.
struct AveragedPart {
  Variable variable;
  Tensor before;     // Its value before the update, in the type of the average; of the rows alone.
  const Rows* rows;  // Null if all of it was updated.
};

// Describes an error in the options, as the rest of a sentence; empty if there is none.
std::string WrongIn(const Average& average);
// Adds the parameters' current values to their averages. False, with an error kept, if it cannot.
bool AddToAverages(Update& u, const std::vector<AveragedPart>& parts, const Average& average);
// Returns averages after updates that left their values as they are. The updates' decays have the product
// exp(now - last), where `last` has one number for each row.
Tensor CaughtUp(const Tensor& averages, const Tensor& values, const Tensor& now, const Tensor& last);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_AVERAGING_H_
