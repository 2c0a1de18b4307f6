// The decisions of one kind of device about how the jobs of a fused call are cut.
//
//   SINTER_ASSIGN_OR_RETURN(FusedLaunches launches, SplitIntoLaunches(call, CpuLoopTarget()));
//
// A device's decisions depend on the job alone, never on the number of threads or multiprocessors, so that
// the bits of the results are the same everywhere.
#ifndef SINTER_CODEGEN_LOOPS_LOOP_TARGET_H_
#define SINTER_CODEGEN_LOOPS_LOOP_TARGET_H_

#include "sinter/codegen/loops/fused_launches.h"
#include "sinter/ir/target/target_model.h"

namespace sinter::codegen {

class LoopTarget {
 public:
  virtual ~LoopTarget() = default;

  // The device's abilities: fusion decided by them which ops a call may hold.
  virtual const ir::TargetModel& model() const = 0;
  // Chunks of the outermost reduced loop of a job for which ir::IsChunked is true.
  virtual int64_t CountChunks(Job& job) const = 0;
  // Groups of rows of a job with column reductions. Only for a model that `sums_columns_of_rows`.
  virtual int64_t CountRowGroups(Job& job) const = 0;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_LOOP_TARGET_H_
