#include "sinter/codegen/loops/fused_launches.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/DenseSet.h"
#include "sinter/codegen/loops/element_emitter.h"
#include "sinter/codegen/loops/job_drafts.h"
#include "sinter/codegen/loops/loop_schedule.h"
#include "sinter/codegen/loops/loop_target.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/concat_parts.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using ir::ShapeOf;
using llvm::SmallVector;
using mlir::Value;

int Job::phases() const {
  int count = 1;
  for (const JobReduction& r : reductions) count = std::max(count, r.phase + 1);
  for (const JobReduction& r : column_reductions) count = std::max(count, r.phase + 1);
  for (const JobOutput& o : full_outputs) count = std::max(count, o.phase + 1);
  return count;
}

SmallVector<int64_t> JobOutput::strides(llvm::ArrayRef<int64_t> domain) const {
  return part ? part->strides : ir::RowMajorStrides(domain);
}

SmallVector<int64_t> Job::parallel_shape() const {
  SmallVector<int64_t> shape;
  for (size_t d = 0; d < domain.size(); ++d) {
    if (!reduced[d]) shape.push_back(domain[d]);
  }
  return shape;
}

namespace {

constexpr int64_t kScratchAlignment = 64;

class Cutter {
 public:
  Cutter(plan_ir::CallOp call, const LoopTarget& target)
      : call_(call), block_(call.getBody().front()), target_(target) {
    for (mlir::Operation& op : block_.without_terminator()) ops_.push_back(&op);
    for (auto [in, out] : SharedPairs(call)) overwritten_[out].push_back(block_.getArgument(in));
    uniform_ = ir::UniformValues(ops_);
  }

  absl::StatusOr<FusedLaunches> Run() {
    for (mlir::Operation& op : block_) {
      if (auto reduction = llvm::dyn_cast<ir::ReductionInterface>(op)) PlaceReduction(reduction);
    }
    auto yield = llvm::cast<ir::YieldOp>(block_.getTerminator());
    for (auto [i, value] : llvm::enumerate(yield.getValues())) {
      if (ir::IsStoredInParts(value, ops_)) {
        PlaceParts(value.getDefiningOp<ir::ConcatOp>(), i);
      } else {
        PlaceOutput(StripReshapes(value), i);
      }
    }
    if (target_.model().sums_columns_of_rows) JoinColumnsToRows();
    for (auto& [reduction, owner] : materialized_) Materialize(reduction, owner);
    for (JobDraft& draft : jobs_) AssignPhases(draft.job);
    SINTER_RETURN_IF_ERROR(CheckOverwrites(call_, jobs_));
    return Collect();
  }

 private:
  // True if the request's coordinates are those of the job's parallel dimensions. `space` maps each
  // coordinate of the traced value to its domain dimension.
  static bool IsAligned(const Request& request, const Job& job, llvm::ArrayRef<int> space) {
    SmallVector<int> parallel;
    for (size_t d = 0; d < job.domain.size(); ++d) {
      if (!job.reduced[d]) parallel.push_back(d);
    }
    if (request.dims.size() != parallel.size()) return false;
    for (auto [i, dim] : llvm::enumerate(request.dims)) {
      bool same = dim >= 0 && space[dim] == parallel[i];
      if (!same && !(dim == Request::kConstant && job.domain[parallel[i]] == 1)) return false;
    }
    return true;
  }

  bool CanJoin(int j, const Trace& trace, bool reduced) const {
    const JobDraft& draft = jobs_[j];
    SmallVector<int> space = Space(draft.job, reduced);
    for (int index : trace.reductions) {
      const Request& use = trace.requests[index];
      int owner = owner_of_.at(use.tensor.getDefiningOp());
      if (owner == j) {
        if (!IsAligned(use, draft.job, space) || (draft.chunked && !reduced)) return false;
      } else if (ComesAfter(jobs_, owner, j)) {
        return false;
      }
    }
    return true;
  }

  bool Touches(const JobDraft& draft, const Trace& trace) const {
    return llvm::any_of(trace.requests, [&](const Request& r) { return draft.tensors.contains(r.tensor); });
  }

  bool Uses(int j, const Trace& trace) const {
    return llvm::any_of(trace.reductions, [&](int index) {
      return owner_of_.at(trace.requests[index].tensor.getDefiningOp()) == j;
    });
  }

