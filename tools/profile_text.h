// ProfileText: the profile of a function as a readable table.
//
//   std::cout << ProfileText(profile, /*most_steps=*/40);
#ifndef SINTER_TOOLS_PROFILE_TEXT_H_
#define SINTER_TOOLS_PROFILE_TEXT_H_

#include <string>

#include "sinter/tools/function_profile.h"

namespace sinter::tools {

// Returns these tables: the run, the sum of its steps, and the gap between both; the rooflines of the
// devices; time by kind of step; identical steps of the same source lines, summed (only if there are any);
// every step, longest first. The last two tables print `most_steps` rows (0: all) and the sum of the others.
// Percentages are of the run without a profile.
std::string ProfileText(const FunctionProfile& profile, int most_steps = 0);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PROFILE_TEXT_H_
