// Where ops run and values live: the attribute `#sinter.device<gpu, 1>` and how to ask for it. See device_attr.td.
//
//   DeviceAttr gpu = DeviceAttr::gpu(context, 1);
//   SetDevice(op, gpu);
//   if (DeviceOf(value) == gpu) ...                  // of an op's result or of a function argument
//
// In functions an op without the attribute has not been placed: DeviceOf is null. The pass `propagate-placement` places
// every op, or none when all of the program runs on cpu:0. In the dialect `plan` what does not say otherwise is on cpu:0.
#ifndef SINTER_IR_DIALECT_DEVICE_ATTR_H_
#define SINTER_IR_DIALECT_DEVICE_ATTR_H_

#include <string>

#include "mlir/IR/Attributes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"

// Generated.
#include "ir/device_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/device_attrs.h.inc"

namespace sinter::ir {

inline constexpr llvm::StringLiteral kDeviceAttr = "sinter.device";

// Where an op runs, a variable lives, a plan buffer is. Null for an op of a function that nothing places, and for an argument of
// one that is being built; never null for an op of the dialect `plan`. A copy's is the one that it copies to.
DeviceAttr DeviceOf(mlir::Operation* op);
// Where a value lives: its op's, or its function argument's; a gradient's is that of the value it is for.
DeviceAttr DeviceOf(mlir::Value value);
// True if `op` has been placed, and on a GPU.
inline bool IsOnGpu(mlir::Operation* op) {
  const DeviceAttr device = DeviceOf(op);
  return device && device.getKind() == DeviceKind::gpu;
}
// Null takes the device away. A copy `like` a value becomes one to this device. Not for ops of the dialect `plan`, which
// have setDeviceAttr.
void SetDevice(mlir::Operation* op, DeviceAttr device);

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_DEVICE_ATTR_H_