  // The jobs whose results the trace reads.
  std::set<int> Owners(const Trace& trace) const {
    std::set<int> jobs;
    for (int index : trace.reductions)
      jobs.insert(owner_of_.at(trace.requests[index].tensor.getDefiningOp()));
    return jobs;
  }

  // The jobs for which Touches is true. Parameters are many and share nothing, so no list of jobs is walked.
  std::set<int> Touching(const Trace& trace) const {
    std::set<int> jobs;
    for (const Request& request : trace.requests) {
      if (auto found = touching_.find(request.tensor); found != touching_.end())
        jobs.insert(found->second.begin(), found->second.end());
    }
    return jobs;
  }

  void Join(int j, const Trace& trace) {
    for (int index : trace.reductions) {
      Value tensor = trace.requests[index].tensor;
      int owner = owner_of_.at(tensor.getDefiningOp());
      if (owner == j) continue;
      jobs_[j].needs.insert(owner);
      if (!llvm::is_contained(materialized_, std::pair(tensor, owner)))
        materialized_.emplace_back(tensor, owner);
    }
    const bool of_numbers = llvm::all_of(jobs_[j].job.domain, [](int64_t size) { return size == 1; });
    for (const Request& request : trace.requests) {
      const bool is_number =
          llvm::cast<mlir::RankedTensorType>(request.tensor.getType()).getNumElements() == 1;
      if (!(is_number ? of_numbers : !uniform_.contains(request.tensor))) continue;
      if (jobs_[j].tensors.insert(request.tensor).second) touching_[request.tensor].push_back(j);
    }
  }

  int NewJob(llvm::ArrayRef<int64_t> domain, llvm::ArrayRef<int64_t> dims) {
    JobDraft draft;
    draft.job.domain.assign(domain.begin(), domain.end());
    draft.job.reduced.resize(domain.size());
    for (int64_t d : dims) draft.job.reduced.set(d);
    draft.chunked = ir::IsChunked(domain, dims, target_.model().kind);
    jobs_.push_back(std::move(draft));
    return jobs_.size() - 1;
  }

  void PlaceReduction(ir::ReductionInterface op) {
    JobReduction reduction{op, TraceElement(op->getOperand(0)), 0, {}};
    llvm::ArrayRef<int64_t> shape = ShapeOf(op->getOperand(0));
    llvm::SmallBitVector reduced(shape.size());
    for (int64_t d : op.getReducedDims()) reduced.set(d);
    int home = -1;
    std::set<int> near = Owners(reduction.trace);
    near.merge(Touching(reduction.trace));
    for (int j : near) {
      const Job& job = jobs_[j].job;
      if (llvm::equal(job.domain, shape) && job.reduced == reduced && CanJoin(j, reduction.trace, false)) {
        home = j;
        break;
      }
    }
    if (home < 0) home = NewJob(shape, op.getReducedDims());
    Join(home, reduction.trace);
    owner_of_[op] = home;
    jobs_[home].job.reductions.push_back(std::move(reduction));
  }

  void PlaceParts(ir::ConcatOp concat, int index) {
    const SmallVector<int64_t> strides = ir::RowMajorStrides(ShapeOf(concat.getResult()));
    const auto dim = static_cast<size_t>(concat.getDim());
    int64_t offset = 0;
    for (Value part : concat.getXs()) {
      PlaceOutput(part, index, BufferPart{offset, strides});
      offset += strides[dim] * ShapeOf(part)[dim];
    }
  }

  // Returns the jobs, first those that overwrite what the trace reads: another job would read it too late.
  std::vector<int> OverwritingFirst(const std::set<int>& jobs, const Trace& trace) const {
    llvm::DenseSet<int> overwriting;
    for (const Access& access : trace.accesses) {
      if (auto found = overwriters_.find(access.tensor); found != overwriters_.end())
        overwriting.insert(found->second.begin(), found->second.end());
    }
    std::vector<int> sorted(jobs.begin(), jobs.end());
    std::ranges::stable_partition(sorted, [&](int j) { return overwriting.contains(j); });
    return sorted;
  }

