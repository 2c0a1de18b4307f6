// Parts of the texts of steps (StepKind::text), shared by several kinds.
//
//   SnakeCase("InputGrad")       // "input_grad"
#ifndef SINTER_RUNTIME_PLAN_STEP_TEXT_H_
#define SINTER_RUNTIME_PLAN_STEP_TEXT_H_

#include <string>

#include "runtime/plan_generated.h"

namespace sinter {

std::string SnakeCase(const std::string& name);
// "28x28"; empty for null.
std::string SizesText(const flatbuffers::Vector<int64_t>* sizes);
// " bias relu"; empty if there is neither.
std::string EpilogueText(bool has_bias, fb::Activation activation);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_TEXT_H_
