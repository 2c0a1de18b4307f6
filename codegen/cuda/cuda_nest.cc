#include "sinter/codegen/cuda/cuda_nest.h"

#include "sinter/codegen/cuda/cuda_nests.h"

namespace sinter::codegen {

void EmitCudaNest(ir::ScalarBuilder& s, Job& job, const CudaSchedule& schedule,
                  const CudaThread::PlaceOfSlot& place_of, mlir::Value block, mlir::Value thread,
                  mlir::Value length) {
  CudaThread t(s, job, schedule, place_of);
  ElementEmitter::Scope scope(t.e());
  switch (schedule.mode) {
    case CudaSchedule::Mode::kFlat:
      return EmitFlat(t, block, thread, length);
    case CudaSchedule::Mode::kMap:
      return EmitMap(t, block, thread);
    case CudaSchedule::Mode::kPersistentRows:
      return EmitStrips(t, block, thread);
    case CudaSchedule::Mode::kTiles:
      return EmitTiles(t, block, thread);
    case CudaSchedule::Mode::kRow:
      return EmitRows(t, block, thread);
    case CudaSchedule::Mode::kColumn:
      return EmitColumns(t, block, thread);
  }
}

}  // namespace sinter::codegen