  void AddOutput(int j, JobOutput output) {
    Join(j, output.trace);
    for (Value input : overwritten_.lookup(output.slot.index)) overwriters_[input].push_back(j);
    jobs_[j].job.full_outputs.push_back(std::move(output));
  }

  void PlaceOutput(Value value, int index, std::optional<BufferPart> part = std::nullopt) {
    auto type = llvm::cast<plan_ir::BufferType>(call_.getOuts()[index].getType()).getTensor();
    JobOutput output{value, {Slot::Kind::kOut, index, 0, type}, TraceElement(value), 0, std::move(part)};
    llvm::ArrayRef<int64_t> shape = ShapeOf(value);
    // Prefers a job whose reductions it uses, then a job that reads the same tensors, then a new job.
    for (bool uses : {true, false}) {
      for (int j : OverwritingFirst(uses ? Owners(output.trace) : Touching(output.trace), output.trace)) {
        Job& job = jobs_[j].job;
        bool has_reductions = !job.reductions.empty();
        // On a GPU, chunks can store outputs that do not depend on the chunked reductions. On a CPU, chunk
        // loops store nothing.
        bool may_store = !jobs_[j].chunked || target_.model().stores_from_chunks;
        if (may_store && llvm::equal(job.domain, shape) && CanJoin(j, output.trace, false)) {
          AddOutput(j, std::move(output));
          return;
        }
        if (uses && has_reductions && !output.part && llvm::equal(job.parallel_shape(), shape) &&
            CanJoin(j, output.trace, true)) {
          Join(j, output.trace);
          job.reduced_outputs.push_back(std::move(output));
          return;
        }
      }
    }
    AddOutput(NewJob(shape, {}), std::move(output));
  }

  static SmallVector<int64_t> ReducedDims(const Job& job) {
    return SmallVector<int64_t>(job.reduced.set_bits_begin(), job.reduced.set_bits_end());
  }

  // True if job r, a pass over rows, may compute the partial results of job c, which reduces columns of the
  // same domain.
  bool CanSumColumns(int r, int c) const {
    const Job &rows = jobs_[r].job, &columns = jobs_[c].job;
    if (rows.reductions.empty() || columns.reductions.empty() || !llvm::equal(rows.domain, columns.domain) ||
        !ir::SumsColumns(rows.domain, ReducedDims(rows), ReducedDims(columns)) ||
        rows.column_reductions.size() + columns.reductions.size() > ir::kMostColumnReductions) {
      return false;
    }
    if (jobs_[r].chunked || jobs_[r].rows >= 0 || jobs_[c].rows >= 0 || ComesAfter(jobs_, r, c)) return false;
    for (int k : jobs_[c].needs) {
      if (k != r && ComesAfter(jobs_, k, r)) return false;
    }
    auto joins = [&](const auto& part) { return CanJoin(r, part.trace, false) && !Uses(c, part.trace); };
    auto shares = [&](const auto& part) { return Touches(jobs_[r], part.trace) || Uses(r, part.trace); };
    return llvm::all_of(columns.reductions, joins) && llvm::all_of(columns.full_outputs, joins) &&
           llvm::any_of(columns.reductions, shares);
  }

  void JoinColumnsToRows() {
    for (size_t c = 0; c < jobs_.size(); ++c) {
      for (size_t r = 0; r < jobs_.size() && jobs_[c].rows < 0; ++r) {
        if (!CanSumColumns(r, c)) continue;
        JobDraft &rows = jobs_[r], &columns = jobs_[c];
        columns.rows = r;
        columns.chunked = false;
        columns.needs.erase(r);
        rows.needs.insert(columns.needs.begin(), columns.needs.end());
        columns.needs.insert(r);
        rows.tensors.insert(columns.tensors.begin(), columns.tensors.end());
        llvm::append_range(rows.job.column_reductions, columns.job.reductions);
        llvm::append_range(rows.job.full_outputs, columns.job.full_outputs);
        columns.job.full_outputs.clear();
      }
    }
    // Removes rows' results that only their own pass still reads.
    llvm::erase_if(materialized_, [&](const auto& entry) {
      for (size_t j = 0; j < jobs_.size(); ++j) {
        bool reads = false;
        ForEachTrace(jobs_[j], [&](const Trace& trace, bool) { reads |= UsesResult(trace, entry.first); });
        if (reads && static_cast<int>(j) != entry.second) return false;
      }
      return true;
    });
  }

