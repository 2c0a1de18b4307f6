// WithAxisSizes: a plan's tables for another number of ranks.
//
//   SINTER_ASSIGN_OR_RETURN(const std::string bytes, WithAxisSizes(plan, {"data=128"}, "train"));
//
// Each rank keeps its own part: a batch of 32 a rank stays one of 32 a rank.
#ifndef SINTER_TOOLS_PREDICT_MESH_SIZES_H_
#define SINTER_TOOLS_PREDICT_MESH_SIZES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::tools {

// Returns a buffer of fb::Plan. It is for reading its tables only, not for running. InvalidArgument: the text
// is wrong, the plan has no such axis, or what a rank does in `function` depends on the size of the axis.
absl::StatusOr<std::string> WithAxisSizes(const Plan& plan, const std::vector<std::string>& sizes,
                                          const std::string& function);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_MESH_SIZES_H_
