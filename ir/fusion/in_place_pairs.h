// Which inputs of a generated kernel its outputs may overwrite.
//
//   for (auto [input, output] : InPlacePairs(fusion.getBody().front())) ...
#ifndef SINTER_IR_FUSION_IN_PLACE_PAIRS_H_
#define SINTER_IR_FUSION_IN_PLACE_PAIRS_H_

#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"

namespace sinter::ir {

// Pairs (input, output), by number in the body's arguments and the terminator's operands, that may share memory when
// the input dies with this kernel: both are full, or both row values, or both column values, with elements of one size,
// and one nest alone reads the input, each element only at the coordinates of the output's element; what a column value
// overwrites the rows may read as well. This relies on kernels that compute all outputs at some coordinates before they
// store any, full outputs in the last phase that reads their input, column values when all rows have been read. Full
// values of reductions in chunks have no pairs, nor have nests whose reductions and outputs share values only through
// later ones, because they may become several loops. Empty when the body is not a legal group.
llvm::SmallVector<std::pair<unsigned, unsigned>> InPlacePairs(mlir::Block& body);

}  // namespace sinter::ir

#endif  // SINTER_IR_FUSION_IN_PLACE_PAIRS_H_
