// The gradients of collectives. What one member gives comes back from all of them, so that the gradient of a collective is a
// collective too, and is built for all members at once.
//
//   llvm::SmallVector<mlir::Operation*> members = MembersOf(op);
//   std::string why = WhyNoGradient(op);                      // Empty: it has one.
//   auto terms = CollectiveGradient(b, members, gradients);   // terms[m][i]: of operand i of member m.
#ifndef SINTER_PASSES_REWRITE_COLLECTIVE_GRADIENTS_H_
#define SINTER_PASSES_REWRITE_COLLECTIVE_GRADIENTS_H_

#include <string>

#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

// The op itself, or, of a member of a collective, all members beside it that are of its channel, in order.
llvm::SmallVector<mlir::Operation*> MembersOf(mlir::Operation* op);

// Of a member of a collective: why it has no gradient, as the rest of a sentence that begins with the op.
std::string WhyNoGradient(mlir::Operation* member);

// `gradients[m][i]` is that of result i of member m, null where there is none. The terms' types are the operands'.
using GradientsOfMembers = llvm::SmallVector<llvm::SmallVector<ir::Expr>>;
GradientsOfMembers CollectiveGradient(ir::GraphBuilder& b, llvm::ArrayRef<mlir::Operation*> members,
                                      GradientsOfMembers gradients);

}  // namespace sinter

#endif  // SINTER_PASSES_REWRITE_COLLECTIVE_GRADIENTS_H_
