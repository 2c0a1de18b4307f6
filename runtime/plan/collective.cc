#include "sinter/runtime/plan/collective.h"

#include <iterator>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_vectors.h"

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
using Filter = std::function<bool(uint32_t rank)>;

// The number of elements of a tensor, or of a part.
int64_t CountOf(const CollectiveLayout& c, size_t i) { return c.starts[i + 1] - c.starts[i]; }

// Calls f(from, to) for the pairs of ranks with a rank of interest, from the lower to the higher. With large
// groups these are few of all pairs.
template <typename F>
void ForPairs(const CollectiveLayout& c, const Filter& is_of_interest, F&& f) {
  std::vector<uint32_t> some;
  for (uint32_t rank = 0; rank < c.size(); ++rank) {
    if (is_of_interest(rank)) some.push_back(rank);
  }
  for (uint32_t from = 0; from < c.size(); ++from) {
    if (is_of_interest(from)) {
      for (uint32_t to = 0; to < c.size(); ++to) f(from, to);
    } else {
      for (const uint32_t to : some) f(from, to);
    }
  }
}

Moves BroadcastMoves(const CollectiveLayout& c, const Filter& is_of_interest) {
  Moves moves;
  for (size_t t = 0; t + 1 < c.starts.size(); ++t) {
    for (uint32_t to = 0; to < c.size(); ++to) {
      if (is_of_interest(c.root) || is_of_interest(to)) moves.push_back({c.root, to, t, 0, 0, CountOf(c, t)});
    }
  }
  return moves;
}

Moves GatherMoves(const CollectiveLayout& c, const Filter& is_of_interest) {
  Moves moves;
  ForPairs(c, is_of_interest, [&](uint32_t from, uint32_t to) {
    moves.push_back({from, to, 0, 0, c.starts[from], CountOf(c, from)});
  });
  return moves;
}

Moves AllToAllMoves(const CollectiveLayout& c, const Filter& is_of_interest) {
  Moves moves;
  const int64_t part = c.elements() / c.size();
  ForPairs(c, is_of_interest,
           [&](uint32_t from, uint32_t to) { moves.push_back({from, to, 0, to * part, from * part, part}); });
  return moves;
}

Moves SendMoves(const CollectiveLayout& c, const Filter&) { return {{0, 1, 0, 0, 0, c.elements()}}; }

// A ring of one member sends to itself.
Moves ShiftMoves(const CollectiveLayout& c, const Filter& is_of_interest) {
  Moves moves;
  for (uint32_t from = 0; from < c.size(); ++from) {
    const uint32_t to = (from + c.root) % c.size();
    if (!is_of_interest(from) && !is_of_interest(to)) continue;
    for (size_t t = 0; t + 1 < c.starts.size(); ++t) moves.push_back({from, to, t, 0, 0, CountOf(c, t)});
  }
  return moves;
}

using Owners = CollectiveTraits::Owners;
using Parts = CollectiveTraits::Parts;

// By kind.
constexpr CollectiveTraits kTraits[] = {
    {.name = "all_reduce", .combines = true, .has_list = true, .may_be_in_place = true},
    {.name = "reduce", .combines = true, .has_list = true, .may_be_in_place = true, .outputs = Owners::kRoot},
    {.name = "broadcast",
     .has_list = true,
     .may_be_in_place = true,
     .inputs = Owners::kRoot,
     .moves = BroadcastMoves},
    {.name = "all_gather", .may_be_in_place = true, .parts = Parts::kInputs, .moves = GatherMoves},
    {.name = "reduce_scatter", .combines = true, .may_be_in_place = true, .parts = Parts::kOutputs},
    {.name = "all_to_all", .has_equal_parts = true, .moves = AllToAllMoves},
    {.name = "send_recv",
     .inputs = Owners::kRank0,
     .outputs = Owners::kRank1,
     .members = 2,
     .moves = SendMoves},
    {.name = "ring_shift", .has_list = true, .reaches_one = true, .moves = ShiftMoves},
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
                        .group = {},
                        .root = table.root(),
                        .starts = {0}};
  if (table.group() != nullptr) made.group.assign(table.group()->begin(), table.group()->end());
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

namespace {

bool IsSameChannel(const fb::Function& function, uint32_t a, uint32_t b) {
  const fb::CollectiveStep* const one = function.steps()->Get(a)->body_as_CollectiveStep();
  const fb::CollectiveStep* const other = function.steps()->Get(b)->body_as_CollectiveStep();
  return one != nullptr && other != nullptr && one->channel() == other->channel();
}

}  // namespace

uint32_t EndOfChannel(const fb::Function& function, uint32_t step) {
  uint32_t end = step + 1;
  while (end < function.steps()->size() && IsSameChannel(function, step, end)) ++end;
  return end;
}

uint32_t BeginOfChannel(const fb::Function& function, uint32_t step) {
  while (step > 0 && IsSameChannel(function, step, step - 1)) --step;
  return step;
}

uint64_t CollectiveNumber(const fb::Function& function, uint32_t step) {
  const fb::CollectiveStep& table = TableOf(function, step);
  if (SizeOrZero(table.axes()) == 0) return BeginOfChannel(function, step);
  // Groups of one epoch have different first members. Their numbers may be equal to those of other epochs,
  // which does no harm (World::Operation::tag): the factor makes it rare.
  return table.epoch() * 8191 + table.group()->Get(0);
}

bool CanCombine(fb::ReduceOp combine, DType dtype) {
  if (IsStored(dtype)) return false;
  return dtype != DType::kI1 || combine == fb::ReduceOp::Max || combine == fb::ReduceOp::Min;
}

}  // namespace sinter
