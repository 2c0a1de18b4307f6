#include "sinter/codegen/cpu/streamed_slots.h"

#include "sinter/codegen/cpu/streaming_memory.h"
#include "sinter/codegen/places/buffer_region.h"

namespace sinter::codegen {

using llvm::SmallVector;

namespace {

bool IsStreamed(plan_ir::CallOp call, const JobOutput& output) {
  const Slot& slot = output.slot;
  if (output.part || slot.kind != Slot::Kind::kOut || plan_ir::TensorBytes(slot.type) < kStreamedBytes)
    return false;
  BufferRegion place = RegionOf(call.getOuts()[slot.index]);
  bool is_aligned = place.space == BufferRegion::Space::kArena && place.IsAligned(kStreamedAlignment);
  return is_aligned &&
         llvm::none_of(call.getIns(), [&](mlir::Value in) { return Overlaps(RegionOf(in), place); });
}

// True if the pass that writes the output reads the tensor, rather than a kept value that an earlier pass
// computed from the tensor.
bool ReadsItself(const JobOutput& output, mlir::Value tensor, const LoopSchedule& schedule) {
  const auto& requests = output.trace.requests;
  return llvm::any_of(requests, [&](const Request& request) {
    if (request.tensor != tensor) return false;
    for (int at = request.parent; at >= 0; at = requests[at].parent) {
      if (llvm::any_of(schedule.kept, [&](auto& k) { return k.tensor == requests[at].tensor; })) return false;
    }
    return true;
  });
}

// Returns the prefetch distance in bytes: the fewest whole rows of at least kPrefetchBytes. 0 if the tensor
// is not read along the job's rows.
int64_t NextRow(const JobOutput& output, mlir::Value tensor, const LoopSchedule& schedule) {
  if (schedule.parallel.empty()) return 0;
  int row = schedule.parallel.back().dim, column = schedule.reduced.back().dim;
  if (row < 0 || column < 0) return 0;
  for (const Access& access : output.trace.accesses) {
    if (access.tensor != tensor || !access.is_affine) continue;
    if (access.strides[column] != 1 || access.strides[row] <= 0) continue;
    auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
    int64_t bytes = access.strides[row] * plan_ir::TensorBytes(type) / type.getNumElements();
    return (kPrefetchBytes + bytes - 1) / bytes * bytes;
  }
  return 0;
}

}  // namespace

SmallVector<StreamedSlot> FindStreamedSlots(plan_ir::CallOp call, const Job& job,
                                            const LoopSchedule& schedule) {
  using Mode = LoopSchedule::Mode;
  SmallVector<StreamedSlot> result;
  bool along_rows =
      schedule.mode == Mode::kFlat || schedule.mode == Mode::kMap || schedule.mode == Mode::kRow;
  if (!along_rows || job.kind != Job::Kind::kWhole) return result;
  SmallVector<const JobOutput*> outputs;
  for (const JobOutput& output : job.full_outputs) {
    if (!IsStreamed(call, output)) continue;
    outputs.push_back(&output);
    result.push_back({output.slot, 0});
  }
  for (auto& [tensor, slot] : job.reads) {
    if (slot.kind != Slot::Kind::kIn || plan_ir::TensorBytes(slot.type) < kStreamedBytes) continue;
    for (const JobOutput* output : outputs) {
      if (!ReadsItself(*output, tensor, schedule)) continue;
      int64_t distance = schedule.mode == Mode::kRow ? NextRow(*output, tensor, schedule) : kPrefetchBytes;
      if (distance == 0) continue;
      result.push_back({slot, distance});
      break;
    }
  }
  return result;
}

}  // namespace sinter::codegen
