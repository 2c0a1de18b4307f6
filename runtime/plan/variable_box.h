// The parts of variables that ranks hold (plan.fbs: VariableBox).
//
//   const TensorBox own = BoxOf(mesh, variable, /*rank=*/3);
//   for (const RankedBox& part : BoxesOf(mesh, variable)) ...      // Each once; together they are the tensor.
//
// Unless a comment says otherwise, the plan must have passed plan_verifier.h. The tables of a program
// (runtime/world/rank_program.h) have boxes without strides, and no mesh: each is the box of its own rank.
#ifndef SINTER_RUNTIME_PLAN_VARIABLE_BOX_H_
#define SINTER_RUNTIME_PLAN_VARIABLE_BOX_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/tensor/tensor_box.h"

namespace sinter {

// True if no rank holds the whole variable.
bool IsCut(const fb::Variable& variable);

// The shape of the whole variable.
std::vector<int64_t> WholeShape(const fb::Variable& variable);

// The part of the rank; all of the variable if it has no box.
TensorBox BoxOf(const RankMesh& mesh, const fb::Variable& variable, uint32_t rank);

// A part, and the first rank that holds it.
struct RankedBox {
  TensorBox box;
  uint32_t rank;
};
// The different parts of all ranks, by their first ranks.
std::vector<RankedBox> BoxesOf(const RankMesh& mesh, const fb::Variable& variable);

// For VerifyPlan: checks the box, if there is one, of a variable whose type is verified. The mesh must be
// verified. The message has no subject.
absl::Status VerifyVariableBox(const fb::Plan& plan, const fb::Variable& variable);
// True if the ranks' parts of both are the same places of tensors of one shape.
bool HaveEqualBoxes(const fb::Variable& a, const fb::Variable& b);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_VARIABLE_BOX_H_
