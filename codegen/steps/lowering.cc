#include "sinter/codegen/steps/lowering.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/element_types.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

const LibraryLowerings& LibraryLowerings::Default() {
  static const LibraryLowerings* const lowerings = [] {
    auto* all = new LibraryLowerings();
    PopulateLinearLowerings(*all);
    PopulateAttentionLowerings(*all);
    PopulateCatalogLowerings(*all);
    PopulateMatrixLowerings(*all);
    PopulateFourierLowerings(*all);
    return all;
  }();
  return *lowerings;
}

absl::StatusOr<LibraryStep> LibraryLowerings::Lower(mlir::Operation* op,
                                                    flatbuffers::FlatBufferBuilder& builder) const {
  auto found = lowerings_.find(op->getName().getStringRef());
  if (found != lowerings_.end()) return found->second(op, builder);
  return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()), ": no CPU library or kernel computes ",
                                               op->getName().getStringRef().str(),
                                               "; decompose it into simpler ops before lower-to-plan"));
}

absl::StatusOr<int64_t> LibraryLowerings::WorkspaceBytes(mlir::Operation* op) const {
  flatbuffers::FlatBufferBuilder builder;
  SINTER_ASSIGN_OR_RETURN(LibraryStep step, Lower(op, builder));
  return step.workspace_bytes;
}

const ir::TargetModel& TargetOf(mlir::Operation* op) {
  auto call = op->getParentOfType<plan_ir::CallOp>();
  return call ? ir::TargetModel::Of(call.getOperation()) : ir::TargetModel::Of(ir::DeviceKind::cpu);
}

fb::DType DTypeOf(mlir::Type element) { return static_cast<fb::DType>(ir::DTypeOf(element)); }

}  // namespace sinter::codegen
