// Input-output pairs of a generated kernel that may share memory.
//
//   for (auto [input, output] : BufferAliases(fusion.getBody().front())) ...
#ifndef SINTER_IR_FUSION_BUFFER_ALIASES_H_
#define SINTER_IR_FUSION_BUFFER_ALIASES_H_

#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"

namespace sinter::ir {

// Returns pairs (index of a body argument, index of a terminator operand) that may share memory if the input
// dies at this kernel. Both are full, both row or both column values, with the same shape and element size.
// Only one nest reads the input, each element only at the coordinates of the output's element; the pass over
// the rows may also read an input that a column value overwrites.
//
// Kernels must keep this contract: compute all outputs at some coordinates before storing any of them; store
// full outputs in the last phase that reads their input; store column values after all rows have been read.
// Two cases may become several loops and have no pairs: full values of chunked reductions, and nests whose
// reductions and outputs share values only through later ones. Empty if the body is not a legal group.
llvm::SmallVector<std::pair<unsigned, unsigned>> BufferAliases(mlir::Block& body);

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_BUFFER_ALIASES_H_
