// Lowers library ops to steps of the plan file: a table from an op's name to its lowering function.
//
//   SINTER_ASSIGN_OR_RETURN(LibraryStep step, LibraryLowerings::Default().Lower(op, builder));
//
// To add a library op, add one Add line to the Populate function of its family.
#ifndef SINTER_CODEGEN_STEPS_LOWERING_H_
#define SINTER_CODEGEN_STEPS_LOWERING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Operation.h"
#include "runtime/plan_generated.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter::codegen {

struct LibraryStep {
  fb::StepBody type = fb::StepBody::NONE;
  flatbuffers::Offset<void> body;
  double flops = 0;
  int64_t workspace_bytes = 0;
  Plan::Content content = {};  // Decides the plan's version.
};

using LibraryLowering = absl::StatusOr<LibraryStep> (*)(mlir::Operation* op,
                                                        flatbuffers::FlatBufferBuilder& builder);

class LibraryLowerings {
 public:
  static const LibraryLowerings& Default();

  template <typename Op>
  void Add(LibraryLowering lowering) {
    lowerings_[Op::getOperationName()] = lowering;
  }

  bool Has(mlir::Operation* op) const { return lowerings_.contains(op->getName().getStringRef()); }
  // UNIMPLEMENTED, with the op and the user's line, for an op without an entry.
  absl::StatusOr<LibraryStep> Lower(mlir::Operation* op, flatbuffers::FlatBufferBuilder& builder) const;
  // Returns the bytes of workspace that the op's step needs, without memory that a library allocates itself
  // at Load.
  absl::StatusOr<int64_t> WorkspaceBytes(mlir::Operation* op) const;

 private:
  llvm::StringMap<LibraryLowering> lowerings_;
};

// Entries by family.
void PopulateLinearLowerings(LibraryLowerings& lowerings);
void PopulateAttentionLowerings(LibraryLowerings& lowerings);
void PopulateCatalogLowerings(LibraryLowerings& lowerings);
void PopulateMatrixLowerings(LibraryLowerings& lowerings);
void PopulateFourierLowerings(LibraryLowerings& lowerings);

// Returns the target of the plan.call that holds `op`; the target of CPUs if there is none.
const ir::TargetModel& TargetOf(mlir::Operation* op);

// Returns the plan file's name of an element type.
fb::DType DTypeOf(mlir::Type element);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_LOWERING_H_
