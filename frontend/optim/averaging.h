// Keeps the averages of the parameters that an update's options ask for. For Sinter's own sources only.
//
//   if (!AddToAverages(u, targets, *options.average)) return;  // The parameters have their new values.
#ifndef SINTER_FRONTEND_OPTIM_AVERAGING_H_
#define SINTER_FRONTEND_OPTIM_AVERAGING_H_

#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_options.h"
#include "sinter/frontend/optim/update_targets.h"

namespace sinter::optim {

// Names of the variables, after the optimiser's: a slot for each parameter, and the number of values in them.
inline constexpr std::string_view kAverage = "average";
inline constexpr std::string_view kAveraged = "averaged";

// Describes an error in the options, as the rest of a sentence; empty if there is none.
std::string WrongIn(const Average& average);
// Adds the parameters' current values to their averages. False, with an error kept, if it cannot.
bool AddToAverages(Update& u, const std::vector<Target>& targets, const Average& average);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_AVERAGING_H_
