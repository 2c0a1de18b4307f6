// A plan of data-parallel training whose simple kernels give known results.
//
//   TestPlan plan = TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, 1000, /*with_copy=*/false);
//   ExpectTraining(session, 2, 1000, /*runs=*/5);
#ifndef SINTER_TESTS_RUNTIME_TRAINING_PLANS_H_
#define SINTER_TESTS_RUNTIME_TRAINING_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/device_plans.h"

namespace sinter {

// Adds the steps of all members of one all-reduce of one tensor.
inline void AddAllReduce(TestFunction& f, uint32_t channel, fb::ReduceOp combine, int64_t size,
                         const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) {
  fb::CollectiveStepT step;
  step.combine = combine;
  step.dtype = fb::DType::F32;
  step.channel = channel;
  step.elements = {size};
  for (uint32_t rank = 0; rank < from.size(); ++rank) {
    step.group.push_back(f.table().buffers[from[rank]]->device);
  }
  for (step.rank = 0; step.rank < from.size(); ++step.rank) {
    f.CollectiveLayout(step, {from[step.rank]}, {to[step.rank]});
  }
}

// On each device d, with its own weights w_d: a_d = x + w_d, mean_d = mean of all a, b_d = x + x, b_d = sum
// of all b, w_d = w_d + mean_d, w_d = w_d + b_d. The reduction of a can overlap with the computation of b.
// With `with_copy`, the first device copies the last device's b before the second reduction overwrites b.
inline TestPlan TrainingPlan(const std::vector<Device>& devices, int64_t size, bool with_copy) {
  TestPlan plan;
  plan.UseDevices(devices);
  const uint32_t count = static_cast<uint32_t>(devices.size());
  for (uint32_t d = 0; d < count; ++d) {
    plan.AddVariable("w" + std::to_string(d), DType::kF32, {size}, 1, d);
  }
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {size});
  std::vector<uint32_t> xs, w, a, mean, b;
  for (uint32_t d = 0; d < count; ++d) {
    xs.push_back(d == 0 ? x : f.InputOn(x, d));
    w.push_back(f.Variable(d));
    for (std::vector<uint32_t>* list : {&a, &mean, &b}) list->push_back(f.Arena(DType::kF32, {size}, d));
  }
  for (uint32_t d = 0; d < count; ++d) AddSum(f, plan, xs[d], w[d], a[d]);
  AddAllReduce(f, 0, fb::ReduceOp::Mean, size, a, mean);
  for (uint32_t d = 0; d < count; ++d) AddSum(f, plan, xs[d], xs[d], b[d]);
  if (with_copy)
    f.Output("copy", [&] {
      const uint32_t copy = f.Arena(DType::kF32, {size}, 0);
      f.Copy(b[count - 1], copy);
      return copy;
    }());
  AddAllReduce(f, 1, fb::ReduceOp::Sum, size, b, b);
  for (uint32_t d = 0; d < count; ++d) {
    AddSum(f, plan, w[d], mean[d], w[d]);
    AddSum(f, plan, w[d], b[d], w[d]);
  }
  for (uint32_t d = 0; d < count; ++d) {
    f.Output("w" + std::to_string(d), w[d]);
    f.Output("mean" + std::to_string(d), mean[d]);
  }
  return plan;
}

// Checks only every third run and the last, so that several runs are pending at once.
inline void ExpectTraining(Session& session, int devices, int64_t size, int runs,
                           Profile* profile = nullptr) {
  using ::testing::Each;
  float w = (*session.ReadVariable("w0")->Span<float>())[0];
  for (int run = 0; run < runs; ++run) {
    const float x = static_cast<float>(run % 5);
    const HostTensor input = Filled(size, x);
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", input}}, profile);
    ASSERT_TRUE(out.ok()) << out.status();
    const float mean = x + w;
    w = w + mean + 2 * x * static_cast<float>(devices);
    if (w > 1e5f) {
      // Small whole numbers stay exact in f32.
      for (int d = 0; d < devices; ++d) {
        ASSERT_TRUE(session.WriteVariable("w" + std::to_string(d), Filled(size, 1)).ok());
      }
      w = 1;
    }
    if (run % 3 != 2 && run != runs - 1) continue;
    for (int d = 0; d < devices; ++d) {
      ASSERT_THAT(*(*out)["mean" + std::to_string(d)].Span<float>(), Each(mean)) << "run " << run;
      ASSERT_THAT(*session.ReadVariable("w" + std::to_string(d))->Span<float>(), Each(w)) << "run " << run;
    }
    if (const absl::StatusOr<const HostTensor*> copy = out->Get("copy"); copy.ok()) {
      ASSERT_THAT(*(*copy)->Span<float>(), Each(2 * x)) << "run " << run;
    }
  }
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_TRAINING_PLANS_H_
