// One member of an exchange between devices, whichever op it is: see collective_ops.td.
//
//   if (auto collective = Collective::Of(op)) ... collective->group, collective->channel, collective->Rank()
//
// The members are devices, one op each, or the ranks along axes of the mesh, which all run this one op.
#ifndef SINTER_IR_PROGRAM_COLLECTIVE_H_
#define SINTER_IR_PROGRAM_COLLECTIVE_H_

#include <optional>
#include <string>

#include "llvm/ADT/SmallVector.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

struct Collective {
  mlir::Operation* op;
  llvm::SmallVector<DeviceAttr> group;       // Empty if `axes` names the members.
  llvm::SmallVector<mlir::StringAttr> axes;  // Axes of the mesh; empty if `group` names the members.
  int64_t channel;

  // nullopt for any other op.
  static std::optional<Collective> Of(mlir::Operation* op);
  // Position in the group; -1 if the op has no device, one that the group lacks, or members along axes.
  int64_t Rank() const;
  // Number of members. The module must have a mesh with the axes; the verifier of collectives checks it.
  int64_t Size() const;
  // The members as a list for users: "gpu:0, gpu:1", or "data (2), tensor (4)" for axes.
  std::string MembersText() const;
};

}  // namespace sinter::ir

#endif  // SINTER_IR_PROGRAM_COLLECTIVE_H_
