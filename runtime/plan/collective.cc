#include "sinter/runtime/plan/collective.h"

#include <iterator>

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

using Moves = std::vector<CollectiveMove>;

// The number of elements of a tensor, or of a part.
int64_t CountOf(const CollectiveLayout& c, size_t i) { return c.starts[i + 1] - c.starts[i]; }

Moves BroadcastMoves(const CollectiveLayout& c) {
  Moves moves;
  for (size_t t = 0; t + 1 < c.starts.size(); ++t) {
    for (uint32_t to = 0; to < c.size(); ++to) moves.push_back({c.root, to, t, 0, 0, CountOf(c, t)});
  }
  return moves;
}

Moves GatherMoves(const CollectiveLayout& c) {
  Moves moves;
  for (uint32_t from = 0; from < c.size(); ++from) {
    for (uint32_t to = 0; to < c.size(); ++to) {
      moves.push_back({from, to, 0, 0, c.starts[from], CountOf(c, from)});
    }
  }
  return moves;
}

Moves AllToAllMoves(const CollectiveLayout& c) {
  Moves moves;
  const int64_t part = c.elements() / c.size();
  for (uint32_t from = 0; from < c.size(); ++from) {
    for (uint32_t to = 0; to < c.size(); ++to) moves.push_back({from, to, 0, to * part, from * part, part});
  }
  return moves;
}

Moves SendMoves(const CollectiveLayout& c) { return {{0, 1, 0, 0, 0, c.elements()}}; }

// A ring of one member sends to itself.
Moves ShiftMoves(const CollectiveLayout& c) {
  Moves moves;
  for (uint32_t from = 0; from < c.size(); ++from) {
    moves.push_back({from, (from + c.root) % c.size(), 0, 0, 0, c.elements()});
  }
  return moves;
}

using Owners = CollectiveTraits::Owners;
using Parts = CollectiveTraits::Parts;

// By kind.
constexpr CollectiveTraits kTraits[] = {
    {.name = "all_reduce", .combines = true, .has_list = true},
    {.name = "reduce", .combines = true, .has_list = true, .outputs = Owners::kRoot},
    {.name = "broadcast", .has_list = true, .inputs = Owners::kRoot, .moves = BroadcastMoves},
    {.name = "all_gather", .parts = Parts::kInputs, .moves = GatherMoves},
    {.name = "reduce_scatter", .combines = true, .parts = Parts::kOutputs},
    {.name = "all_to_all", .has_equal_parts = true, .moves = AllToAllMoves},
    {.name = "send_recv",
     .inputs = Owners::kRank0,
     .outputs = Owners::kRank1,
     .members = 2,
     .moves = SendMoves},
    {.name = "ring_shift", .moves = ShiftMoves},
};
static_assert(std::size(kTraits) == static_cast<size_t>(fb::CollectiveKind::MAX) + 1);

}  // namespace

const CollectiveTraits& TraitsOf(fb::CollectiveKind kind) { return kTraits[static_cast<size_t>(kind)]; }

std::string_view CollectiveName(fb::CollectiveKind kind) {
  return kind <= fb::CollectiveKind::MAX ? TraitsOf(kind).name : "";
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
  const auto* const sizes = made.traits().parts == Parts::kNone ? table.elements() : table.parts();
  if (sizes == nullptr || sizes->size() == 0) return made;
  if (table.is_flat()) {
    // Every member has operands (see plan_verifier.h).
    made.starts.push_back(FlatElements(function, *function.steps()->Get(step), made.dtype));
    return made;
  }
  for (const int64_t size : *sizes) made.starts.push_back(made.starts.back() + size);
  return made;
}

bool CanCombine(fb::ReduceOp combine, DType dtype) {
  return dtype != DType::kI1 || combine == fb::ReduceOp::Max || combine == fb::ReduceOp::Min;
}

}  // namespace sinter
