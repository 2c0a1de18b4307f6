// Plans of one collective, with inputs and expected outputs of its members.
//
//   CollectiveCase c{.kind = fb::CollectiveKind::AllReduce, .members = 3, .sizes = {5, 0, 70}};
//   TestPlan plan = CollectivePlan(c);              // Inputs "x<rank>_<i>", outputs "y<rank>_<i>".
//   std::map<std::string, HostTensor> x = CollectiveInputs(c, seed);
//   ExpectedOutputs(c, x)                           // By name. Combines members in the order of their ranks.
//
// The function of the plan is "f". The devices are cpu:0 to cpu:<members - 1>, or GPUs.
#ifndef SINTER_TESTS_RUNTIME_COLLECTIVE_PLANS_H_
#define SINTER_TESTS_RUNTIME_COLLECTIVE_PLANS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sinter/runtime/tensor/tensor.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

struct CollectiveCase {
  fb::CollectiveKind kind = fb::CollectiveKind::AllReduce;
  fb::ReduceOp combine = fb::ReduceOp::Sum;
  DType dtype = DType::kF32;
  uint32_t members = 2;
  // Sizes of the tensors. For AllGather and ReduceScatter: sizes of the parts, one per member.
  std::vector<int64_t> sizes = {10};
  uint32_t root = 0;
  // For AllReduce, Reduce, Broadcast, and the parts of AllGather and ReduceScatter.
  bool is_in_place = false;
  bool is_flat = false;
  bool is_reversed = false;  // The group lists the devices from the last to the first.
  DeviceKind device_kind = DeviceKind::kCpu;
  uint32_t first_device = 0;  // Earlier devices take no part.

  std::string Name() const;
};

TestPlan CollectivePlan(const CollectiveCase& c);

// Returns the inputs by name. The values are exact in every type. With `is_wild` they are of all sizes and
// include NaNs, infinities and zeros of both signs.
std::map<std::string, HostTensor> CollectiveInputs(const CollectiveCase& c, uint32_t seed,
                                                   bool is_wild = false);

std::map<std::string, HostTensor> ExpectedOutputs(const CollectiveCase& c,
                                                  const std::map<std::string, HostTensor>& inputs);

// Runs the case and expects every output with the same bits; NaNs are equal. Without `has_all`, skips outputs
// that another process owns.
void ExpectCollective(Session& session, const CollectiveCase& c, uint32_t seed, bool is_wild = false,
                      bool has_all = true);

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_COLLECTIVE_PLANS_H_
