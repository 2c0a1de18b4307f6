// Device placement of ops and values: the attribute `#sinter.device<gpu, 1>`. See device_attr.td.
//
//   DeviceAttr gpu = DeviceAttr::gpu(context, 1);
//   SetDevice(op, gpu);
//   if (DeviceOf(value) == gpu) ...                  // An op's result or a function argument.
//
// In functions, DeviceOf is null for an op that has not been placed. The pass `propagate-placement` places
// every op, or no op if the whole program runs on cpu:0. In the dialect `plan`, cpu:0 is the default. Code
// asks for the abilities of a device (ir/target/target_model.h), not for its kind.
#ifndef SINTER_IR_DIALECT_DEVICE_ATTR_H_
#define SINTER_IR_DIALECT_DEVICE_ATTR_H_

#include <string>

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/dialect/device_kind.h"

// Generated.
#include "ir/device_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/attributes.h.inc"

namespace sinter::ir {

inline constexpr llvm::StringLiteral kDeviceAttr = "sinter.device";

// Returns the device that runs the op, holds the variable, or holds the plan buffer. Null for an unplaced op
// of a function; never null for an op of the dialect `plan`. For a copy: the target device.
DeviceAttr DeviceOf(mlir::Operation* op);
// Returns the device of the value's op or function argument. A gradient is on the device of the value that it
// belongs to. Null if unplaced, and for an argument of a function that is still being built.
DeviceAttr DeviceOf(mlir::Value value);
// Sets the device; null removes it. A copy `like` a value becomes a copy to this device. Not for ops of the
// dialect `plan`: use setDeviceAttr there.
void SetDevice(mlir::Operation* op, DeviceAttr device);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_DEVICE_ATTR_H_
