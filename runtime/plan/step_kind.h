// The kinds of steps that a plan has.
//
//   report << StepKind(step);      // "conv"
#ifndef SINTER_RUNTIME_PLAN_STEP_KIND_H_
#define SINTER_RUNTIME_PLAN_STEP_KIND_H_

#include <string_view>

#include "runtime/plan_generated.h"

namespace sinter {

// "kernel", "matmul", "conv", "pool", "copy", "attention", "all_reduce" and the like, or a catalogue kernel's
// name.
std::string_view StepKind(const fb::Step& step);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_KIND_H_