  static bool UsesResult(const Trace& trace, Value result) {
    return llvm::any_of(trace.reductions, [&](int index) { return trace.requests[index].tensor == result; });
  }

  Slot NewWorkspace(mlir::RankedTensorType type) {
    Slot slot{Slot::Kind::kWorkspace, 0, workspace_bytes_, type};
    workspace_bytes_ +=
        (plan_ir::TensorBytes(type) + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    return slot;
  }

  // Assigns memory to a reduction result that other jobs read: its output buffer if it is an output, else
  // workspace.
  void Materialize(Value tensor, int owner) {
    Job& job = jobs_[owner].job;
    for (JobOutput& output : job.reduced_outputs) {
      if (output.value != tensor) continue;
      places_[tensor] = output.slot;
      return;
    }
    Slot slot = NewWorkspace(llvm::cast<mlir::RankedTensorType>(tensor.getType()));
    places_[tensor] = slot;
    job.reduced_outputs.push_back({tensor, slot, TraceElement(tensor), 0});
  }

  void AssignPhases(Job& job) {
    llvm::DenseMap<mlir::Operation*, int> done;  // The phase in which each reduction of the job ends.
    auto phase_of = [&](const Trace& trace) {
      int phase = 0;
      for (int index : trace.reductions) {
        auto found = done.find(trace.requests[index].tensor.getDefiningOp());
        if (found != done.end()) phase = std::max(phase, found->second + 1);
      }
      return phase;
    };
    for (JobReduction& r : job.reductions) done[r.op] = r.phase = phase_of(r.trace);
    for (JobReduction& r : job.column_reductions) r.phase = phase_of(r.trace);
    for (JobOutput& o : job.full_outputs) o.phase = phase_of(o.trace);
    // An output that overwrites an input is written in the last pass that reads the input.
    llvm::DenseMap<Value, int> last_read;
    auto note = [&](const Trace& trace, int phase) {
      for (const Access& access : trace.accesses) {
        int& last = last_read.try_emplace(access.tensor, phase).first->second;
        last = std::max(last, phase);
      }
    };
    for (const JobReduction& r : job.reductions) note(r.trace, r.phase);
    for (const JobReduction& r : job.column_reductions) note(r.trace, r.phase);
    for (const JobOutput& o : job.full_outputs) note(o.trace, o.phase);
    for (JobOutput& o : job.full_outputs) {
      for (Value input : overwritten_.lookup(o.slot.index))
        o.phase = std::max(o.phase, last_read.lookup(input));
      note(o.trace, o.phase);
    }
  }

  // Fills job.reads for job number j, or for `job`, a part of that job.
  void CollectReads(int j, Job& job) {
    llvm::DenseSet<Value> seen;
    auto add = [&](const Trace& trace) {
      for (const Request& request : trace.requests) {
        Value tensor = request.tensor;
        if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(tensor)) {
          if (!seen.insert(tensor).second) continue;
          auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
          job.reads.emplace_back(tensor,
                                 Slot{Slot::Kind::kIn, static_cast<int>(argument.getArgNumber()), 0, type});
        } else if (auto owner = owner_of_.find(tensor.getDefiningOp());
                   owner != owner_of_.end() && owner->second != j) {
          if (seen.insert(tensor).second) job.reads.emplace_back(tensor, places_.at(tensor));
        }
      }
    };
    for (JobReduction& r : job.reductions) {
      if (job.kind != Job::Kind::kCombine) add(r.trace);
    }
    for (JobReduction& r : job.column_reductions) add(r.trace);
    for (JobOutput& o : job.full_outputs) add(o.trace);
    for (JobOutput& o : job.reduced_outputs) add(o.trace);
  }

  int LaunchOf(int j) {
    JobDraft& draft = jobs_[j];
    if (draft.launch >= 0) return draft.launch;
    int launch = 0;
    for (int k : draft.needs) launch = std::max(launch, LaunchOf(k) + (jobs_[k].chunked ? 2 : 1));
    return draft.launch = launch;
  }

