// The update of many parameters on a GPU, where kernels have the most buffers; compiled without one.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/plan_generated.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/tests/frontend/parameter_updates.h"

namespace sinter {
namespace {

TEST(ManyParametersTest, CompileForAGpu) {
  if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  CompileOptions options{.device = Device::Gpu(), .gpu_architectures = {"sm_90"}};
  Graph graph("many");
  graph.Function("f", Mode::kTrain, [](Builder& b) { Parameters(b, 1000); });
  absl::StatusOr<Plan> plan = Compile(graph, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<size_t> buffers;
  for (const fb::Step* step : *plan->table().functions()->Get(0)->steps()) {
    buffers.push_back(step->inputs()->size() + step->outputs()->size());
  }
  EXPECT_THAT(buffers, testing::UnorderedElementsAre(682 * 6, 318 * 6));
}

}  // namespace
}  // namespace sinter
