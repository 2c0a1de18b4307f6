#include "sinter/runtime/plan/collective.h"

#include <numeric>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

const fb::CollectiveStep& TableOf(const fb::Function& function, uint32_t step) {
  const fb::CollectiveStep* const table = function.steps()->Get(step)->body_as_CollectiveStep();
  SINTER_CHECK(table != nullptr) << "step " << step << " is no collective";
  return *table;
}

// Number of elements from the first byte of the first operand to the last byte of the last operand.
int64_t FlatElements(const fb::Function& function, const fb::Step& step, DType dtype) {
  const auto* const inputs = step.inputs();
  const auto& operands = inputs == nullptr || inputs->size() == 0 ? *step.outputs() : *inputs;
  const fb::Buffer& first = *function.buffers()->Get(operands.Get(0));
  const fb::Buffer& last = *function.buffers()->Get(operands.Get(operands.size() - 1));
  return static_cast<int64_t>(last.offset() + last.bytes() - first.offset()) / SizeOf(dtype);
}

}  // namespace

std::string_view CollectiveName(fb::CollectiveKind kind) {
  switch (kind) {
    case fb::CollectiveKind::AllReduce:
      return "all_reduce";
    case fb::CollectiveKind::Reduce:
      return "reduce";
    case fb::CollectiveKind::Broadcast:
      return "broadcast";
    case fb::CollectiveKind::AllGather:
      return "all_gather";
    case fb::CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    case fb::CollectiveKind::AllToAll:
      return "all_to_all";
    case fb::CollectiveKind::SendRecv:
      return "send_recv";
  }
  return "";
}

CollectiveLayout CollectiveLayout::Of(const fb::Function& function, uint32_t step) {
  const fb::CollectiveStep& table = TableOf(function, step);
  CollectiveLayout made{.kind = table.kind(),
                        .combine = table.combine(),
                        .dtype = static_cast<DType>(table.dtype()),
                        .channel = table.channel(),
                        .group = {table.group()->begin(), table.group()->end()},
                        .root = table.root(),
                        .starts = {0}};
  const bool is_in_parts =
      table.kind() == fb::CollectiveKind::AllGather || table.kind() == fb::CollectiveKind::ReduceScatter;
  const auto* const sizes = is_in_parts ? table.parts() : table.elements();
  if (sizes == nullptr || sizes->size() == 0) return made;
  if (table.is_flat()) {
    // Every member has operands (see plan_verifier.h).
    made.starts.push_back(FlatElements(function, *function.steps()->Get(step), made.dtype));
    return made;
  }
  for (const int64_t size : *sizes) made.starts.push_back(made.starts.back() + size);
  return made;
}

bool CollectiveLayout::HasInputs(uint32_t rank) const {
  if (kind == fb::CollectiveKind::Broadcast) return rank == root;
  return kind != fb::CollectiveKind::SendRecv || rank == 0;
}

bool CollectiveLayout::HasOutputs(uint32_t rank) const {
  if (kind == fb::CollectiveKind::Reduce) return rank == root;
  return kind != fb::CollectiveKind::SendRecv || rank == 1;
}

bool CanCombine(fb::ReduceOp combine, DType dtype) {
  return dtype != DType::kI1 || combine == fb::ReduceOp::Max || combine == fb::ReduceOp::Min;
}

}  // namespace sinter
