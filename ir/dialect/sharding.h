// Sharding: the part of a value that each rank of the mesh has.
//
//   Sharding rows = Sharding::Whole(type);
//   rows.cut(/*dim=*/0, data);                            // #sinter.sharding<[64 data, 768]>
//   SetShardingOf(value, rows);
//   if (ShardingOf(value).isWhole()) ...                  // No attribute: every rank has the whole value.
//
// An axis of the mesh that cuts nothing and combines nothing: its ranks have equal values. A dimension is a
// product of extents, major first, and each extent can be cut: so attention heads can be cut where a
// dimension holds 3 tensors (q, k, v) of heads of 64 elements, `3 * 12 tensor * 64`.
//
// The passes `shard` and `localise` use shardings: between them, every value whose sharding is not whole has
// the attribute kShardingAttr (on the function argument, or one for each result on the op).
#ifndef SINTER_IR_DIALECT_SHARDING_H_
#define SINTER_IR_DIALECT_SHARDING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

// On an argument: a ShardingAttr. On an op: an array with one for each result.
inline constexpr llvm::StringLiteral kShardingAttr = "sinter.sharding";

// Some iterations of a dimension, and the axes that cut them, outermost first.
struct Extent {
  int64_t size;
  llvm::SmallVector<mlir::StringAttr, 1> axes = {};

  friend bool operator==(const Extent&, const Extent&) = default;
};

struct Sharding {
  llvm::SmallVector<llvm::SmallVector<Extent, 1>> dims;
  std::optional<ReduceKind> combine;  // Set if `partial` names an axis.
  llvm::SmallVector<mlir::StringAttr, 1> partial;

  static Sharding Whole(mlir::RankedTensorType type);
  static Sharding Of(ShardingAttr attribute);
  ShardingAttr attribute(mlir::MLIRContext* context) const;

  bool isWhole() const;
  // True if the axis cuts an extent of the value.
  bool isCutBy(mlir::StringAttr axis) const;
  // An axis that is named more than once, which no sharding of a value has; null if there is none.
  mlir::StringAttr repeatedAxis() const;
  bool isPartialOver(mlir::StringAttr axis) const { return llvm::is_contained(partial, axis); }
  // Cuts all of dimension `dim` by the axis, inside of axes that cut it already. The dimension must have one
  // extent.
  void cut(int64_t dim, mlir::StringAttr axis);
  // Returns the same parts with as few extents as possible, and terms over axes in the mesh's order, so that
  // equal shardings are equal.
  Sharding canonical(MeshAttr mesh) const;
  // "[64 data, 768] partial sum tensor".
  std::string text() const;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

// Returns the sharding of an argument or a result; whole if it has no attribute.
Sharding ShardingOf(mlir::Value value);
void SetShardingOf(mlir::Value value, const Sharding& sharding);

// Number of parts into which the axes cut an extent.
int64_t CountParts(MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_SHARDING_H_
