#include "sinter/codegen/cpu/job_drafts.h"

#include "absl/strings/str_cat.h"
#include "sinter/codegen/buffer_place.h"
#include "sinter/codegen/user_line.h"

namespace sinter::codegen {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

bool ComesAfter(ArrayRef<JobDraft> drafts, int to, int from) {
  if (to == from) return true;
  return llvm::any_of(drafts[to].needs, [&](int k) { return ComesAfter(drafts, k, from); });
}

SmallVector<int> Space(const Job& job, bool reduced) {
  SmallVector<int> space;
  for (size_t d = 0; d < job.domain.size(); ++d) {
    if (!reduced || !job.reduced[d]) space.push_back(d);
  }
  return space;
}

void ForEachTrace(const JobDraft& draft, llvm::function_ref<void(const Trace&, bool)> visit) {
  const Job& job = draft.job;
  if (draft.rows < 0) {
    for (const JobReduction& r : job.reductions) visit(r.trace, false);
  }
  for (const JobReduction& r : job.column_reductions) visit(r.trace, false);
  for (const JobOutput& o : job.full_outputs) visit(o.trace, false);
  for (const JobOutput& o : job.reduced_outputs) visit(o.trace, true);
}

namespace {

// The strides at which the job writes full or reduced outputs, in the domain's dimensions.
SmallVector<int64_t> StridesOfOutputs(const Job& job, bool reduced) {
  SmallVector<int64_t> strides(job.domain.size(), 0);
  int64_t stride = 1;
  for (size_t d = job.domain.size(); d-- > 0;) {
    if (reduced && job.reduced[d]) continue;
    strides[d] = job.domain[d] == 1 ? 0 : stride;
    stride *= job.domain[d];
  }
  return strides;
}

// Whether full or reduced outputs of job `writer` may overwrite `input`.
bool MayOverwrite(ArrayRef<JobDraft> drafts, int writer, bool reduced, Value input) {
  const SmallVector<int64_t> expected = StridesOfOutputs(drafts[writer].job, reduced);
  bool may = true;
  for (int j = 0; j < static_cast<int>(drafts.size()); ++j) {
    ForEachTrace(drafts[j], [&](const Trace& trace, bool is_reduced) {
      SmallVector<int> space = Space(drafts[j].job, is_reduced);
      for (const Access& access : trace.accesses) {
        if (access.tensor != input) continue;
        if (j != writer) {
          may &= ComesAfter(drafts, writer, j);
          continue;
        }
        SmallVector<int64_t> strides(expected.size(), 0);
        for (auto [k, s] : llvm::enumerate(access.strides)) strides[space[k]] = s;
        may &= access.is_affine && access.constant == 0 && strides == expected;
      }
    });
  }
  return may;
}

bool MayOverwrite(ArrayRef<JobDraft> drafts, int out, Value input) {
  for (int writer = 0; writer < static_cast<int>(drafts.size()); ++writer) {
    const Job& job = drafts[writer].job;
    for (bool reduced : {false, true}) {
      for (const JobOutput& output : reduced ? job.reduced_outputs : job.full_outputs) {
        const bool writes = output.slot.kind == Slot::Kind::kOut && output.slot.index == out;
        if (writes && !MayOverwrite(drafts, writer, reduced, input)) return false;
      }
    }
  }
  return true;
}

}  // namespace

absl::Status CheckOverwrites(plan_ir::CallOp call, ArrayRef<JobDraft> drafts) {
  mlir::Block& block = call.getBody().front();
  for (auto [i, in] : llvm::enumerate(call.getIns())) {
    for (auto [j, out] : llvm::enumerate(call.getOuts())) {
      BufferPlace read = PlaceOf(in), written = PlaceOf(out);
      if (!Overlaps(read, written)) continue;
      if (StartTogether(read, written) && MayOverwrite(drafts, j, block.getArgument(i))) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          UserLine(call.getLoc()), ": the call '", call.getName().str(), "' may not write output ", j,
          " in place of input ", i, ": other elements of it are still to be read"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
