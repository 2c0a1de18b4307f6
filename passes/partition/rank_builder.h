// RankBuilder: builds what ranks of a mesh do to change the parts of a value that they have (pass
// `localise`).
//
//   RankBuilder ranks(builder, mesh, set, add_argument);
//   Sharding now = ...;                                       // [64 data, 768]
//   value = ranks.gather(value, now, 0, 0, /*keep=*/{}, loc);  // An all_gather; now is [64, 768].
//   value = ranks.slice(value, now, 1, 0, {tensor}, loc);      // Now is [64, 768 tensor].
//
// All functions change one extent of one dimension, and `now` with it. Values are this rank's parts.
#ifndef SINTER_PASSES_PARTITION_RANK_BUILDER_H_
#define SINTER_PASSES_PARTITION_RANK_BUILDER_H_

#include <functional>
#include <map>
#include <vector>

#include "mlir/IR/Builders.h"
#include "sinter/ir/dialect/device_attr.h"
#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/sharding.h"
#include "sinter/passes/op_prices.h"
#include "sinter/passes/partition/rank_set.h"

namespace sinter {

class RankBuilder {
 public:
  using Axes = llvm::ArrayRef<mlir::StringAttr>;
  // Adds an argument that holds the number of the rank that runs the function.
  using AddRankValue = std::function<mlir::Value(const RankNumber& number)>;

  // `device`: that of the ops that are built, which may change.
  RankBuilder(mlir::OpBuilder& builder, const ir::DeviceAttr& device, ir::MeshAttr mesh, const RankSet& ranks,
              AddRankValue add)
      : builder_(builder), device_(device), mesh_(mesh), ranks_(ranks), add_(std::move(add)) {}
  RankBuilder(const RankBuilder&) = delete;
  RankBuilder& operator=(const RankBuilder&) = delete;

  // Sums of at least this many bytes are exchanged by ops that only move elements, if there are such for the
  // number of ranks, and added by each rank. 0: those for which this is faster by the predicted times, on
  // devices whose exchanges run beside other steps.
  void setCopiedSumBytes(int64_t bytes) { copied_sum_bytes_ = bytes; }
  // False if ops that the ranks share wait for the exchanges that are built from now on. A reduce_scatter for
  // which they wait is never one of moves: it may travel in parts, each beside the computation of another
  // (passes/plan/chunk_exchanges.cc).
  void setMayWait(bool may_wait) { may_wait_ = may_wait; }
  // The reason of exchanges that are built from now on (kBecauseAttr); null: none.
  void setReason(mlir::Attribute because) { because_ = because; }
  mlir::Value rankValue(const RankNumber& number);
  ir::FactorPart factorPart(int64_t size, Axes axes);

  // Combines terms of values over the axes, in one exchange. `bytes`: about those of a rank's terms, the same
  // number on all ranks (bytesOfRank).
  llvm::SmallVector<mlir::Value> combine(mlir::Location loc, llvm::ArrayRef<mlir::Value> terms, int64_t bytes,
                                         Axes axes, ir::ReduceKind kind);
  // The bytes of a rank's part of a value of this type, if all parts were equal.
  int64_t bytesOfRank(mlir::RankedTensorType part, const ir::Sharding& sharding) const;
  // Leaves the extent cut by `keep`, the first of the axes that cut it.
  mlir::Value gather(mlir::Value value, ir::Sharding& now, size_t dim, size_t extent, Axes keep,
                     mlir::Location loc);
  // Cuts the extent by all of `axes`, which begin with those that cut it already. `scatter` combines terms
  // over the new axes.
  mlir::Value slice(mlir::Value value, ir::Sharding& now, size_t dim, size_t extent, Axes axes,
                    mlir::Location loc);
  mlir::Value scatter(mlir::Value value, ir::Sharding& now, size_t dim, size_t extent, Axes axes,
                      mlir::Location loc);
  // Returns the value on the first rank along the axes, and zeros on the others, which add to it.
  mlir::Value onlyOnFirst(mlir::Value value, Axes axes, mlir::Location loc);

 private:
  bool areInOrder(Axes axes) const;
  // `is_scattered`: each of the ranks needs a part of the sum, not all.
  bool isCopiedSum(mlir::Type element, int64_t bytes, ir::ReduceKind kind, int64_t ranks, bool is_scattered);
  mlir::ArrayAttr group(Axes axes);
  template <typename Op>
  Op explained(Op exchange) const {
    if (because_) exchange->setAttr(ir::kBecauseAttr, because_);
    return exchange;
  }
  int64_t sizeOf(const ir::Extent& extent) const;
  // Sizes of the parts into which the axes cut `rows`; none if they are equal.
  llvm::SmallVector<int64_t> unevenParts(int64_t rows, Axes axes) const;
  // Calls `change` with the extent as a dimension of its own, and that dimension's number: 0 with `in_front`.
  mlir::Value alongExtent(mlir::Value value, ir::Sharding& now, size_t dim, size_t extent, Axes after,
                          mlir::Location loc, bool in_front,
                          llvm::function_ref<ir::Expr(ir::Expr x, int64_t dim)> change);

  mlir::OpBuilder& builder_;
  const ir::DeviceAttr& device_;
  ir::MeshAttr mesh_;
  const RankSet& ranks_;
  AddRankValue add_;
  mlir::Attribute because_;
  std::map<std::vector<int64_t>, mlir::Value> rank_values_;
  int64_t channel_ = 0;
  int64_t copied_sum_bytes_ = 0;
  bool may_wait_ = true;
  OpPrices prices_;
};

}  // namespace sinter

#endif  // SINTER_PASSES_PARTITION_RANK_BUILDER_H_
