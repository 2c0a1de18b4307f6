// The `sinter` dialect and the interfaces of its ops; ops.h includes every op class.
//
//   if (llvm::isa<ir::SinterDialect>(op->getDialect())) ...
//
// ir/register_dialects.h adds it to a registry.
#ifndef SINTER_IR_DIALECT_DIALECT_H_
#define SINTER_IR_DIALECT_DIALECT_H_

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sinter/ir/dialect/collective_settings.h"
#include "sinter/ir/dialect/device_attr.h"
#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/scalar/element_builder.h"
#include "sinter/ir/scalar/scalar_builder.h"

namespace sinter::ir {
// Enumerations of the linear family, which interfaces name.
enum class Activation : uint32_t;
enum class ImageLayout : uint32_t;
enum class MathMode : uint32_t;

// Returns the dimension of images of this layout that counts the channels.
int64_t ChannelDim(ImageLayout layout);
// True if a cast between these types keeps all values of floats: the cast and a sum can be exchanged.
bool IsWideningCast(mlir::Type from, mlir::Type to);
}  // namespace sinter::ir

// Generated.
#include "ir/dialect.h.inc"
#include "ir/interfaces.h.inc"

namespace sinter::ir {

// Each family adds its own ops to the dialect. The dialect's initialize() calls each of these once.
void AddActivationOps(SinterDialect* dialect);
void AddArithmeticOps(SinterDialect* dialect);
void AddAttentionOps(SinterDialect* dialect);
void AddCollectiveOps(SinterDialect* dialect);
void AddCompositeOps(SinterDialect* dialect);
void AddControlOps(SinterDialect* dialect);
void AddCustomOps(SinterDialect* dialect);
void AddAttributes(SinterDialect* dialect);
void AddFourierOps(SinterDialect* dialect);
void AddLinearOps(SinterDialect* dialect);
void AddLogicOps(SinterDialect* dialect);
void AddMatrixOps(SinterDialect* dialect);
void AddPlacementOps(SinterDialect* dialect);
void AddProgramOps(SinterDialect* dialect);
void AddRandomOps(SinterDialect* dialect);
void AddReduceOps(SinterDialect* dialect);
void AddShapeOps(SinterDialect* dialect);
void AddTranscendentalOps(SinterDialect* dialect);

// Default implementations of FusibleInterface for pointwise ops.
Scalar EmitPointwiseElement(mlir::Operation* op, ElementBuilder& e, mlir::ValueRange coords);
mlir::AffineMap IdentityOperandMap(mlir::Operation* op);

// Names of the attributes of function arguments and results: an input, an output, or the variable that the
// value belongs to.
inline constexpr llvm::StringLiteral kInputAttr = "sinter.input";
inline constexpr llvm::StringLiteral kOutputAttr = "sinter.output";
inline constexpr llvm::StringLiteral kVariableAttr = "sinter.variable";
// Marks a private function as the body of a loop. Its arguments and results have `sinter.parameter =
// @carry0`, @slice0, @with0 (invariants) or @stack0 in place of the attributes above: the number among the
// loop's own.
inline constexpr llvm::StringLiteral kFragmentAttr = "sinter.fragment";
// The trips of a loop that only its guard ends.
inline constexpr int64_t kUnboundedTrips = (int64_t{1} << 31) - 1;
inline constexpr llvm::StringLiteral kParameterAttr = "sinter.parameter";
inline constexpr llvm::StringLiteral kCarryPrefix = "carry";
inline constexpr llvm::StringLiteral kSlicePrefix = "slice";
inline constexpr llvm::StringLiteral kInvariantPrefix = "with";
inline constexpr llvm::StringLiteral kStackPrefix = "stack";
// On a result: the output that this result copies to another device. On a `sinter.variable`: the variable
// that this one copies, on another device or in a narrower type.
inline constexpr llvm::StringLiteral kReplicaOfAttr = "sinter.replica_of";

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_DIALECT_H_
