// Computes the results of all members of a collective together.
#ifndef SINTER_TESTS_REFERENCE_COLLECTIVE_H_
#define SINTER_TESTS_REFERENCE_COLLECTIVE_H_

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Operation.h"
#include "sinter/tests/reference/value.h"

namespace sinter::reference {

// Returns the results of each member, not rounded yet. `members` are the ops of one channel in the order of
// their ranks; `operands` holds the operand values of each.
std::vector<std::vector<Value>> ExchangeValues(llvm::ArrayRef<mlir::Operation*> members,
                                               const std::vector<std::vector<Value>>& operands);

}  // namespace sinter::reference

#endif  // SINTER_TESTS_REFERENCE_COLLECTIVE_H_
