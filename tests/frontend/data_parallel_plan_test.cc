// Two GPUs that share a batch each run the steps of one GPU with half of it, concurrently with exchanges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/examples/resnet.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/execute/collective_waits.h"
#include "sinter/runtime/execute/launch_order.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/world/rank_program.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kPlanPart = 6;  // Examples per GPU.

// Returns a graph with a function "train" for a batch of this size.
using BuildForBatch = std::function<Graph(int64_t batch)>;

Graph ResNet(int64_t batch) {
  absl::StatusOr<nn::Module> net = examples::ResNet({.layers = 14, .width = 16, .classes = 10});
  SINTER_CHECK(net.ok()) << net.status();
  Graph graph("resnet", {.precision = Precision::kBf16});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {batch, 3, 32, 32}), y = b.Input("y", I32, {batch});
    Tensor loss = SoftmaxCrossEntropy((*net)(x), y);
    optim::Momentum{.learning_rate = 0.1}.Minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

Graph Transformer(int64_t batch) {
  constexpr int64_t kContext = 16, kWidth = 64, kVocabulary = 256;
  std::vector<nn::Module> layers = {nn::Embedding(kVocabulary, kWidth)};
  for (int i = 0; i < 2; ++i) {
    layers.push_back(nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(4, {.causal = true})});
    layers.push_back(
        nn::Residual{nn::LayerNorm(), nn::Linear(4 * kWidth), nn::GeluTanh(), nn::Linear(kWidth)});
  }
  layers.insert(layers.end(), {nn::LayerNorm(), nn::Linear(kVocabulary)});
  nn::Module model = nn::Sequential(layers);
  Graph graph("transformer", {.precision = Precision::kBf16});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", I32, {batch, kContext}), y = b.Input("y", I32, {batch, kContext});
    Tensor loss = SoftmaxCrossEntropy(Reshape(model(x), {-1, kVocabulary}), Flatten(y, 0));
    optim::AdamW{.learning_rate = 0.001}.Minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

struct Compiled {
  Plan plan;
  std::string partitioned;  // The IR after partition, simplified.

  const fb::Function& train() const { return *plan.table().functions()->Get(0); }
};

Compiled CompileFor(const BuildForBatch& build, int gpus,
                    int64_t bucket_bytes = DataParallel().bucket_bytes) {
  CompileOptions options{
      .device = Device::Gpu(), .gpu_architectures = {"sm_90"}, .dump_stages = {"drop-unit-dims"}};
  if (gpus > 1) {
    for (int i = 0; i < gpus; ++i) options.data_parallel.devices.push_back(Device::Gpu(i));
    options.data_parallel.bucket_bytes = bucket_bytes;
  }
  CompileReport report;
  absl::StatusOr<Plan> plan = Compile(build(gpus * kPlanPart), options, &report);
  SINTER_CHECK(plan.ok()) << plan.status();
  return {*std::move(plan), report.dumps["drop-unit-dims"]};
}

// Returns the number of steps of each kind on a device.
std::map<std::string, int> KindsOn(const Compiled& compiled, uint32_t device) {
  std::map<std::string, int> kinds;
  for (const fb::Step* step : *compiled.train().steps()) {
    if (step->device() == device) ++kinds[fb::EnumNameStepBody(step->body_type())];
  }
  return kinds;
}

bool IsCollective(const fb::Step& step) { return step.body_type() == fb::StepBody::CollectiveStep; }
// The last such step is the end of the backward pass.
bool IsMatmul(const fb::Step& step) {
  return step.body_type() == fb::StepBody::MatmulStep || step.body_type() == fb::StepBody::ConvStep;
}

// Each device has `more` kernels beyond those of one GPU. It has no copy steps: new variable values are
// computed after their readers, while one GPU may compute some of them together with the batch's statistics.
void ExpectSameSteps(const BuildForBatch& build, int collectives, int more) {
  const Compiled one = CompileFor(build, 1), two = CompileFor(build, 2);
  std::map<std::string, int> want = KindsOn(one, 0);
  want["CollectiveStep"] += collectives;
  want["GpuKernelStep"] += more;
  want.erase("CopyStep");
  EXPECT_EQ(KindsOn(two, 0), want);
  // One program serves all GPUs.
  EXPECT_EQ(NumDevices(two.plan.table()), 1u);
  // No value has a dimension for the parts of the batch.
  EXPECT_THAT(two.partitioned, Not(HasSubstr("tensor<1x" + std::to_string(kPlanPart) + "x")));
}

