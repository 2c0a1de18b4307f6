// Exchanges between the devices of a plan, as the plan states them.
//
//   const Collective sum = Collective::Of(function, step);      // From any member's step.
//   if (sum.HasInputs(rank)) ...
//
// The members of a channel are neighbours in the plan. runtime/cpu/host_collective.h says how CPUs do the work, and
// runtime/cuda/steps/collective_step.cc how GPUs do.
//
// Elements are combined in the order of the ranks, one after the other, so that all members get the same bits however the
// devices are spread over processes. bf16 and f16 are added as f32 and rounded once. A mean is the sum divided by the number
// of members: of integers, rounded towards zero, with the sum taken modulo 2^64. Max and min: NaN if any is, and -0 < 0.
#ifndef SINTER_RUNTIME_PLAN_COLLECTIVE_H_
#define SINTER_RUNTIME_PLAN_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sinter/runtime/host/dtype.h"

namespace sinter {

namespace fb {
struct CollectiveStep;
struct Function;
enum class CollectiveKind : uint8_t;
enum class Combine : uint8_t;
}  // namespace fb

// "all_reduce", "send_recv".
std::string_view CollectiveName(fb::CollectiveKind kind);

// True if elements of the type can be combined so: i1 has max and min only.
bool CanCombine(fb::Combine combine, DType dtype);

// Elements [begin, end) of a member, counting through its tensors, are elements [offset, ...) of one of them.
struct CollectivePiece {
  size_t tensor;
  int64_t offset, count;
};

// What the members of a channel have in common.
struct Collective {
  fb::CollectiveKind kind;
  fb::Combine combine;
  DType dtype;
  uint32_t channel;
  std::vector<uint32_t> group;  // Indices into the plan's devices, by rank.
  uint32_t root;
  // Where the elements of each tensor begin, and at the end the number of all. Flat tensors are one, with the bytes between
  // them. Of AllGather and ReduceScatter: of the parts, which together are the one tensor.
  std::vector<int64_t> starts;

  // From any member's step. The tables must have passed plan_verifier.h.
  static Collective Of(const fb::Function& function, uint32_t step);

  int64_t elements() const { return starts.back(); }
  uint32_t size() const { return static_cast<uint32_t>(group.size()); }
  bool HasInputs(uint32_t rank) const;
  bool HasOutputs(uint32_t rank) const;
};

// The members of one channel that this process runs: neighbours in Function.steps, all CPUs or all GPUs.
struct CollectiveGroup {
  std::vector<uint32_t> steps;  // Indices into Function.steps, in the order of their ranks.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_COLLECTIVE_H_
