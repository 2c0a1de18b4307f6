#include "sinter/passes/partition/exchange_buckets.h"

#include <algorithm>
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/op_prices.h"
#include "sinter/passes/partition/op_sharding.h"

namespace sinter {

using mlir::Operation;

namespace {

// The exchanges may end this part of one exchange of all sums later, if they are fewer.
constexpr double kSlack = 0.01;

int64_t BytesOfSum(ir::ReshardOp op) { return plan_ir::TensorBytes(op.getType()); }

// The part of an op's work that one rank does.
double PartOfRank(Operation* op, ir::MeshAttr mesh) {
  const OpSharding sharding = OpSharding::Of(op, mesh);
  double part = 1;
  for (size_t f = 0; f < sharding.rule().factors.size(); ++f) {
    part /= static_cast<double>(ir::CountParts(mesh, sharding.axesOf(f)));
  }
  return part;
}

// Constants and views take no time.
double SecondsOf(Operation* op, OpPrices& prices) {
  if (llvm::isa<ir::ConstantOp, ir::ReshapeOp, ir::ReshardOp>(op)) return 0;
  return prices.seconds(op);
}

}  // namespace

std::vector<size_t> BucketEnds(llvm::ArrayRef<ReadySum> sums,
                               llvm::function_ref<double(int64_t bytes)> seconds, int64_t most_bytes) {
  const size_t count = sums.size();
  // Calls visit(j, time of an exchange of the sums from j to k) for each j from which one may be, the last
  // one first, until it returns false.
  const auto each_begin = [&](size_t k, auto&& visit) {
    int64_t bytes = 0;
    for (size_t j = k; j-- > 0;) {
      bytes += sums[j].bytes;
      if ((j + 1 < k && bytes > most_bytes) || !visit(j, seconds(bytes))) return;
    }
  };
  std::vector<double> ends(count + 1, std::numeric_limits<double>::infinity());
  ends[0] = 0;
  for (size_t k = 1; k <= count; ++k) {
    each_begin(k, [&](size_t j, double time) {
      ends[k] = std::min(ends[k], std::max(ends[j], sums[k - 1].ready) + time);
      return true;
    });
  }
  // From the last bucket to the first, each as large as its deadline allows.
  std::vector<size_t> chosen;
  int64_t all_bytes = 0;
  for (const ReadySum& sum : sums) all_bytes += sum.bytes;
  double deadline = ends[count] + kSlack * seconds(all_bytes);
  for (size_t k = count; k > 0;) {
    size_t first = k - 1;
    double time_of_first = 0;
    each_begin(k, [&](size_t j, double time) {
      if (std::max(ends[j], sums[k - 1].ready) + time <= deadline) first = j, time_of_first = time;
      return true;
    });
    chosen.push_back(k);
    deadline -= time_of_first;
    k = first;
  }
  std::ranges::reverse(chosen);
  return chosen;
}

bool TravelsInBucket(ir::ReshardOp op) {
  const ir::Sharding to = ir::ShardingOf(op);
  return op->hasAttr(ir::kMayWaitAttr) && ir::ShardingOf(op.getX()).dims == to.dims && to.partial.empty();
}

BucketKind BucketKind::Of(ir::ReshardOp sum) {
  return {sum.getType().getElementType(), ir::DeviceOf(sum.getX()), ir::ShardingOf(sum.getX()).partial};
}

llvm::DenseSet<Operation*> LastOfBuckets(mlir::func::FuncOp function, ir::MeshAttr mesh, int64_t most_bytes) {
  struct Queue {
    BucketKind kind;
    llvm::SmallVector<ReadySum> sums;
    llvm::SmallVector<Operation*> ops;
  };
  llvm::SmallVector<Queue> queues;
  OpPrices prices;
  double now = 0;
  for (Operation& op : function.getBody().front().without_terminator()) {
    auto sum = llvm::dyn_cast<ir::ReshardOp>(op);
    if (!sum) {
      now += SecondsOf(&op, prices) * PartOfRank(&op, mesh);
      continue;
    }
    if (!TravelsInBucket(sum)) continue;
    const BucketKind kind = BucketKind::Of(sum);
    auto* queue = llvm::find_if(queues, [&](const Queue& q) { return q.kind == kind; });
    if (queue == queues.end()) {
      queues.push_back({kind, {}, {}});
      queue = &queues.back();
    }
    const bool hides = ir::TargetModel::Of(kind.device).exchanges_beside_steps;
    queue->sums.push_back({hides ? now : 0, BytesOfSum(sum)});
    queue->ops.push_back(sum);
  }
  llvm::DenseSet<Operation*> last;
  for (const Queue& queue : queues) {
    const int64_t ranks = ir::CountParts(mesh, queue.kind.axes);
    const auto seconds = [&](int64_t bytes) {
      return prices.secondsOfExchange(queue.kind.device, cost::ExchangeKind::kAllReduce,
                                      static_cast<double>(bytes), ranks);
    };
    for (const size_t end : BucketEnds(queue.sums, seconds, most_bytes)) last.insert(queue.ops[end - 1]);
  }
  return last;
}

}  // namespace sinter
