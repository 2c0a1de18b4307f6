// Properties of the launches of every case: outputs are stored once, workspace is written before it is read,
// and partial results belong to the job that combines them.
#include "sinter/codegen/loops/fused_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sinter/codegen/cpu/fused_kernel.h"
#include "sinter/codegen/cuda/cuda_schedule.h"
#include "sinter/codegen/loops/loop_target.h"
#include "sinter/tests/codegen/gpu_call_text.h"
#include "sinter/tests/codegen/loops/job_cases.h"

namespace sinter::codegen {
namespace {

// Notes that a job writes a slot in `launch`.
class LaunchMemory {
 public:
  explicit LaunchMemory(int64_t workspace_bytes) : bytes_(workspace_bytes) {}

  void Write(const Slot& slot, int launch) {
    if (slot.kind == Slot::Kind::kOut) {
      ++stores_[slot.index];
      return;
    }
    ASSERT_EQ(slot.kind, Slot::Kind::kWorkspace);
    EXPECT_EQ(slot.offset % 64, 0);
    const int64_t end = slot.offset + plan_ir::TensorBytes(slot.type);
    EXPECT_LE(end, bytes_);
    for (const auto& [begin, range] : written_) {
      if (begin != slot.offset) {
        EXPECT_TRUE(end <= begin || range.first <= slot.offset) << "slots overlap";
      }
    }
    EXPECT_TRUE(written_.emplace(slot.offset, std::pair(end, launch)).second) << "a slot is written twice";
  }
  void Read(const Slot& slot, int launch) {
    if (slot.kind != Slot::Kind::kWorkspace) return;
    ASSERT_TRUE(written_.contains(slot.offset)) << "workspace is read that nothing wrote";
    EXPECT_LT(written_.at(slot.offset).second, launch);
  }
  const std::map<int, int>& stores() const { return stores_; }

