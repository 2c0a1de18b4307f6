// Programs that compute from constants, compiled for a GPU without one: each op needs a device in the end.
#include <functional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/frontend/sinter.h"

namespace sinter {
namespace {

void ExpectCompiles(const std::function<void(Builder&)>& body) {
  if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  Graph graph("constants");
  graph.Function("f", Mode::kTrain, body);
  const absl::StatusOr<Plan> plan = Compile(graph, {.device = Device::Gpu(), .gpu_architectures = {"sm_90"}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const Device device : plan->Devices()) EXPECT_EQ(device, Device::Gpu());
}

TEST(ConstantsOnGpuTest, Loops) {
  ExpectCompiles([](Builder& b) {
    const auto [last, all] = Scan(b.Ones(F32, {3}), Steps{4}, [](const Tensor& x, const Tensor&) {
      const Tensor next = Tanh(x) * 2.0;
      return std::pair(next, next);
    });
    b.Output("all", all);
    b.Output("last", last + 1.0);
    b.Output("ctc", CtcLoss(b.Zeros(F32, {2, 5, 4}), b.Ones(I32, {2, 3})));
  });
}

TEST(ConstantsOnGpuTest, BodiesThatGiveThem) {
  ExpectCompiles([](Builder& b) {
    const Tensor p = b.Input("p", I1, {});
    b.Output("chosen", Cond(p, [&] { return b.Full(F32, {2}, 7.0); }, [&] { return b.Ones(F32, {2}); }));
    const auto [none, stack] =
        Scan(None{}, Steps{3}, [&](None n, const Tensor&) { return std::pair(n, b.Full(F32, {2}, 3.0)); });
    b.Output("stack", stack);
    b.Output("last", While(
                         b.Zeros(F32, {2}), [](const Tensor& x) { return Any(x < 1.0); },
                         [&](const Tensor&) { return b.Full(F32, {2}, 2.0); }));
  });
}

TEST(ConstantsOnGpuTest, GradientsTowardsThem) {
  ExpectCompiles([](Builder& b) {
    const Tensor c = b.Full(F64, {7}, 0.5), x = b.Input("x", F64, {7});
    const Tensor slope = Gradients(Sum(LogGamma(c)), {c})[0];
    b.Output("curve", Gradients(Sum(slope), {c})[0]);
    const std::vector<Tensor> both = Gradients(Sum(c * x), {c, x});
    b.Output("c", both[0]);
    b.Output("sum", both[0] + both[1]);
  });
}

// The rows of the gradient are constant, what they are added to is not.
TEST(ConstantsOnGpuTest, SumsWithWhatIsNotConstant) {
  ExpectCompiles([](Builder& b) {
    const Tensor x = b.Input("x", F32, {9, 4});
    const Tensor rows = Gather(x, b.Iota(I32, {5}), 0);
    b.Output("dx", Gradients(Sum(rows) + Sum(Square(x)), {x})[0]);
    const Tensor product = MatMul(Cast(b.Iota(I32, {64, 64}), F32), Cast(b.Iota(I32, {64, 64}, 1), F32));
    b.Output("bias", Relu(product + b.Input("bias", F32, {64})));
  });
}

}  // namespace
}  // namespace sinter
