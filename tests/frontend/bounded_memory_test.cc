// Chunked losses over large vocabularies, and plans under a memory limit: results, memory and errors.
//
// SINTER_TEST_DEVICE=gpu:0 runs the tests on this GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

HostTensor Waves(const Shape& shape, double step) {
  HostTensor tensor = *HostTensor::Zeros(DType::kF32, shape);
  float* values = static_cast<float*>(tensor.mutable_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  }
  return tensor;
}

// Row chunks ------------------------------------------------------------------------------------------------

// A limit far above the need. Without any limit, a small GPU arena orders no steps, so values share less
// memory.
constexpr int64_t kRoom = int64_t{1} << 30;

constexpr int64_t kRows = 10000, kClasses = 96, kWidth = 24;
constexpr int64_t kIgnored = 7;

// The loss of logits x w^T + bias, and its gradients.
Graph Loss(Precision precision, Reduction reduction, std::optional<int64_t> ignored) {
  Graph graph("loss", {.precision = precision});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kRows, kWidth}), w = b.Input("w", F32, {kClasses, kWidth});
    Tensor bias = b.Input("bias", F32, {kClasses}), y = b.Input("y", I32, {kRows});
    Tensor logits = MatMul(x, w, {.transpose_b = true}) + bias;
    Tensor loss = SoftmaxCrossEntropy(logits, y, {.reduction = reduction, .ignore_label = ignored});
    b.Output("loss", loss);
    std::vector<Tensor> gradients = Gradients(reduction == Reduction::kNone ? Sum(loss) : loss, {x, w, bias});
    b.Output("dx", gradients[0]);
    b.Output("dw", gradients[1]);
    b.Output("dbias", gradients[2]);
  });
  return graph;
}

// Also works for a GPU that this machine lacks: its plans have memory too.
CompileOptions OptionsFor(Device device) {
  CompileOptions options;
  options.device = device;
  if (device.is_gpu() && NumGpus() == 0) options.gpu_architectures = {"sm_90"};
  return options;
}

CompileOptions Options(int64_t row_chunk_bytes) {
  CompileOptions options = OptionsFor(TestDevice());
  options.row_chunk_bytes = row_chunk_bytes;
  options.report = true;
  return options;
}

HostTensor Labels() {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < kRows; ++i) labels.push_back(static_cast<int32_t>(i * i % kClasses));
  return *HostTensor::FromVector<int32_t>({kRows}, labels);
}

struct Case {
  Precision precision;
  Reduction reduction;
  std::optional<int64_t> ignored;
  double tolerance;
};

class OnTestDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice().is_gpu() && NumGpus() == 0) GTEST_SKIP() << "this machine has 0 GPUs";
  }
};

class RowChunksTest : public OnTestDevice, public testing::WithParamInterface<Case> {};
class MemoryLimitTest : public OnTestDevice {};

TEST_P(RowChunksTest, GivesTheSameLossAndGradients) {
  const Case& c = GetParam();
  Graph graph = Loss(c.precision, c.reduction, c.ignored);
  const HostTensor x = Waves({kRows, kWidth}, 0.7), w = Waves({kClasses, kWidth}, 1.3);
  const HostTensor bias = Waves({kClasses}, 0.3), y = Labels();
  std::map<std::string, std::vector<float>> whole, chunked;
  for (bool in_chunks : {false, true}) {
    CompileReport report;
    auto plan = Compile(graph, Options(in_chunks ? 1 << 19 : 0), &report);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(absl::StrJoin(report.memory, "\n").find(" chunks of ") != std::string::npos, in_chunks);
    Session session = *Session::Create(*std::move(plan));
    auto outputs = session.Run("train", {{"x", x}, {"w", w}, {"bias", bias}, {"y", y}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const char* name : {"loss", "dx", "dw", "dbias"}) {
      (in_chunks ? chunked : whole)[name] = ToFloats((*outputs)[name]);
    }
  }
  for (const auto& [name, values] : whole) {
    ASSERT_EQ(values.size(), chunked[name].size());
    double largest = 0;
    for (float value : values) largest = std::max<double>(largest, std::abs(value));
    EXPECT_GT(largest, 0) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], chunked[name][i], c.tolerance * largest) << name << "[" << i << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RowChunksTest,
                         testing::Values(Case{Precision::kF32, Reduction::kMean, std::nullopt, 1e-5},
                                         Case{Precision::kF32, Reduction::kMean, kIgnored, 1e-5},
                                         Case{Precision::kF32, Reduction::kNone, kIgnored, 1e-5},
                                         Case{Precision::kBf16, Reduction::kMean, kIgnored, 2e-2}));

TEST_F(MemoryLimitTest, IsFurtherAwayWithRowChunks) {
  Graph graph = Loss(Precision::kF32, Reduction::kMean, std::nullopt);
  for (const Device device : {TestDevice(), Device::Gpu()}) {
    auto arena = [&](int64_t chunk_bytes) {
      CompileOptions options = OptionsFor(device);
      options.row_chunk_bytes = chunk_bytes;
      options.memory_limit = kRoom;
      auto plan = Compile(graph, options);
      SINTER_CHECK(plan.ok()) << plan.status();
      return plan->Function("train")->arena_bytes;
    };
    EXPECT_LT(arena(1 << 19), arena(0) * 6 / 10) << device.ToString();
  }
}

