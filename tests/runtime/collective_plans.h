// Plans of one collective, and what its members must get.
//
//   CollectiveCase c{.kind = fb::CollectiveKind::AllReduce, .dtype = DType::kF32, .members = 3, .sizes = {5, 0, 70}};
//   TestPlan plan = CollectivePlan(c);              // Function "f": inputs "x<rank>_<i>", outputs "y<rank>_<i>".
//   std::vector<HostTensor> x = CollectiveInputs(c, seed);
//   ExpectedOutputs(c, x)                           // By name; computed one element after the other, in order.
//
// The devices are cpu:0 to cpu:<members - 1>, or GPUs.
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
  fb::Combine combine = fb::Combine::Sum;
  DType dtype = DType::kF32;
  uint32_t members = 2;
  // Of the tensors; of AllGather and ReduceScatter: of the parts, one a member.
  std::vector<int64_t> sizes = {10};
  uint32_t root = 0;
  bool is_in_place = false;  // AllReduce, Reduce, Broadcast, and the parts of AllGather and ReduceScatter.
  bool is_flat = false;
  bool is_reversed = false;  // The group lists the devices from the last to the first.
  DeviceKind device_kind = DeviceKind::kCpu;
  uint32_t first_device = 0;  // The devices before it do nothing.

  std::string Name() const;
};

TestPlan CollectivePlan(const CollectiveCase& c);

// By the names of the function's inputs. Values that are exact in every type, unless `is_wild`: of all sizes, with NaNs,
// infinities and zeros of both signs.
std::map<std::string, HostTensor> CollectiveInputs(const CollectiveCase& c, uint32_t seed,
                                                   bool is_wild = false);

std::map<std::string, HostTensor> ExpectedOutputs(const CollectiveCase& c,
                                                  const std::map<std::string, HostTensor>& inputs);

// Whether every output is there with the same bits, of those that the session's process has. NaNs are equal.
void ExpectCollective(Session& session, const CollectiveCase& c, uint32_t seed, bool is_wild = false,
                      bool has_all = true);

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_COLLECTIVE_PLANS_H_
