// How the body of a fused plan.call is cut: into stages that run one after the other, each of independent jobs.
//
// A job is one loop nest over a domain: parallel dimensions, and reduced ones when it holds reductions. Reductions of one
// domain share a job with what computes their operands and with the outputs that use their results at the same place
// (softmax, norms). A result that is used elsewhere goes through memory to a later stage. A reduction of many elements to
// few is cut in chunks, by its shape and the kind of device alone, and combined in a second stage, so that every thread has
// work and the bits do not depend on how many there are. On a GPU a job of rows may sum their columns as well (ir::SumsColumns):
// groups of rows leave partial results, which a job of the next stage combines.
//
//   SINTER_ASSIGN_OR_RETURN(FusedStages stages, CutIntoStages(call, CpuLoopTarget()));
//   stages.workspace_bytes, stages.stages[0][0].domain ...
#ifndef SINTER_CODEGEN_LOOPS_FUSED_STAGES_H_
#define SINTER_CODEGEN_LOOPS_FUSED_STAGES_H_

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
  int index = 0;       // Of the buffer among ins or outs.
  int64_t offset = 0;  // In the workspace.
  mlir::RankedTensorType type;

  bool operator==(const Slot&) const = default;
};

struct JobOutput {
  mlir::Value value;
  Slot slot;
  Trace trace;    // At the coordinates of the domain, or of its parallel dimensions when reduced.
  int phase = 0;  // Full outputs: the pass over the reduced dimensions that writes it.
};

struct JobReduction {
  ir::ReductionInterface op;
  Trace trace;  // Of the operand.
  int phase = 0;
  std::vector<Slot>
      partials;  // One an accumulator scalar, [chunks, parallel dimensions]; empty without chunks.

  mlir::Value operand() { return op->getOperand(0); }
  mlir::Value result() { return op->getResult(0); }
};

struct Job {
  // kCombine finishes what the kPartial job before it, with the same reductions, left in memory, or what a kWhole job left
  // whose column reductions they are. On a GPU kPartial may have full outputs.
  enum class Kind { kWhole, kPartial, kCombine };
  Kind kind = Kind::kWhole;
  llvm::SmallVector<int64_t> domain;
  llvm::SmallBitVector reduced;  // Which dimensions are.
  std::vector<JobReduction> reductions;
  std::vector<JobOutput> full_outputs;     // Of the domain's shape.
  std::vector<JobOutput> reduced_outputs;  // Of the shape that the parallel dimensions have.
  int64_t chunks = 1;                      // Of the outermost reduced loop.
  // Over the rows that the job reduces, in so many groups of them; their partial results are [groups, reduced dimensions].
  std::vector<JobReduction> column_reductions;
  int64_t row_groups = 0;
  llvm::SmallVector<std::pair<mlir::Value, Slot>> reads;  // Tensors that are in memory when it starts.

  int phases() const;
  llvm::SmallVector<int64_t> parallel_shape() const;
};

struct FusedStages {
  std::vector<std::vector<Job>> stages;
  int64_t workspace_bytes = 0;
};

// Pairs (ins, outs) of the call that begin at the same byte: an output that overwrites an input.
llvm::SmallVector<std::pair<int, int>> SharedPairs(plan_ir::CallOp call);

// INVALID_ARGUMENT for an output that would overwrite elements of an input that are still to be read.
absl::StatusOr<FusedStages> CutIntoStages(plan_ir::CallOp call, const LoopTarget& target);

// Bytes of workspace that a fused call needs. Errors as CutIntoStages.
absl::StatusOr<int64_t> FusedWorkspaceBytes(plan_ir::CallOp call, const LoopTarget& target);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_FUSED_STAGES_H_
