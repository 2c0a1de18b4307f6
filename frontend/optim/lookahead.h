// Moves the slow weights of an update's option .lookahead. For Sinter's own sources only.
//
//   if (!LookAhead(u, targets, *options.lookahead)) return;  // The parameters have their new values.
#ifndef SINTER_FRONTEND_OPTIM_LOOKAHEAD_H_
#define SINTER_FRONTEND_OPTIM_LOOKAHEAD_H_

#include <string>
#include <vector>

#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_options.h"
#include "sinter/frontend/optim/update_targets.h"

namespace sinter::optim {

// Describes an error in the options, as the rest of a sentence; empty if there is none.
std::string WrongIn(const Lookahead& lookahead);
// Moves the slow weights, if they are due, and sets the parameters to them. False, with an error kept, if it
// cannot.
bool LookAhead(Update& u, const std::vector<Target>& targets, const Lookahead& lookahead);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_LOOKAHEAD_H_