  FusedLaunches Collect() {
    FusedLaunches result;
    for (JobDraft& draft : jobs_) {
      if (draft.rows >= 0) ShareColumns(jobs_[draft.rows].job, draft.job);
    }
    auto put = [&](int launch, size_t j, Job job) {
      CollectReads(j, job);
      if (result.launches.size() <= static_cast<size_t>(launch)) result.launches.resize(launch + 1);
      result.launches[launch].push_back(std::move(job));
    };
    for (size_t j = 0; j < jobs_.size(); ++j) {
      Job job = jobs_[j].job;
      int launch = LaunchOf(j);
      if (jobs_[j].chunked) {
        job.chunks = target_.CountChunks(job);
        AddPartials(job);
        Job partial = job;
        partial.kind = Job::Kind::kPartial;
        partial.reduced_outputs.clear();
        put(launch++, j, std::move(partial));
        job.kind = Job::Kind::kCombine;
        job.full_outputs.clear();
      }
      put(launch, j, std::move(job));
    }
    result.workspace_bytes = workspace_bytes_;
    return result;
  }

  // Gives the column reductions of a pass over rows memory for their partial results, which `columns` reads.
  void ShareColumns(Job& rows, Job& columns) {
    if (rows.row_groups == 0) rows.row_groups = target_.CountRowGroups(rows);
    columns.kind = Job::Kind::kCombine;
    columns.chunks = rows.row_groups;
    AddPartials(columns);
    for (JobReduction& own : columns.reductions) {
      auto within = llvm::find_if(rows.column_reductions, [&](auto& r) { return r.op == own.op; });
      within->partials = own.partials;
    }
  }

  void AddPartials(Job& job) {
    SmallVector<int64_t> shape = {job.chunks};
    shape.append(job.parallel_shape());
    for (JobReduction& r : job.reductions) {
      for (mlir::Type type : AccumulatorTypes(r.op)) {
        r.partials.push_back(NewWorkspace(mlir::RankedTensorType::get(shape, type)));
      }
    }
  }

  plan_ir::CallOp call_;
  mlir::Block& block_;
  SmallVector<mlir::Operation*> ops_;  // All but the terminator.
  const LoopTarget& target_;
  llvm::DenseMap<int, SmallVector<Value, 1>> overwritten_;  // The inputs that an output overwrites.
  llvm::DenseMap<Value, SmallVector<int, 1>>
      overwriters_;  // The jobs with full outputs that overwrite an input.
  llvm::DenseSet<Value> uniform_;
  std::vector<JobDraft> jobs_;
  llvm::DenseMap<Value, SmallVector<int, 1>> touching_;  // The jobs that have a tensor in JobDraft::tensors.
  llvm::DenseMap<mlir::Operation*, int> owner_of_;
  std::vector<std::pair<Value, int>> materialized_;
  llvm::DenseMap<Value, Slot> places_;
  int64_t workspace_bytes_ = 0;
};

}  // namespace

SmallVector<std::pair<int, int>> SharedPairs(plan_ir::CallOp call) {
  // Calls that update many parameters have thousands of buffers, so no pair is looked at that shares nothing.
  std::map<decltype(StartOf({})), SmallVector<int, 1>> written;
  for (auto [j, region] : llvm::enumerate(RegionsOf(call.getOuts()))) written[StartOf(region)].push_back(j);
  SmallVector<std::pair<int, int>> pairs;
  for (auto [i, region] : llvm::enumerate(RegionsOf(call.getIns()))) {
    auto found = written.find(StartOf(region));
    if (region.bytes == 0 || found == written.end()) continue;
    for (int j : found->second) pairs.emplace_back(i, j);
  }
  return pairs;
}

absl::StatusOr<FusedLaunches> SplitIntoLaunches(plan_ir::CallOp call, const LoopTarget& target) {
  return Cutter(call, target).Run();
}

absl::StatusOr<int64_t> FusedWorkspaceBytes(plan_ir::CallOp call, const LoopTarget& target) {
  // Only results of reductions need it.
  if (llvm::none_of(call.getBody().front(), llvm::IsaPred<ir::ReductionInterface>)) return 0;
  SINTER_ASSIGN_OR_RETURN(FusedLaunches cut, SplitIntoLaunches(call, target));
  return cut.workspace_bytes;
}

}  // namespace sinter::codegen
