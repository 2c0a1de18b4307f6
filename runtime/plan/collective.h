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

// "all_reduce", "send_recv".
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
  std::vector<uint32_t> group;  // Indices into the plan's devices, by rank.
  uint32_t root;
  // Index of each tensor's first element, then the total number of elements. Flat tensors count as one
  // tensor, including the gaps between them. For AllGather and ReduceScatter: the parts of the one tensor.
  std::vector<int64_t> starts;

  // Reads any member's step. The tables must have passed plan_verifier.h.
  static CollectiveLayout Of(const fb::Function& function, uint32_t step);

  int64_t elements() const { return starts.back(); }
  uint32_t size() const { return static_cast<uint32_t>(group.size()); }
  bool HasInputs(uint32_t rank) const;
  bool HasOutputs(uint32_t rank) const;
};

// The members of one channel in this process: adjacent in Function.steps, all CPUs or all GPUs.
struct CollectiveGroup {
  std::vector<uint32_t> steps;  // Indices into Function.steps, in rank order.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_COLLECTIVE_H_