// Memory limits ---------------------------------------------------------------------------------------------

constexpr int64_t kBatch = 512, kHidden = 128;
constexpr int kLayers = 6;

// A chain of linear layers: a GELU's result can be recomputed from its operand.
Graph Chain() {
  Graph graph("chain", {.seed = 3});
  std::vector<nn::Module> layers;
  for (int i = 0; i < kLayers; ++i) layers.push_back(nn::Linear(kHidden).Named(absl::StrCat("layer", i)));
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kBatch, kHidden}), y = x;
    for (nn::Module& layer : layers) y = GeluTanh(layer(y));
    Tensor loss = Mean(Square(y - x));
    optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

CompileOptions Limited(int64_t bytes, Device device = TestDevice()) {
  CompileOptions options = OptionsFor(device);
  options.memory_limit = bytes;
  options.report = true;
  return options;
}

int64_t PlannedBytes(const Plan& plan) {
  int64_t bytes = plan.Function("train")->arena_bytes;
  for (const VariableInfo& variable : plan.Variables()) bytes += variable.bytes;
  return bytes;
}

std::vector<float> Losses(Session& session) {
  HostTensor x = Waves({kBatch, kHidden}, 0.1);
  std::vector<float> losses;
  for (int step = 0; step < 5; ++step) losses.push_back(Floats(session, "train", {{"x", x}}, "loss")[0]);
  return losses;
}

TEST_F(MemoryLimitTest, ComputesValuesAgainAndLearnsTheSame) {
  Graph graph = Chain();
  for (const Device device : {TestDevice(), Device::Gpu()}) {
    SCOPED_TRACE(device.ToString());
    Plan free = *Compile(graph, Limited(kRoom, device));
    const int64_t inputs = device.is_gpu() ? kBatch * kHidden * 4 : 0;
    const int64_t limit = PlannedBytes(free) + inputs - 2 * kBatch * kHidden * 4;
    CompileReport report;
    auto plan = Compile(graph, Limited(limit, device), &report);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_THAT(report.memory, testing::Contains(AllOf(
                                   HasSubstr("bounded_memory_test.cc:"),
                                   HasSubstr("again, 262144 bytes that are not kept, by moving 524288"))));
    EXPECT_LE(PlannedBytes(*plan) + inputs, limit);
    if (device != TestDevice()) continue;
    Session limited = *Session::Create(*std::move(plan)), unlimited = *Session::Create(std::move(free));
    EXPECT_THAT(Losses(limited), testing::Pointwise(testing::FloatNear(1e-6), Losses(unlimited)));
  }
}

TEST_F(MemoryLimitTest, ChangesNothingWhereThereIsRoom) {
  CompileReport report;
  auto plan = Compile(Chain(), Limited(int64_t{1} << 30), &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(report.memory, Each(Not(HasSubstr("again"))));
}

TEST_F(MemoryLimitTest, SaysTheLeastThatCanBeReached) {
  Graph graph = Chain();
  absl::Status status = Compile(graph, Limited(1000)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(message, AllOf(HasSubstr("function @train needs at least "),
                             HasSubstr("and the memory limit is 1000: raise CompileOptions::memory_limit"),
                             HasSubstr("bounded_memory_test.cc:"), HasSubstr(" bytes: f32[512,128]")));
  const std::string start = "needs at least ";
  int64_t least = 0;
  ASSERT_TRUE(absl::SimpleAtoi(message.substr(message.find(start) + start.size(),
                                              message.find(" bytes on") - message.find(start) - start.size()),
                               &least));
  EXPECT_TRUE(Compile(graph, Limited(least)).ok());
  EXPECT_FALSE(Compile(graph, Limited(least - 1)).ok());
}

TEST_F(MemoryLimitTest, RefusesNegativeBytes) {
  EXPECT_EQ(Compile(Chain(), Limited(-1)).status().message(),
            "CompileOptions::memory_limit is -1: give a number of bytes, or 0 for no limit");
  EXPECT_EQ(Compile(Chain(), Options(-2)).status().message(),
            "CompileOptions::row_chunk_bytes is -2: give a number of bytes, or 0 for no limit");
}

TEST_F(MemoryLimitTest, RefusesPlansThatReuseNoMemory) {
  CompileOptions options = Limited(1 << 30);
  options.reuse_memory = false;
  EXPECT_EQ(
      Compile(Chain(), options).status().message(),
      "CompileOptions::memory_limit cannot be kept where every value has bytes of its own: set reuse_memory");
}

// Two independent chains.
TEST_F(MemoryLimitTest, WithoutOneASmallArenaOfAGpuOrdersNoSteps) {
  Graph graph("chains");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {64, 64});
    for (const char* name : {"y", "z"}) {
      Tensor w = b.Input(absl::StrCat("w", name), F32, {64, 64});
      b.Output(name, MatMul(MatMul(x, w), w));
    }
  });
  const auto arena = [&](int64_t limit) {
    CompileOptions options{.device = Device::Gpu(), .gpu_architectures = {"sm_90"}, .memory_limit = limit};
    return Compile(graph, options)->Function("f")->arena_bytes;
  };
  EXPECT_EQ(arena(0), 4 * 64 * 64 * 4);
  EXPECT_EQ(arena(1 << 30), 3 * 64 * 64 * 4);
}

}  // namespace
}  // namespace sinter
