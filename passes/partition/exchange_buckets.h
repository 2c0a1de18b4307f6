// Chooses which sums travel together, by the time that they take.
//
//   const std::vector<size_t> ends = BucketEnds(sums, seconds_of_bytes, /*most_bytes=*/25 << 20);
//   // The first bucket has sums[0, ends[0]), the next one sums[ends[0], ends[1]), ...
//
// The sums' terms are ready one after the other, while a rank computes. Buckets travel one after the other
// beside that: large ones because each exchange has a latency, small ones because a bucket leaves when its
// last terms are ready. The buckets chosen end as early as possible, and are as few as that allows.
//
// With E(k) the earliest end of the exchanges of the first k sums, and ready(k) when the k-th terms are
// there, E(k) is the minimum over j < k of max(E(j), ready(k)) + seconds(bytes of the sums from j to k).
#ifndef SINTER_PASSES_PARTITION_EXCHANGE_BUCKETS_H_
#define SINTER_PASSES_PARTITION_EXCHANGE_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/mesh.h"

namespace sinter {

struct ReadySum {
  double ready = 0;  // Seconds; ascending.
  int64_t bytes = 0;
};

// Returns the end of each bucket, ascending; the last one is the number of sums. A bucket has at most
// `most_bytes`, or one sum.
std::vector<size_t> BucketEnds(llvm::ArrayRef<ReadySum> sums,
                               llvm::function_ref<double(int64_t bytes)> seconds, int64_t most_bytes);

// True if the op combines terms on all ranks, and nothing that the ranks share waits for it: it may travel
// with others.
bool TravelsInBucket(ir::ReshardOp op);

// Sums that may travel in one exchange: of one type, device, and set of ranks.
struct BucketKind {
  mlir::Type element;
  ir::DeviceAttr device;
  llvm::SmallVector<mlir::StringAttr, 1> axes;

  static BucketKind Of(ir::ReshardOp sum);
  bool operator==(const BucketKind&) const = default;
};

// Returns the sums that are the last ones of their buckets, of a function that pass `shard` has written. A
// rank computes the ops in their order, each in the time of its part (passes/op_prices.h). Where exchanges do
// not run beside other steps, buckets are as large as they may be.
llvm::DenseSet<mlir::Operation*> LastOfBuckets(mlir::func::FuncOp function, ir::MeshAttr mesh,
                                               int64_t most_bytes);

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_EXCHANGE_BUCKETS_H_