 private:
  int64_t bytes_;
  std::map<int64_t, std::pair<int64_t, int>> written_;  // End and launch, by offset.
  std::map<int, int> stores_;                           // Stores of each output of the call.
};

void ExpectPartials(const JobReduction& reduction, int64_t parts) {
  EXPECT_FALSE(reduction.partials.empty());
  for (const Slot& slot : reduction.partials) EXPECT_EQ(slot.type.getDimSize(0), parts);
}

void ExpectLaunches(FusedLaunches& cut, plan_ir::CallOp call, bool on_gpu) {
  LaunchMemory memory(cut.workspace_bytes);
  for (size_t launch = 0; launch < cut.launches.size(); ++launch) {
    ASSERT_FALSE(cut.launches[launch].empty());
    for (Job& job : cut.launches[launch]) {
      const int now = static_cast<int>(launch);
      const bool is_partial = job.kind == Job::Kind::kPartial, combines = job.kind == Job::Kind::kCombine;
      ASSERT_EQ(job.domain.size(), job.reduced.size());
      EXPECT_EQ(job.chunks > 1, is_partial || combines);
      EXPECT_EQ(job.row_groups > 0, !job.column_reductions.empty());
      for (const auto& [tensor, slot] : job.reads) memory.Read(slot, now);
      for (JobReduction& reduction : job.reductions) {
        EXPECT_EQ(reduction.partials.empty(), job.chunks == 1);
        if (job.chunks > 1) ExpectPartials(reduction, job.chunks);
        for (const Slot& slot : reduction.partials)
          combines ? memory.Read(slot, now) : memory.Write(slot, now);
      }
      for (JobReduction& reduction : job.column_reductions) {
        EXPECT_TRUE(on_gpu);
        ExpectPartials(reduction, job.row_groups);
        for (const Slot& slot : reduction.partials) memory.Write(slot, now);
      }
      if (is_partial && !on_gpu) {
        EXPECT_TRUE(job.full_outputs.empty());
      }
      if (is_partial) {
        EXPECT_TRUE(job.reduced_outputs.empty());
      }
      if (combines) {
        EXPECT_TRUE(job.full_outputs.empty());
      }
      for (JobOutput& output : job.full_outputs) {
        EXPECT_LT(output.phase, job.phases());
        memory.Write(output.slot, now);
      }
      for (JobOutput& output : job.reduced_outputs) memory.Write(output.slot, now);
    }
  }
  EXPECT_EQ(memory.stores().size(), call.getOuts().size());
  for (const auto& [output, stores] : memory.stores()) EXPECT_EQ(stores, 1) << "output " << output;
}

TEST(FusedLaunchesTest, StoresEachOutputOnceAndWritesBeforeItReads) {
  for (const JobCase& c : AllJobCases()) {
    for (const LoopTarget* target : {&CpuLoopTarget(), &CudaLoopTarget()}) {
      const bool on_gpu = target == &CudaLoopTarget();
      SCOPED_TRACE(c.name + (on_gpu ? " on a GPU" : " on a CPU"));
      ParsedCall parsed(c.text);
      absl::StatusOr<FusedLaunches> cut = SplitIntoLaunches(parsed.call(), *target);
      ASSERT_TRUE(cut.ok()) << cut.status();
      ExpectLaunches(*cut, parsed.call(), on_gpu);
      EXPECT_EQ(*FusedWorkspaceBytes(parsed.call(), *target), cut->workspace_bytes);
    }
  }
}

// The launches of a case: for each launch the kinds of its jobs.
std::vector<std::vector<Job::Kind>> KindsOf(const std::string& name, const LoopTarget& target) {
  ParsedCall parsed(JobCaseText(name));
  std::vector<std::vector<Job::Kind>> kinds;
  const FusedLaunches cut = SplitIntoLaunches(parsed.call(), target).value();
  for (const auto& launch : cut.launches) {
    kinds.emplace_back();
    for (const Job& job : launch) kinds.back().push_back(job.kind);
  }
  return kinds;
}

TEST(FusedLaunchesTest, ChunksAndColumnsOfRowsTakeASecondLaunch) {
  using Kinds = std::vector<std::vector<Job::Kind>>;
  constexpr Job::Kind whole = Job::Kind::kWhole, partial = Job::Kind::kPartial, combine = Job::Kind::kCombine;
  EXPECT_EQ(KindsOf("rows of warps", CpuLoopTarget()),
            (Kinds{{whole}}));  // Three passes over a row are one job.
  EXPECT_EQ(KindsOf("everything", CpuLoopTarget()), (Kinds{{partial}, {combine}}));
  EXPECT_EQ(KindsOf("everything", CudaLoopTarget()), (Kinds{{partial}, {combine}}));
  // A GPU stores exp(x) while it computes the chunks.
  EXPECT_EQ(KindsOf("stored columns in chunks", CudaLoopTarget()), (Kinds{{partial}, {combine}}));
  EXPECT_EQ(KindsOf("rows and columns", CudaLoopTarget()), (Kinds{{whole}, {combine}}));
}

TEST(FusedLaunchesTest, RefusesAnOutputThatOverwritesWhatIsStillRead) {
  const std::string x = "tensor<4x4xf32>";
  ParsedCall parsed(GpuCallText(
      {x}, {"in0"}, "%r = sinter.transpose %a0 [1, 0] : " + x + " -> " + x + "\nsinter.yield %r : " + x));
  for (const LoopTarget* target : {&CpuLoopTarget(), &CudaLoopTarget()}) {
    const absl::Status status = SplitIntoLaunches(parsed.call(), *target).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr("other elements of it are still to be read"));
  }
}

TEST(FusedLaunchesTest, PairsInputsWithTheOutputsInTheirPlace) {
  ParsedCall in_place(JobCaseText("rows in place")), apart(JobCaseText("rows of warps"));
  EXPECT_EQ(SharedPairs(in_place.call()), (llvm::SmallVector<std::pair<int, int>>{{0, 0}}));
  EXPECT_TRUE(SharedPairs(apart.call()).empty());
}

}  // namespace
}  // namespace sinter::codegen
