// Attention in the builder: its values on the CPU, and the steps and memory of GPU plans. Needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/plan_generated.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 2, kPositions = 1024, kHeads = 4, kWidth = 16;

// A graph with attention alone ("infer") and with the gradient of mean(attention(x w)^2) ("gradient").
Graph SelfAttention(Precision precision) {
  Graph graph("attention", {.precision = precision});
  const auto attention = [](Builder& b, const char* name) {
    const int64_t features = kHeads * kWidth;
    Tensor x = b.Input("x", F32, {kBatch, kPositions, features});
    Tensor w = b.Read(b.MakeVariable(name, F32, {features, 3 * features}));
    Tensor qkv = MatMul(Reshape(x, {kBatch * kPositions, features}), w);
    return std::pair(Attention(Reshape(qkv, {kBatch, kPositions, 3, kHeads, kWidth}), {.causal = true}), w);
  };
  graph.Function("infer", Mode::kTrain, [&](Builder& b) { b.Output("y", attention(b, "w").first); });
  graph.Function("gradient", Mode::kTrain, [&](Builder& b) {
    const auto [y, w] = attention(b, "trained");
    b.Output("g", Gradients(Mean(Square(y)), {w})[0]);
  });
  return graph;
}

std::vector<const fb::AttentionStep*> AttentionSteps(const Plan& plan, size_t function) {
  std::vector<const fb::AttentionStep*> steps;
  for (const fb::Step* step : *plan.table().functions()->Get(function)->steps()) {
    if (const fb::AttentionStep* attention = step->body_as_AttentionStep()) steps.push_back(attention);
  }
  return steps;
}

class AttentionOnGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  }
  static CompileOptions ForGpu() {
    CompileOptions options;
    options.device = Device::Gpu(0);
    options.gpu_architectures = {"sm_90"};
    options.report = true;
    return options;
  }
};

TEST_F(AttentionOnGpuTest, TheScoresAreNeverInMemory) {
  const absl::StatusOr<Plan> plan = Compile(SelfAttention(Precision::kBf16), ForGpu());
  ASSERT_TRUE(plan.ok()) << plan.status();
  // Only the gradient needs stats.
  const auto infer = AttentionSteps(*plan, 0), gradient = AttentionSteps(*plan, 1);
  ASSERT_EQ(infer.size(), 1u);
  EXPECT_FALSE(infer[0]->has_stats());
  ASSERT_EQ(gradient.size(), 2u);
  EXPECT_TRUE(gradient[0]->has_stats());
  EXPECT_FALSE(gradient[0]->backward());
  EXPECT_TRUE(gradient[1]->backward());
  for (const fb::AttentionStep* step : gradient) {
    EXPECT_TRUE(step->packed());
    EXPECT_TRUE(step->causal());
    EXPECT_EQ(step->dtype(), fb::DType::BF16);
    EXPECT_EQ(step->scale(), 0.25);
  }
  // The size of the scores in bf16, their smallest type.
  const int64_t scores = kBatch * kHeads * kPositions * kPositions * 2;
  for (const char* name : {"infer", "gradient"}) {
    EXPECT_LT(plan->Function(name)->arena_bytes, scores / 4) << name;
  }
}

// Attention of 64 queries to 128 keys with each option stays whole, with its gradient.
TEST_F(AttentionOnGpuTest, NoOptionButDropoutNeedsTheScoresInMemory) {
  struct Case {
    const char* name;
    std::function<AttentionOptions(Builder&)> options;
    int64_t key_heads = 4, width = 64;
    // Steps of a library: attention and its gradient, which generated kernels may compute instead.
    size_t steps = 2;
  };
  const std::vector<Case> cases = {
      {"groups", [](Builder&) { return AttentionOptions{.causal = true}; }, 2, 64, 1},
      {"one head of k", [](Builder&) { return AttentionOptions{}; }, 1, 64, 1},
      {"wide", [](Builder&) { return AttentionOptions{.causal = true}; }, 4, 256},
      {"window", [](Builder&) { return AttentionOptions{.causal = true, .window = 16}; }},
      {"mask", [](Builder& b) { return AttentionOptions{.mask = b.Input("mask", I1, {64, 128})}; }},
      {"bias", [](Builder& b) { return AttentionOptions{.bias = b.Input("bias", F32, {4, 64, 128})}; }},
      {"lengths", [](Builder& b) { return AttentionOptions{.key_lengths = b.Input("n", I32, {2})}; }, 2},
      {"dropout", [](Builder&) { return AttentionOptions{.dropout = 0.1}; }, 4, 64, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Graph graph("g", {.precision = Precision::kBf16});
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      const Tensor q = b.Input("q", F32, {2, 64, 4, c.width});
      const Tensor k = b.Input("k", F32, {2, 128, c.key_heads, c.width});
      const Tensor y = Attention(q, k, b.Input("v", F32, k.shape()), c.options(b));
      b.Output("g", Gradients(Mean(Square(y)), {q})[0]);
    });
    const absl::StatusOr<Plan> plan = Compile(graph, ForGpu());
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(AttentionSteps(*plan, 0).size(), c.steps);
  }
}

