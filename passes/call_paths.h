// CallPaths: finds readers that a value also reaches through a call, so that no kernel can hold both.
// A call is an item that no kernel can hold, such as a library call. No kernel can then hold the producer and
// that reader.
//
//   CallPaths paths(inputs, is_call);              // inputs[i]: the items that item i reads, all before i.
//   if (paths.isBetween(producer, reader)) ...     // For a `producer` among inputs[reader].
//
// All pairs are found at once: one pass over the items up to the last reader serves 64 producers.
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

  // True if a value also flows from `producer` through a call to its reader.
  bool isBetween(unsigned producer, unsigned reader) const { return found_.contains({producer, reader}); }

 private:
  llvm::DenseSet<std::pair<unsigned, unsigned>> found_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_CALL_PATHS_H_
