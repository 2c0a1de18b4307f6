// Copies the values of a module's variables to another module of the same kind, as for target networks.
//
//   nn::Module actor = Net().Named("actor"), target = Net().Named("target");
//   target.Freeze();
//   graph.Function("start", Mode::kEval, [&](Builder& b) { nn::CopyParameters(b, actor, target); });
//   graph.Function("train", Mode::kTrain, [&](Builder& b) {
//     ...
//     nn::CopyParameters(b, actor, target, 0.005);        // A moving average (arXiv 1509.02971).
//   });
#ifndef SINTER_FRONTEND_NN_COPY_PARAMETERS_H_
#define SINTER_FRONTEND_NN_COPY_PARAMETERS_H_

#include "sinter/frontend/nn/module.h"

namespace sinter::nn {

// Assigns to + rate * (from - to) to the variables of `to`, parameters and states alike, frozen or not; a
// rate of 1 copies. A variable belongs to that of the other module with the same name below the module's
// path. Errors: a module that was not used before, variables that have no counterpart of their type, or a
// rate outside of [0, 1].
void CopyParameters(Builder& b, const AnyModule& from, const AnyModule& to, double rate = 1,
                    Where where = Where::current());

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_COPY_PARAMETERS_H_
