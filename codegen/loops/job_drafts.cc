#include "sinter/codegen/loops/job_drafts.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/DenseMap.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/codegen/places/user_line.h"

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

// Returns the strides of the job's full or reduced outputs, in the domain's dimensions.
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

// The reads and writes of a call's jobs.
class Accesses {
 public:
  explicit Accesses(ArrayRef<JobDraft> drafts) : drafts_(drafts) {
    for (int j = 0; j < static_cast<int>(drafts.size()); ++j) {
      ForEachTrace(drafts[j], [&](const Trace& trace, bool is_reduced) {
        for (const Access& access : trace.accesses) reads_[access.tensor].push_back({j, is_reduced, &access});
      });
      for (bool reduced : {false, true}) {
        const Job& job = drafts[j].job;
        for (const JobOutput& output : reduced ? job.reduced_outputs : job.full_outputs) {
          if (output.slot.kind == Slot::Kind::kOut)
            writers_[output.slot.index].push_back({j, reduced, output.part.has_value()});
        }
      }
    }
  }

  // True if every writer of output `out` may overwrite `input`.
  bool mayOverwrite(int out, Value input) const {
    auto writers = writers_.find(out);
    return writers == writers_.end() ||
           llvm::all_of(writers->second, [&](const Writer& writer) { return mayOverwrite(writer, input); });
  }

 private:
  struct Read {
    int job;
    bool is_reduced;  // The read is at the coordinates of the parallel dimensions.
    const Access* access;
  };
  struct Writer {
    int job;
    bool reduced, is_part;
  };

  bool mayOverwrite(const Writer& writer, Value input) const {
    const SmallVector<int64_t> expected = StridesOfOutputs(drafts_[writer.job].job, writer.reduced);
    auto reads = reads_.find(input);
    return reads == reads_.end() || llvm::all_of(reads->second, [&](const Read& read) {
             if (writer.is_part) return false;
             if (read.job != writer.job) return ComesAfter(drafts_, writer.job, read.job);
             SmallVector<int> space = Space(drafts_[read.job].job, read.is_reduced);
             SmallVector<int64_t> strides(expected.size(), 0);
             for (auto [k, s] : llvm::enumerate(read.access->strides)) strides[space[k]] = s;
             return read.access->is_affine && read.access->constant == 0 && strides == expected;
           });
  }

  ArrayRef<JobDraft> drafts_;
  llvm::DenseMap<Value, SmallVector<Read>> reads_;
  llvm::DenseMap<int, SmallVector<Writer>> writers_;
};

// The buffers that a call writes, by their place in memory.
class Written {
 public:
  explicit Written(mlir::ValueRange buffers) : regions_(RegionsOf(buffers)) {
    for (auto [j, region] : llvm::enumerate(regions_)) {
      Memory& memory = memories_[MemoryOf(region)];
      memory.starts.emplace(region.offset, static_cast<int>(j));
      memory.longest = std::max(memory.longest, region.bytes);
    }
  }

  const BufferRegion& operator[](int j) const { return regions_[j]; }

  // Returns the buffers that share a byte with `region`, in order.
  SmallVector<int> overlapping(const BufferRegion& region) const {
    SmallVector<int> found;
    auto memory = memories_.find(MemoryOf(region));
    if (memory == memories_.end()) return found;
    const auto& [starts, longest] = memory->second;
    for (auto start = starts.upper_bound(region.offset - longest);
         start != starts.end() && start->first < region.offset + region.bytes; ++start) {
      if (Overlaps(region, regions_[start->second])) found.push_back(start->second);
    }
    llvm::sort(found);
    return found;
  }

 private:
  struct Memory {
    std::multimap<int64_t, int> starts;
    int64_t longest = 0;
  };

  SmallVector<BufferRegion> regions_;
  std::map<MemoryKey, Memory> memories_;
};

}  // namespace

absl::Status CheckOverwrites(plan_ir::CallOp call, ArrayRef<JobDraft> drafts) {
  mlir::Block& block = call.getBody().front();
  const Accesses accesses(drafts);
  const Written written(call.getOuts());
  for (auto [i, read] : llvm::enumerate(RegionsOf(call.getIns()))) {
    for (int j : written.overlapping(read)) {
      if (StartTogether(read, written[j]) && accesses.mayOverwrite(j, block.getArgument(i))) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          UserLine(call.getLoc()), ": the call '", call.getName().str(), "' may not write output ", j,
          " in place of input ", i, ": other elements of it are still to be read"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
