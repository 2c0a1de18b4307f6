// A function's profile as a table for people.
//
//   std::cout << ProfileText(profile, /*most_steps=*/40);
#ifndef SINTER_TOOLS_PROFILE_TEXT_H_
#define SINTER_TOOLS_PROFILE_TEXT_H_

#include <string>

#include "sinter/tools/function_profile.h"

namespace sinter::tools {

// The run, its steps' sum and the gap between both; what the devices can do; the time by kind of step; steps that do the same
// for the same lines, together, where there are such; and every step, the longest first, or the first `most_steps` (0: all)
// and what the others take. Percent are of the run without a profile.
std::string ProfileText(const FunctionProfile& profile, int most_steps = 0);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PROFILE_TEXT_H_
