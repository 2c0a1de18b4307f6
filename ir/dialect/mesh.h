// The mesh of a program: the named axes of its ranks, and what a function says about the rank that runs it.
//
//   if (MeshAttr mesh = MeshOf(op)) ... mesh.ranks()          // Null: the program has one rank.
//
// All ranks run one program. A function has an attribute for each number that differs between ranks:
// kRankValueAttr on an argument that is such a number, kPartAttr on an input of which a rank reads some rows.
// A variable of which a rank holds a part has kBoxAttr, and the part's type; one of which it holds a term has
// kSumAxesAttr.
// If a batch does not divide evenly, a function has a variant for each set of ranks with equal shapes:
// kRanksAttr says which ranks, kVariantOfAttr which function.
#ifndef SINTER_IR_DIALECT_MESH_H_
#define SINTER_IR_DIALECT_MESH_H_

#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

// On the module: a MeshAttr.
inline constexpr llvm::StringLiteral kMeshAttr = "sinter.mesh";
// On the module, beside the mesh: the devices of all ranks, one rank after the other, if the user lists them.
// Missing: rank r's devices have the indices of rank 0's plus r times their number.
inline constexpr llvm::StringLiteral kMeshDevicesAttr = "sinter.mesh_devices";
// On an argument of type tensor<i64>: DenseI64ArrayAttr {constant, strides...}. The argument's value is
// constant + the sum over the mesh's axes of coordinate * stride.
inline constexpr llvm::StringLiteral kRankValueAttr = "sinter.rank_value";
// On an input: a PartAttr.
inline constexpr llvm::StringLiteral kPartAttr = "sinter.part";
// On a variable: ShardingAttr that names its dimensions in place of axes, as the program's layers do:
// #sinter.sharding<[768 embed, 3 * 12 heads * 64]>.
inline constexpr llvm::StringLiteral kDimsAttr = "sinter.dims";
// On a variable: StringAttr, the variable whose parts it shares, such as the parameter of an optimizer's
// slot.
inline constexpr llvm::StringLiteral kSlotOfAttr = "sinter.slot_of";
// On a slot: UnitAttr. It sums gradients over several runs.
inline constexpr llvm::StringLiteral kAccumulatorAttr = "sinter.accumulator";
// On a variable that axes cut: ArrayAttr of the axes that cut it for storage alone. Its readers gather it.
inline constexpr llvm::StringLiteral kStoredAttr = "sinter.stored";
// On a reshard of terms: UnitAttr. Only new values and outputs need the sum, so it may travel with others.
inline constexpr llvm::StringLiteral kMayWaitAttr = "sinter.may_wait";
// On a sinter.variable: a BoxAttr. The variable's type is then that of a rank's part.
inline constexpr llvm::StringLiteral kBoxAttr = "sinter.box";
// On a sinter.variable of f32 or f64 that starts at zero: ArrayAttr of axes of the mesh, in the mesh's order.
// The ranks along them hold terms, and the variable's value is the sum.
inline constexpr llvm::StringLiteral kSumAxesAttr = "sinter.sum_axes";
// On a reshard, and on the exchanges that it becomes: ArrayAttr {text, location, more locations...}. Why the
// value changes hands, the line to which the text refers, and the last lines by way of which its parts come.
inline constexpr llvm::StringLiteral kBecauseAttr = "sinter.because";
// On a function: DenseI64ArrayAttr {begin, end, ...} of coordinates, for each axis of the mesh.
inline constexpr llvm::StringLiteral kRanksAttr = "sinter.ranks";
// On a function: StringAttr, its name in the plan.
inline constexpr llvm::StringLiteral kVariantOfAttr = "sinter.variant_of";

// Returns the mesh of the module that holds `op`; null if there is none.
MeshAttr MeshOf(mlir::Operation* op);

// An error if `box` is no BoxAttr, if its part is not of this type, or if the parts of the mesh's ranks are
// not exactly the whole.
mlir::LogicalResult CheckBox(mlir::Operation* variable, mlir::RankedTensorType type, mlir::Attribute box);
// An error if `axes` is no list of the mesh's axes in their order, or if the type is not f32 or f64.
mlir::LogicalResult CheckSumAxes(mlir::Operation* variable, mlir::RankedTensorType type,
                                 mlir::Attribute axes);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_MESH_H_
