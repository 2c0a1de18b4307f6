// The jobs of a fused call while fused_launches.cc builds them, and a check of their in-place writes.
//
//   std::vector<JobDraft> drafts;
//   if (!ComesAfter(drafts, 2, 0)) ...
//   SINTER_RETURN_IF_ERROR(CheckOverwrites(call, drafts));
#ifndef SINTER_CODEGEN_LOOPS_JOB_DRAFTS_H_
#define SINTER_CODEGEN_LOOPS_JOB_DRAFTS_H_

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "sinter/codegen/loops/fused_launches.h"

namespace sinter::codegen {

struct JobDraft {
  Job job;
  bool chunked = false;
  std::set<int> needs;  // Jobs whose results it reads.
  // Tensors that it reads and that attract further parts. Tensors of one number count only if the job
  // computes one number.
  llvm::DenseSet<mlir::Value> tensors;
  int launch = -1;
  int rows = -1;  // The job whose pass over rows computes the partial results; -1 if none.
};

// True if job `to` must run after job `from`, or if the two are equal.
bool ComesAfter(llvm::ArrayRef<JobDraft> drafts, int to, int from);

// Returns the domain's dimensions; with `reduced` only the parallel ones.
llvm::SmallVector<int> Space(const Job& job, bool reduced);

// Visits the traces of the job's reductions and outputs. `is_reduced`: the trace is at the coordinates of the
// parallel dimensions.
void ForEachTrace(const JobDraft& draft, llvm::function_ref<void(const Trace&, bool is_reduced)> visit);

// INVALID_ARGUMENT, with the user's line, if an output shares memory with an input whose elements are read
// later, or whose elements the job reads at other positions than it writes.
absl::Status CheckOverwrites(plan_ir::CallOp call, llvm::ArrayRef<JobDraft> drafts);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_DRAFTS_H_
