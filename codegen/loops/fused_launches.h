// Cuts the body of a fused plan.call into consecutive launches, each of independent jobs.
//
// A job is one loop nest over a domain of parallel dimensions and, if it has reductions, reduced dimensions.
// Reductions over one domain share a job with the ops that compute their operands, and with the outputs that
// use their results at the same position (softmax, norms). Other uses of a result read it from memory in a
// later launch. A reduction of many elements to few is cut into chunks, and a second launch combines the
// chunks' results. The chunks give every thread work. They depend only on the shape and the kind of device,
// so the bits do not depend on the number of threads. On a GPU a job over rows may also sum their columns
// (ir::SumsColumns): groups of rows write partial results, which a job of the next launch combines.
//
//   SINTER_ASSIGN_OR_RETURN(FusedLaunches launches, SplitIntoLaunches(call, CpuLoopTarget()));
//   launches.workspace_bytes, launches.launches[0][0].domain ...
#ifndef SINTER_CODEGEN_LOOPS_FUSED_LAUNCHES_H_
#define SINTER_CODEGEN_LOOPS_FUSED_LAUNCHES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/codegen/loops/access_trace.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

class LoopTarget;

// A tensor in memory: a buffer of the call, or a part of its workspace.
struct Slot {
  enum class Kind { kIn, kOut, kWorkspace };
  Kind kind;
  int index = 0;       // Index of the buffer in ins or outs.
  int64_t offset = 0;  // Offset in the workspace.
  mlir::RankedTensorType type;

  bool operator==(const Slot&) const = default;
};

// The place of a value that is a part of its buffer: position = offset + sum of strides[d] * coordinate[d].
struct BufferPart {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

struct JobOutput {
  mlir::Value value;
  Slot slot;
  Trace trace;    // At the coordinates of the domain or, for reduced outputs, of its parallel dimensions.
  int phase = 0;  // For full outputs: the pass over the reduced dimensions that writes it.
  // For a full output that is a part of a concat; else the buffer has the domain's elements in their order.
  std::optional<BufferPart> part = std::nullopt;

  // Returns the element at the domain's origin, and the elements from a coordinate to the next.
  int64_t offset() const { return part ? part->offset : 0; }
  llvm::SmallVector<int64_t> strides(llvm::ArrayRef<int64_t> domain) const;
};

struct JobReduction {
  ir::ReductionInterface op;
  Trace trace;  // Trace of the operand.
  int phase = 0;
  std::vector<Slot>
      partials;  // A slot for each accumulator scalar, [chunks, parallel dimensions]; empty without chunks.

  mlir::Value operand() { return op->getOperand(0); }
  mlir::Value result() { return op->getResult(0); }
};

struct Job {
  // kCombine combines partial results: those of the kPartial job before it, which has the same reductions, or
  // those of a kWhole job with these reductions as column reductions. On a GPU a kPartial job may have full
  // outputs.
  enum class Kind { kWhole, kPartial, kCombine };
  Kind kind = Kind::kWhole;
  llvm::SmallVector<int64_t> domain;
  llvm::SmallBitVector reduced;  // The reduced dimensions of the domain.
  std::vector<JobReduction> reductions;
  std::vector<JobOutput> full_outputs;     // Outputs of the domain's shape.
  std::vector<JobOutput> reduced_outputs;  // Outputs of the shape of the parallel dimensions.
  int64_t chunks = 1;                      // Number of chunks of the outermost reduced loop.
  // Reductions over the rows that the job reduces, in `row_groups` groups of rows. Their partial results are
  // [groups, reduced dimensions].
  std::vector<JobReduction> column_reductions;
  int64_t row_groups = 0;
  llvm::SmallVector<std::pair<mlir::Value, Slot>> reads;  // Tensors that are in memory when the job starts.

  int phases() const;
  llvm::SmallVector<int64_t> parallel_shape() const;
};

struct FusedLaunches {
  std::vector<std::vector<Job>> launches;
  int64_t workspace_bytes = 0;
};

// Returns the pairs (ins, outs) of the call that begin at the same byte: outputs that overwrite inputs.
llvm::SmallVector<std::pair<int, int>> SharedPairs(plan_ir::CallOp call);

// INVALID_ARGUMENT if an output would overwrite elements of an input before they are read.
absl::StatusOr<FusedLaunches> SplitIntoLaunches(plan_ir::CallOp call, const LoopTarget& target);

// Returns the bytes of workspace that a fused call needs. Errors as SplitIntoLaunches, if the call has
// reductions.
absl::StatusOr<int64_t> FusedWorkspaceBytes(plan_ir::CallOp call, const LoopTarget& target);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_FUSED_LAUNCHES_H_