// GPUs of other compute capabilities have no gradient of wide heads.
TEST_F(AttentionOnGpuTest, WideHeadsAreWholeIfAllGpusOfThePlanCan) {
  Graph graph("g", {.precision = Precision::kBf16});
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor qkv = b.Input("qkv", F32, {2, 64, 3, 2, 136});
    b.Output("y", Attention(qkv, {.causal = true}));
  });
  for (const auto& [architectures, count] :
       {std::pair(std::vector<std::string>{"sm_90"}, 1u), {{"sm_80", "sm_90"}, 0u}}) {
    CompileOptions options = ForGpu();
    options.gpu_architectures = architectures;
    CompileReport report;
    const absl::StatusOr<Plan> plan = Compile(graph, options, &report);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(AttentionSteps(*plan, 0).size(), count);
    if (count == 0) {
      EXPECT_THAT(report.fusion,
                  Contains(HasSubstr("its heads have a width of 136, and some GPUs of the plan "
                                     "take at most 128")));
    }
  }
}

TEST_F(AttentionOnGpuTest, DevicesThatShareABatchHaveItWholeToo) {
  CompileOptions options = ForGpu();
  options.device = Device::Cpu();
  options.data_parallel.devices = {Device::Gpu(0), Device::Gpu(1)};
  const absl::StatusOr<Plan> plan = Compile(SelfAttention(Precision::kBf16), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto steps = AttentionSteps(*plan, 1);
  ASSERT_EQ(steps.size(), 2u);  // The steps of one rank.
  for (const fb::AttentionStep* step : steps) EXPECT_EQ(step->batch(), kBatch / 2);
}

TEST_F(AttentionOnGpuTest, SaysWhyItIsDecomposed) {
  CompileReport report;
  const absl::StatusOr<Plan> plan = Compile(SelfAttention(Precision::kF32), ForGpu(), &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(AttentionSteps(*plan, 1).empty());
  EXPECT_THAT(report.fusion,
              Contains(HasSubstr("'sinter.attention_grad' is decomposed, its scores in memory: cuDNN "
                                 "computes attention in bf16 and f16 only")));
}

// The second of two positions sees both; the first sees itself.
TEST(AttentionTest, IsTheSoftmaxOfItsScoresTimesTheValues) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor qkv = b.Input("qkv", F32, {1, 2, 3, 1, 1});
    b.Output("causal", Attention(qkv, {.causal = true, .scale = 2.0}));
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < 3; ++i) parts.push_back(Reshape(SliceDim(qkv, 2, i, i + 1), {1, 2, 1, 1}));
    b.Output("all", Attention(parts[0], parts[1], parts[2]));
  });
  Session session = MustStart(graph);
  const HostTensor qkv = *HostTensor::FromVector<float>({1, 2, 3, 1, 1}, {0.5f, 0.25f, 3, 1, -0.5f, 5});
  const auto mixed = [](double q, double scale) {
    const double first = std::exp(q * scale * 0.25), second = std::exp(q * scale * -0.5);
    return static_cast<float>((first * 3 + second * 5) / (first + second));
  };
  const std::vector<float> causal = Floats(session, "f", {{"qkv", qkv}}, "causal");
  EXPECT_FLOAT_EQ(causal[0], 3);
  EXPECT_FLOAT_EQ(causal[1], mixed(1, 2));
  const std::vector<float> all = Floats(session, "f", {{"qkv", qkv}}, "all");
  EXPECT_FLOAT_EQ(all[0], mixed(0.5, 1));
  EXPECT_FLOAT_EQ(all[1], mixed(1, 1));
}

}  // namespace
}  // namespace sinter
