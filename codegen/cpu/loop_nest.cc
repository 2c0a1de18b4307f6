#include "sinter/codegen/cpu/loop_nest.h"

#include <optional>

#include "sinter/codegen/cpu/job_loops.h"

namespace sinter::codegen {

using mlir::Value;

void EmitLoopNest(ir::ScalarBuilder& s, Job& job, const Schedule& schedule,
                  const LoopContext::PointerOf& pointer_of, Value scratch, Value begin, Value end) {
  LoopContext t(s, job, schedule, pointer_of, scratch);
  std::optional<Accumulators> sums;
  if (!job.reductions.empty()) sums.emplace(t);
  t.For(begin, end, [&](Value unit) {
    switch (schedule.mode) {
      case Schedule::Mode::kFlat:
        t.SetCoordinate(schedule.parallel[0], unit);
        return t.EmitElements(0);
      case Schedule::Mode::kMap:
        return EmitMapLoops(t, unit);
      case Schedule::Mode::kTiles:
        return EmitTileLoops(t, unit);
      case Schedule::Mode::kRow:
        return EmitRowLoops(t, *sums, unit);
      case Schedule::Mode::kColumn:
        return EmitColumnLoops(t, *sums, unit);
    }
  });
}

}  // namespace sinter::codegen
