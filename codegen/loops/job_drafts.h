// The jobs of a fused call while fused_stages.cc puts them together, and whether they may write where they will.
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
#include "sinter/codegen/loops/fused_stages.h"

namespace sinter::codegen {

struct JobDraft {
  Job job;
  bool chunked = false;
  std::set<int> needs;  // Jobs whose results it reads.
  // That it touches and that connect it to others: of more than one number, if it computes more.
  llvm::DenseSet<mlir::Value> tensors;
  int stage = -1;
  int rows = -1;  // The job whose pass over rows computes the partial results.
};

// Whether job `to` must run after job `from`, or is it.
bool ComesAfter(llvm::ArrayRef<JobDraft> drafts, int to, int from);

// The domain's dimensions, or the parallel ones alone.
llvm::SmallVector<int> Space(const Job& job, bool reduced);

// What the job computes from memory and from results, each with whether it is at the coordinates of the parallel dimensions.
void ForEachTrace(const JobDraft& draft, llvm::function_ref<void(const Trace&, bool is_reduced)> visit);

// INVALID_ARGUMENT, with the user's line: an output shares memory with an input of which elements are read later, or
// other elements than the one that is written.
absl::Status CheckOverwrites(plan_ir::CallOp call, llvm::ArrayRef<JobDraft> drafts);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_JOB_DRAFTS_H_
