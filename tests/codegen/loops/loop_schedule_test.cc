// Properties of the schedules of every case's jobs on a CPU: units and chunks cover each element once, and
// pieces of scratch memory are apart.
#include "sinter/codegen/loops/loop_schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "sinter/codegen/cpu/fused_kernel.h"
#include "sinter/codegen/loops/loop_target.h"
#include "sinter/tests/codegen/loops/job_cases.h"

namespace sinter::codegen {
namespace {

int64_t Matmul(llvm::ArrayRef<int64_t> sizes) {
  int64_t matmul = 1;
  for (int64_t size : sizes) matmul *= size;
  return matmul;
}

// Expects that `units` pieces of `tile` cover `size` elements, the last one at least one element.
void ExpectCovers(int64_t units, int64_t tile, int64_t size) {
  EXPECT_GE(units * tile, size);
  EXPECT_LT((units - 1) * tile, size);
}

void ExpectUnits(const Job& job, const LoopSchedule& s) {
  const llvm::ArrayRef<Loop> outer = llvm::ArrayRef(s.parallel).drop_back(s.parallel.empty() ? 0 : 1);
  const int64_t chunks = job.kind == Job::Kind::kPartial ? job.chunks : 1;
  ASSERT_EQ(s.units % chunks, 0);
  const int64_t units = s.units / chunks;
  switch (s.mode) {
    case LoopSchedule::Mode::kFlat:
      ASSERT_EQ(s.parallel.size(), 1u);
      return ExpectCovers(units, s.tile, s.parallel[0].size);
    case LoopSchedule::Mode::kMap:
      if (!s.cut_inner) return ExpectCovers(units, s.tile, TripCount(outer));
      ASSERT_EQ(units % TripCount(outer), 0);
      return ExpectCovers(units / TripCount(outer), s.tile, s.parallel.back().size);
    case LoopSchedule::Mode::kTiles:
      EXPECT_GE(s.cross, 0);
      EXPECT_FALSE(s.kept.empty());
      EXPECT_GT(s.tile_pitch(), s.tile);
      EXPECT_GE(units * s.tile * s.tile, TripCount(s.parallel));
      return;
    case LoopSchedule::Mode::kRow:
      return ExpectCovers(units, s.tile, TripCount(s.parallel));
    case LoopSchedule::Mode::kColumn:
      ASSERT_EQ(units % TripCount(outer), 0);
      return ExpectCovers(units / TripCount(outer), s.tile, s.parallel.back().size);
  }
}

void ExpectLoops(const Job& job, const LoopSchedule& s) {
  const int64_t parallel = Matmul(job.parallel_shape());
  EXPECT_EQ(TripCount(s.parallel), job.reductions.empty() ? Matmul(job.domain) : parallel);
  if (job.reductions.empty()) return;
  if (job.kind == Job::Kind::kCombine) {
    EXPECT_EQ(TripCount(s.reduced), job.chunks);
    EXPECT_EQ(s.chunk_size, job.chunks);
    return;
  }
  EXPECT_EQ(TripCount(s.reduced) * parallel, Matmul(job.domain));
  ExpectCovers(job.chunks, s.chunk_size, s.reduced.front().size);
}

void ExpectScratch(const LoopSchedule& s) {
  std::set<int64_t> offsets;
  const auto expect = [&](int64_t offset) {
    EXPECT_EQ(offset % 64, 0);
    EXPECT_LT(offset, s.scratch_bytes);
    EXPECT_TRUE(offsets.insert(offset).second) << "two values at " << offset;
  };
  const bool of_columns = s.mode == LoopSchedule::Mode::kColumn;
  for (const KeptValue& kept : s.kept) {
    if (kept.is_full || of_columns) expect(kept.offset);
  }
  for (const auto& accumulators : s.accumulators) {
    for (int64_t offset : accumulators) expect(offset);
  }
  for (int64_t offset : s.results) expect(offset);
}

TEST(LoopScheduleTest, CoversEveryElementOnce) {
  std::set<LoopSchedule::Mode> modes;
  for (const JobCase& c : AllJobCases()) {
    SCOPED_TRACE(c.name);
    ParsedCall parsed(c.text);
    FusedLaunches cut = SplitIntoLaunches(parsed.call(), CpuLoopTarget()).value();
    for (auto& launch : cut.launches) {
      for (Job& job : launch) {
        const LoopSchedule s = MakeSchedule(job);
        modes.insert(s.mode);
        ExpectUnits(job, s);
        ExpectLoops(job, s);
        ExpectScratch(s);
        EXPECT_GT(s.unit_cost, 0);
      }
    }
  }
  EXPECT_EQ(modes.size(), 5u);  // The table reaches every mode.
}

// The number of chunks decides the order of a sum, so the results' bits.
TEST(LoopScheduleTest, ChunksDependOnTheShapeAlone) {
  const std::pair<const char*, int64_t> chunks[] = {
      {"everything", 32}, {"everything of odd size", 30}, {"few columns", 21}, {"columns in chunks", 64}};
  for (const auto& [name, count] : chunks) {
    ParsedCall parsed(JobCaseText(name));
    FusedLaunches cut = SplitIntoLaunches(parsed.call(), CpuLoopTarget()).value();
    EXPECT_EQ(cut.launches.at(0).at(0).chunks, count) << name;
  }
}

TEST(LoopScheduleTest, MergesDimensionsThatEveryAccessTraversesAsOne) {
  const auto sizes_of = [](const std::string& name) {
    ParsedCall parsed(JobCaseText(name));
    FusedLaunches cut = SplitIntoLaunches(parsed.call(), CpuLoopTarget()).value();
    return SizesOf(MergeLoops(cut.launches.at(0).at(0)).all);
  };
  using Sizes = llvm::SmallVector<int64_t>;
  EXPECT_EQ(sizes_of("rows of a map"), (Sizes{64, 100}));  // The bias moves along the rows alone.
  EXPECT_EQ(sizes_of("transposed"), (Sizes{3, 70, 45}));
  EXPECT_EQ(sizes_of("one number"), (Sizes{}));
  EXPECT_EQ(sizes_of("middle"), (Sizes{8, 64, 32}));
}

}  // namespace
}  // namespace sinter::codegen
