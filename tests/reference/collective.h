// What the members of a collective receive. The one thing that the reference evaluates for several ops at once.
#ifndef SINTER_TESTS_REFERENCE_COLLECTIVE_H_
#define SINTER_TESTS_REFERENCE_COLLECTIVE_H_

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Operation.h"
#include "sinter/tests/reference/value.h"

namespace sinter::reference {

// Of a channel's members in the order of their ranks, each with the values of its operands: each one's results, not rounded
// yet.
std::vector<std::vector<Value>> ExchangeValues(llvm::ArrayRef<mlir::Operation*> members,
                                               const std::vector<std::vector<Value>>& operands);

}  // namespace sinter::reference

#endif  // SINTER_TESTS_REFERENCE_COLLECTIVE_H_
