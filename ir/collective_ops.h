// Op classes of the collective family, and what they have in common: see collective_ops.td.
//
//   if (auto collective = Collective::Of(op)) ... collective->group, collective->channel, collective->Rank()
#ifndef SINTER_IR_COLLECTIVE_OPS_H_
#define SINTER_IR_COLLECTIVE_OPS_H_

#include <optional>

#include "sinter/ir/device_attr.h"
#include "sinter/ir/dialect.h"

// Generated.
#define GET_OP_CLASSES
#include "ir/collective_ops.h.inc"

namespace sinter::ir {

// One member of a collective, whichever op it is.
struct Collective {
  mlir::Operation* op;
  llvm::SmallVector<DeviceAttr> group;
  int64_t channel;

  // Nothing for any other op.
  static std::optional<Collective> Of(mlir::Operation* op);
  // Its place in the group; -1 when it has no device, or is on none of them.
  int64_t Rank() const;
};

}  // namespace sinter::ir

#endif  // SINTER_IR_COLLECTIVE_OPS_H_
