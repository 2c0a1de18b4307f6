// Which readers of a value it also reaches through something that no kernel can hold, such as a library call: then no kernel can hold
// both what computes the value and that reader.
//
//   CallPaths paths(inputs, is_call);              // inputs[i]: what item i reads, items before it
//   if (paths.isBetween(producer, reader)) ...     // for a `producer` among inputs[reader]
//
// Found for all pairs at once, for 64 producers in one look at what lies between them and their last readers.
#ifndef SINTER_PASSES_CALL_PATHS_H_
#define SINTER_PASSES_CALL_PATHS_H_

#include <utility>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace sinter {

class CallPaths {
 public:
  CallPaths(llvm::ArrayRef<llvm::SmallVector<unsigned>> inputs, const llvm::BitVector& is_call);

  // True if a value flows from `producer` through a call to its reader.
  bool isBetween(unsigned producer, unsigned reader) const { return found_.contains({producer, reader}); }

 private:
  llvm::DenseSet<std::pair<unsigned, unsigned>> found_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_CALL_PATHS_H_
