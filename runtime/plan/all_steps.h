// Calls a function for every step of a plan: of its functions, then of the fragments that they run.
//
//   ForEachStep(plan, [&](const fb::Step& step) { bytes += step.bytes(); });
#ifndef SINTER_RUNTIME_PLAN_ALL_STEPS_H_
#define SINTER_RUNTIME_PLAN_ALL_STEPS_H_

#include "runtime/plan_generated.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {

template <typename F>
void ForEachStep(const fb::Plan& plan, F&& f) {
  for (const auto* functions : {plan.functions(), plan.fragments()}) {
    for (uint32_t i = 0; i < SizeOrZero(functions); ++i) {
      const auto* const steps = functions->Get(i)->steps();
      for (uint32_t k = 0; k < SizeOrZero(steps); ++k) f(*steps->Get(k));
    }
  }
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_ALL_STEPS_H_
