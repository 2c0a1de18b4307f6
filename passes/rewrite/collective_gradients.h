// The gradients of collectives, built for all members at once.
// Every member's operand affects all results, so the gradient of a collective is a collective too.
//
//   llvm::SmallVector<mlir::Operation*> members = MembersOf(op);
//   std::string why = WhyNoGradient(op);                      // Empty if it has a gradient.
//   auto terms = CollectiveGradient(b, members, gradients);   // terms[m][i]: for operand i of member m.
#ifndef SINTER_PASSES_REWRITE_COLLECTIVE_GRADIENTS_H_
#define SINTER_PASSES_REWRITE_COLLECTIVE_GRADIENTS_H_

#include <string>

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// Returns all adjacent members of the op's collective (same channel), in order; only the op itself if it is
// not in a collective.
llvm::SmallVector<mlir::Operation*> MembersOf(mlir::Operation* op);

// Returns why a member of a collective has no gradient, as the rest of a sentence that begins with the op;
// empty if it has one.
std::string WhyNoGradient(mlir::Operation* member);

// `gradients[m][i]` is the gradient of result i of member m, or null. The returned terms have the operands'
// types.
using GradientsOfMembers = llvm::SmallVector<llvm::SmallVector<ir::Expr>>;
GradientsOfMembers CollectiveGradient(ir::GraphBuilder& b, llvm::ArrayRef<mlir::Operation*> members,
                                      GradientsOfMembers gradients);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_COLLECTIVE_GRADIENTS_H_
