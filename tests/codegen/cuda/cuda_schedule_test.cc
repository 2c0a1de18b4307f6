// Properties of the schedules of every case's jobs on a GPU: blocks and threads cover each element once,
// vectors do not cross the end of a row, and blocks fit a multiprocessor.
#include "sinter/codegen/cuda/cuda_schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/tests/codegen/loops/job_cases.h"

namespace sinter::codegen {
namespace {

// Limits of a multiprocessor of compute capability 9.0 (CUDA C++ programming guide, technical
// specifications).
constexpr int64_t kMostThreads = 2048, kMostOfBlock = 1024, kRegisters = 65536;

void ExpectCoveredBy(int64_t workers, int64_t share, int64_t size) {
  EXPECT_GE(workers * share, size);
  EXPECT_LT((workers - 1) * share, size);
}

// Expects that the threads of kPersistentRows, placed as EmitStrips places them, visit each vector of each
// row once.
void ExpectStrips(const CudaSchedule& s) {
  const int64_t length = s.parallel.back().size * TripCount(s.reduced), vectors = length / s.vector,
                rows = TripCount(s.parallel) / s.parallel.back().size;
  EXPECT_EQ(length % s.vector, 0);
  if (!s.reduced.empty()) {
    EXPECT_EQ(TripCount(s.reduced), s.vector);
  }
  EXPECT_FALSE(s.along.empty());
  const int64_t step = s.side_by_side, group = step * s.unroll * s.passes;
  std::vector<int8_t> visits(static_cast<size_t>(rows * vectors));
  for (int64_t thread = 0; thread < s.blocks * s.block; ++thread) {
    const int64_t first = thread / (step * vectors) * group + thread / vectors % step;
    for (int64_t k = 0; k < s.unroll * s.passes; ++k) {
      const int64_t row = first + k * step;
      if (row < rows) ++visits[static_cast<size_t>(row * vectors + thread % vectors)];
    }
  }
  EXPECT_TRUE(llvm::all_of(visits, [](int8_t count) { return count == 1; }));
}

void ExpectMap(const CudaSchedule& s) {
  const int64_t inner = s.parallel.back().size, elements = TripCount(s.parallel);
  switch (s.mode) {
    case CudaSchedule::Mode::kFlat:
      ASSERT_EQ(s.parallel.size(), 1u);
      return ExpectCoveredBy(s.blocks, s.block * s.vector, inner);
    case CudaSchedule::Mode::kMap:
      EXPECT_EQ(inner % s.vector, 0);
      // A thread's vectors have no bounds checks of their own.
      if (s.unroll > 1) {
        EXPECT_EQ(elements % (s.vector * s.unroll * s.block), 0);
      }
      return ExpectCoveredBy(s.blocks, s.block * s.unroll * s.vector, elements);
    case CudaSchedule::Mode::kPersistentRows:
      return ExpectStrips(s);
    case CudaSchedule::Mode::kTiles: {
      const int64_t width = s.parallel[s.cross].size, others = elements / inner / width;
      ASSERT_EQ(s.blocks % others, 0);
      EXPECT_EQ(s.blocks / others,
                llvm::divideCeilSigned(width, s.tile_cross) * llvm::divideCeilSigned(inner, s.tile_inner));
      for (const int64_t side : {s.tile_cross, s.tile_inner}) {
        EXPECT_TRUE(llvm::isPowerOf2_64(side) && side <= s.block) << side;
      }
      EXPECT_GE(s.tile_cross * s.tile_inner, s.block);  // No thread of a whole tile is idle.
      EXPECT_FALSE(s.crossing.empty());
      return;
    }
    default:
      ADD_FAILURE() << "a job without reductions is reduced";
  }
}

void ExpectRows(const Job& job, const CudaSchedule& s, int64_t blocks) {
  const int64_t rows = TripCount(s.parallel);
  // Part of a warp, or whole warps of one block.
  EXPECT_TRUE(s.threads <= kWarp ? llvm::isPowerOf2_64(s.threads) : s.threads == s.block);
  EXPECT_EQ(s.block % s.threads, 0);
  if (job.kind != Job::Kind::kCombine) {
    EXPECT_EQ(s.reduced.back().size % s.vector, 0);
  }
  if (s.keeps_row) {
    EXPECT_EQ(job.kind, Job::Kind::kWhole);
    // Half of the registers that a thread has at most; the rest is for addresses and results.
    EXPECT_LE(llvm::divideCeilSigned(TripCount(s.reduced) / s.vector, s.threads) * s.vector * s.block,
              kRegisters / 2);
  }
  if (job.column_reductions.empty()) return ExpectCoveredBy(blocks, s.block / s.threads, rows);
  EXPECT_EQ(blocks, job.row_groups);
  EXPECT_LE(blocks, s.resident * ir::kPlannedGpu.multiprocessors);  // One wave.
}

void ExpectColumns(const Job& job, const CudaSchedule& s, int64_t blocks) {
  const Loop& inner = s.parallel.back();
  const int64_t outer = TripCount(s.parallel) / inner.size;
  EXPECT_EQ(s.threads * s.width, s.block);
  EXPECT_TRUE(llvm::isPowerOf2_64(s.width) && s.width <= kWarp) << s.width;
  EXPECT_EQ(inner.size % s.vector, 0);
  ASSERT_EQ(blocks % outer, 0);
  ExpectCoveredBy(blocks / outer, s.vector * s.width, inner.size);
  if (s.resident > 0 && job.chunks > 2) {
    EXPECT_LE(s.blocks, s.resident * ir::kPlannedGpu.multiprocessors);  // One wave.
  }
}

void ExpectSchedule(Job& job, bool alone) {
  const CudaSchedule s = MakeCudaSchedule(job, alone);
  EXPECT_EQ(s.block % kWarp, 0);
  EXPECT_LE(s.block, kMostOfBlock);
  EXPECT_LE(s.resident * s.block, kMostThreads);
  EXPECT_TRUE(llvm::isPowerOf2_64(s.vector) && s.vector <= 8) << s.vector;
  if (!alone) {
    EXPECT_EQ(s.block, kCudaBlock);
  }
  EXPECT_GT(s.blocks, 0);
  if (job.reductions.empty()) return ExpectMap(s);
  const bool combines = job.kind == Job::Kind::kCombine;
  if (combines) {
    EXPECT_EQ(TripCount(s.reduced), job.chunks);
  }
  if (!combines) ExpectCoveredBy(job.chunks, s.chunk_size, s.reduced.front().size);
  const int64_t chunks = job.kind == Job::Kind::kPartial ? job.chunks : 1;
  ASSERT_EQ(s.blocks % chunks, 0);
  if (s.mode == CudaSchedule::Mode::kPersistentRows) return ExpectStrips(s);
  if (s.mode == CudaSchedule::Mode::kRow) return ExpectRows(job, s, s.blocks / chunks);
  ASSERT_EQ(s.mode, CudaSchedule::Mode::kColumn);
  ExpectColumns(job, s, s.blocks / chunks);
}

TEST(CudaScheduleTest, CoversEveryElementOnce) {
  std::set<CudaSchedule::Mode> modes;
  for (const JobCase& c : AllJobCases()) {
    ParsedCall parsed(c.text);
    FusedLaunches cut = SplitIntoLaunches(parsed.call(), CudaLoopTarget()).value();
    for (auto& launch : cut.launches) {
      for (Job& job : launch) {
        for (const bool alone : {true, false}) {
          // A pass over rows that sums their columns is never in a launch with others.
          if (!alone && !job.column_reductions.empty()) continue;
          SCOPED_TRACE(c.name + (alone ? "" : " beside others"));
          ExpectSchedule(job, alone);
        }
        modes.insert(MakeCudaSchedule(job, /*alone=*/true).mode);
      }
    }
  }
  EXPECT_EQ(modes.size(), 6u);  // The table reaches every mode.
}

CudaSchedule FirstSchedule(const std::string& name) {
  ParsedCall parsed(JobCaseText(name));
  FusedLaunches cut = SplitIntoLaunches(parsed.call(), CudaLoopTarget()).value();
  return MakeCudaSchedule(cut.launches.at(0).at(0), /*alone=*/true);
}

TEST(CudaScheduleTest, ChoosesTheModeByTheAccesses) {
  using Mode = CudaSchedule::Mode;
  const std::pair<const char*, Mode> modes[] = {
      {"flat", Mode::kFlat},          {"rows of a map", Mode::kMap},
      {"transposed", Mode::kTiles},   {"channels", Mode::kPersistentRows},
      {"rows of warps", Mode::kRow},  {"middle", Mode::kColumn},
      {"columns", Mode::kColumn},     {"everything", Mode::kRow},
      {"outer and inner", Mode::kRow}};
  for (const auto& [name, mode] : modes) EXPECT_EQ(FirstSchedule(name).mode, mode) << name;
}

// The number of chunks and of groups of rows decides the order of a sum, so the results' bits.
TEST(CudaScheduleTest, ChunksDependOnTheShapeAlone) {
  const std::pair<const char*, int64_t> chunks[] = {{"everything", 128},
                                                    {"columns in chunks", 525},
                                                    {"stored columns in chunks", 128},
                                                    {"rows and columns", 528},
                                                    {"long rows and columns", 264}};
  for (const auto& [name, count] : chunks) {
    ParsedCall parsed(JobCaseText(name));
    FusedLaunches cut = SplitIntoLaunches(parsed.call(), CudaLoopTarget()).value();
    const Job& first = cut.launches.at(0).at(0);
    EXPECT_EQ(std::max(first.chunks, first.row_groups), count) << name;
  }
}

TEST(CudaScheduleTest, ManyWavesOfBlocksForMuchWork) {
  for (const char* name : {"much of a map", "channels", "rows of thousands"})
    EXPECT_GE(FirstSchedule(name).blocks, kManyCudaBlocks) << name;
}

}  // namespace
}  // namespace sinter::codegen
