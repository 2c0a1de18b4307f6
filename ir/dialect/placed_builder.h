// A builder that puts new ops on the device of the op that they replace: rewriting keeps the placement.
//
//   PlacedBuilder at(op);                        // Before `op`, for its device.
//   GraphBuilder b(at, op->getLoc());
//   op->replaceAllUsesWith(op.decompose(b));     // All that was built is where `op` was.
//
// The builder gives no device to ops that have one, to copies, and to ops inside other ops, whose device
// counts. In a program without devices, one on cpu:0 alone, it gives none at all.
#ifndef SINTER_IR_DIALECT_PLACED_BUILDER_H_
#define SINTER_IR_DIALECT_PLACED_BUILDER_H_

#include <concepts>

#include "mlir/IR/Builders.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

// Ops that are computed from constants alone follow their users until `place-constants` has run: they have no
// device before that pass, and one after it.
enum class ConstantPlaces { kFollowUsers, kSet };

// Returns true if `op` is computed from constants alone: a pure op without a body, all of whose operands are
// results of ops without device.
bool FollowsUsers(mlir::Operation* op);

// Puts a new op of a function on `device`, by the rules above. Null: leaves it as it is.
void PlaceNewOp(mlir::Operation* op, DeviceAttr device,
                ConstantPlaces constants = ConstantPlaces::kFollowUsers);

class PlacedBuilder : public mlir::OpBuilder {
 public:
  // Builds before `op`, for its device.
  explicit PlacedBuilder(mlir::Operation* op, ConstantPlaces constants = ConstantPlaces::kFollowUsers)
      : mlir::OpBuilder(op), listener_(DeviceOf(op), constants) {
    setListener(&listener_);
  }
  // Builds after the definition of `value`, for its device.
  template <typename T>
    requires std::same_as<T, mlir::Value>
  explicit PlacedBuilder(T value)
      : mlir::OpBuilder(value.getContext()), listener_(DeviceOf(value), ConstantPlaces::kFollowUsers) {
    setInsertionPointAfterValue(value);
    setListener(&listener_);
  }
  PlacedBuilder(const PlacedBuilder&) = delete;
  PlacedBuilder& operator=(const PlacedBuilder&) = delete;

  DeviceAttr device() const { return listener_.device; }

 private:
  struct PlacingListener : mlir::OpBuilder::Listener {
    PlacingListener(DeviceAttr device, ConstantPlaces constants) : device(device), constants(constants) {}
    void notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint) override {
      PlaceNewOp(op, device, constants);
    }
    DeviceAttr device;
    ConstantPlaces constants;
  };
  PlacingListener listener_;
};

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_PLACED_BUILDER_H_
