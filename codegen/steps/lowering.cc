#include "sinter/codegen/steps/lowering.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sinter/codegen/places/user_line.h"
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

fb::DType DTypeOf(mlir::Type element) {
  if (element.isF64()) return fb::DType::F64;
  if (element.isF32()) return fb::DType::F32;
  if (element.isBF16()) return fb::DType::BF16;
  if (element.isF16()) return fb::DType::F16;
  if (element.isInteger(64)) return fb::DType::I64;
  if (element.isInteger(32)) return fb::DType::I32;
  if (element.isInteger(1)) return fb::DType::I1;
  return element.isUnsignedInteger() ? fb::DType::U8 : fb::DType::I8;
}

}  // namespace sinter::codegen
