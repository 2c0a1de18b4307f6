#include <optional>

#include "sinter/codegen/cpu/job_loops.h"

namespace sinter::codegen {

using mlir::Value;

void EmitLoopNest(ir::ScalarBuilder& s, Job& job, const LoopSchedule& schedule,
                  const LoopContext::PointerOf& pointer_of, Value scratch, Value begin, Value end) {
  LoopContext t(s, job, schedule, pointer_of, scratch);
  std::optional<Accumulators> sums;
  if (!job.reductions.empty()) sums.emplace(t);
  t.For(begin, end, [&](Value unit) {
    switch (schedule.mode) {
      case LoopSchedule::Mode::kFlat:
        t.SetCoordinate(schedule.parallel[0], unit);
        return t.EmitElements(0);
      case LoopSchedule::Mode::kMap:
        return EmitMapLoops(t, unit);
      case LoopSchedule::Mode::kTiles:
        return EmitTileLoops(t, unit);
      case LoopSchedule::Mode::kRow:
        return EmitRowLoops(t, *sums, unit);
      case LoopSchedule::Mode::kColumn:
        return EmitColumnLoops(t, *sums, unit);
    }
  });
}

}  // namespace sinter::codegen