// The collectives: buckets of bf16 gradients, and of f32 gradients with the loss and all running statistics.
TEST(DataParallelPlanTest, AConvolutionalNetRunsTheStepsOfOneGpu) {
  ExpectSameSteps(ResNet, /*collectives=*/3, /*more=*/1);
}

TEST(DataParallelPlanTest, ATransformerRunsTheStepsOfOneGpu) {
  ExpectSameSteps(Transformer, /*collectives=*/3, /*more=*/0);
}

// Uses small buckets, so that many of them fill up.
void ExpectOverlap(const BuildForBatch& build) {
  const Compiled two = CompileFor(build, 2, /*bucket_bytes=*/1 << 16);
  const RankProgram ranks = RankProgram::Of(two.plan.table(), nullptr).value();
  const fb::Function& train = *ranks.table().functions()->Get(0);
  const LaunchOrder order = MakeLaunchOrder(ranks.table(), train, {false, false});
  // Only exchanges wait: each GPU gets all of its steps in one launch.
  ASSERT_EQ(order.launches.size(), 2u);
  for (const Launch& launch : order.launches) {
    SCOPED_TRACE(launch.device);
    auto is_collective = [&](uint32_t index) { return IsCollective(*train.steps()->Get(index)); };
    auto is_matmul = [&](uint32_t index) { return IsMatmul(*train.steps()->Get(index)); };
    EXPECT_GE(std::ranges::count_if(launch.steps, is_collective), 4);
    const auto first = std::ranges::find_if(launch.steps, is_collective);
    const auto last = std::find_if(launch.steps.rbegin(), launch.steps.rend(), is_matmul).base();
    // Exchanges begin while half of the backward pass is still to come, and the backward pass waits for none
    // of them.
    EXPECT_GE(std::count_if(first, last, is_matmul), 10);
    std::vector<size_t> waits;
    for (const CollectiveWait& wait : FindCollectiveWaits(ranks.table(), train, launch.steps))
      waits.push_back(wait.before);
    EXPECT_THAT(waits, Each(Ge(static_cast<size_t>(last - launch.steps.begin()))));
  }
}

TEST(DataParallelPlanTest, AConvolutionalNetExchangesGradientsBesideBackward) { ExpectOverlap(ResNet); }

TEST(DataParallelPlanTest, ATransformerExchangesGradientsBesideBackward) { ExpectOverlap(Transformer); }

// The least seconds of CPU time that compilations for each number of ranks take.
std::vector<double> CompileTimes(const BuildForBatch& build, const std::vector<int>& ranks, int rounds) {
  std::vector<double> least(ranks.size(), HUGE_VAL);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      const std::clock_t start = std::clock();
      CompileFor(build, ranks[i]);
      least[i] = std::min(least[i], static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
  }
  return least;
}

// Neither the plan nor the time to compile it grows with the ranks. Buckets are fewer with many ranks, among
// whom an exchange has a longer latency.
TEST(DataParallelPlanTest, APlanForAThousandRanksIsAsLargeAsForTwo) {
  for (const auto build : {Transformer, ResNet}) {
    const Compiled one = CompileFor(build, 1), two = CompileFor(build, 2), many = CompileFor(build, 1024);
    EXPECT_LE(many.plan.bytes().size(), two.plan.bytes().size());
    EXPECT_LE(many.plan.bytes().size(), 1.05 * static_cast<double>(one.plan.bytes().size()));
    EXPECT_LE(many.train().steps()->size(), two.train().steps()->size());
    EXPECT_LE(many.train().buffers()->size(), two.train().buffers()->size());
    EXPECT_LE(many.plan.table().gpu_kernels()->size(), two.plan.table().gpu_kernels()->size());
    EXPECT_EQ(many.plan.Devices().size(), 1024u);
    EXPECT_EQ(many.plan.Devices().back(), Device::Gpu(1023));
  }
  const std::vector<double> seconds = CompileTimes(Transformer, {1, 1024}, /*rounds=*/4);
  EXPECT_LE(seconds[1], 2 * seconds[0]);
}

// Devices are listed only if they are not in turn.
TEST(DataParallelPlanTest, ThePlanKeepsTheDevicesThatTheUserNames) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {4, 5, 6}, {2, 1, 0}, {0, 2, 4}}) {
    CompileOptions options{.gpu_architectures = {"sm_90"}};
    for (int index : order) options.data_parallel.devices.push_back(Device::Gpu(index));
    absl::StatusOr<Plan> plan = Compile(Transformer(6), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->Devices(), options.data_parallel.devices);
    const bool is_listed = plan->table().mesh()->devices() != nullptr;
    EXPECT_EQ(is_listed, order[1] != order[0] + 1);
  }
}

}  // namespace
}  // namespace sinter
