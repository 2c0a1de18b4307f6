// Collectives between the devices of a plan, as the plan describes them.
//
//   const CollectiveLayout sum = CollectiveLayout::Of(function, step);      // From any member's step.
//   if (sum.HasInputs(rank)) ...
//
// The members of a channel are adjacent in the plan. runtime/cpu/host_collective.h implements collectives on
// CPUs, runtime/cuda/steps/collective_step.cc on GPUs.
//
// Elements are combined in rank order, so all members get the same bits for every distribution of devices
// over processes. bf16 and f16 are added as f32 and rounded once. A mean is the sum divided by the number of
// members; for integers it is rounded towards zero, and the sum is modulo 2^64. Max and min return NaN if any
// element is NaN, and -0 < 0.
#ifndef SINTER_RUNTIME_PLAN_COLLECTIVE_H_
#define SINTER_RUNTIME_PLAN_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "sinter/runtime/host/dtype.h"

namespace sinter {

namespace fb {
struct CollectiveStep;
struct Function;
enum class CollectiveKind : uint8_t;
enum class ReduceOp : uint8_t;
}  // namespace fb

struct CollectiveLayout;

// Elements that go from an input of one member to an output of another, or to its own.
struct CollectiveMove {
  uint32_t from, to;  // Ranks.
  size_t tensor;      // Position among the inputs of `from` and the outputs of `to`.
  int64_t source, target, count;

  bool IsOfSameElements(const CollectiveMove& other) const {
    return from == other.from && tensor == other.tensor && source == other.source && count == other.count;
  }
};

// The properties of a kind of collectives: a row of the table in collective.cc. The verifier and the
// implementations treat all kinds without `combines` alike: they carry out `moves`.
struct CollectiveTraits {
  enum class Owners : uint8_t { kAll, kRoot, kRank0, kRank1 };
  enum class Parts : uint8_t { kNone, kInputs, kOutputs };

  std::string_view name;          // "all_reduce", "send_recv".
  bool combines = false;          // The elements of all members are combined by `combine`.
  bool has_list = false;          // The collective exchanges lists of tensors.
  bool may_be_in_place = false;   // A result may have the place of its operand, or of its part of it.
  bool has_equal_parts = false;   // The number of members divides the number of elements.
  bool reaches_one = false;       // A member's tensors go to one other member, however many there are.
  Parts parts = Parts::kNone;     // The tensors that are the members' parts of a whole.
  Owners inputs = Owners::kAll;   // The members that have inputs.
  Owners outputs = Owners::kAll;  // The members that have outputs.
  uint32_t members = 0;           // The only possible number of members; 0 for any number.
  // Returns the moves that begin or end at one of these ranks, in the same order for every process. Equal
  // elements for several members are adjacent. Null for kinds that combine.
  std::vector<CollectiveMove> (*moves)(const CollectiveLayout& layout,
                                       const std::function<bool(uint32_t rank)>& is_of_interest) = nullptr;

  static bool Has(Owners owners, uint32_t rank, uint32_t root) {
    if (owners == Owners::kAll) return true;
    return rank == (owners == Owners::kRoot ? root : owners == Owners::kRank0 ? 0u : 1u);
  }
};

// `kind` must exist.
const CollectiveTraits& TraitsOf(fb::CollectiveKind kind);

// Empty if the kind does not exist.
std::string_view CollectiveName(fb::CollectiveKind kind);

// True if elements of the type can be combined so: i1 has max and min only.
bool CanCombine(fb::ReduceOp combine, DType dtype);

// Elements [begin, end) of a member, counted through its tensors, as elements [offset, offset + count) of one
// tensor.
struct CollectivePiece {
  size_t tensor;
  int64_t offset, count;
};

// Properties that the members of a channel have in common.
struct CollectiveLayout {
  fb::CollectiveKind kind;
  fb::ReduceOp combine;
  DType dtype;
  uint32_t channel;
  std::vector<uint32_t> group;  // Indices into the plan's devices, by rank. Empty for an exchange over axes.
  uint32_t root;
  // Index of each tensor's first element, then the total number of elements. Flat tensors count as one
  // tensor, including the gaps between them. For AllGather and ReduceScatter: the parts of the one tensor.
  std::vector<int64_t> starts;

  // Reads any member's step. The tables must have passed plan_verifier.h.
  static CollectiveLayout Of(const fb::Function& function, uint32_t step);

  int64_t elements() const { return starts.back(); }
  uint32_t size() const { return static_cast<uint32_t>(group.size()); }
  const CollectiveTraits& traits() const { return TraitsOf(kind); }
  bool HasInputs(uint32_t rank) const { return CollectiveTraits::Has(traits().inputs, rank, root); }
  bool HasOutputs(uint32_t rank) const { return CollectiveTraits::Has(traits().outputs, rank, root); }
};

// Returns the index after the last step of a step's channel: its members are adjacent. For other steps, the
// next index.
uint32_t EndOfChannel(const fb::Function& function, uint32_t step);
// Returns the first step of a step's channel.
uint32_t BeginOfChannel(const fb::Function& function, uint32_t step);

// Returns a number of the collective that is the same on all processes with members: the index of its first
// member's step, or for an exchange over a mesh's axes, its epoch and its first member.
uint64_t CollectiveNumber(const fb::Function& function, uint32_t step);

// The members of one channel in this process: adjacent in Function.steps, all CPUs or all GPUs.
struct CollectiveGroup {
  std::vector<uint32_t> steps;  // Indices into Function.steps, in rank order.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_COLLECTIVE_H_
