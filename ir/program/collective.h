// One member of an exchange between devices, whichever op it is: see collective_ops.td.
//
//   if (auto collective = Collective::Of(op)) ... collective->group, collective->channel, collective->Rank()
#ifndef SINTER_IR_PROGRAM_COLLECTIVE_H_
#define SINTER_IR_PROGRAM_COLLECTIVE_H_

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

struct Collective {
  mlir::Operation* op;
  llvm::SmallVector<DeviceAttr> group;
  int64_t channel;

  // nullopt for any other op.
  static std::optional<Collective> Of(mlir::Operation* op);
  // Position in the group; -1 if the op has no device, or one that the group lacks.
  int64_t Rank() const;
};

}  // namespace sinter::ir

#endif  // SINTER_IR_PROGRAM_COLLECTIVE_H_
