// bf16 and f16 policies: training results, values that stay in f32, and the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "sinter/frontend/data/digits.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A path in the scratch folder; the caller overwrites the file.
std::string ScratchFile(const std::string& name) { return testing::TempDir() + "/precision_" + name; }

constexpr int64_t kBatch = 32;
constexpr int kSteps = 50;

// Digits as images in [0, 1], with their labels.
struct Digits {
  HostTensor images, labels;
};

Digits DrawBatch() {
  ImageSet set = *DrawDigits(kBatch, /*seed=*/3);
  std::vector<float> images;
  std::vector<int32_t> labels;
  const auto pixels = *set.images.Span<uint8_t>(), classes = *set.labels.Span<uint8_t>();
  for (uint8_t pixel : pixels) images.push_back(static_cast<float>(pixel) / 255.0f);
  for (uint8_t label : classes) labels.push_back(label);
  return {*HostTensor::FromVector<float>({kBatch, 1, 28, 28}, images),
          *HostTensor::FromVector<int32_t>({kBatch}, labels)};
}

// Trains the net with Adam on one batch, under a policy.
Graph Training(nn::Module net, Precision precision) {
  Graph graph("g", {.seed = 7, .precision = precision});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kBatch, 1, 28, 28}), y = b.Input("y", I32, {kBatch});
    Tensor loss = SoftmaxCrossEntropy(net(x), y);
    std::optional<optim::LossScale> scale;
    if (precision == Precision::kF16) scale.emplace();
    optim::Adam{.learning_rate = 0.001}.Minimize(loss, {.loss_scale = scale});
    b.Output("loss", loss);
  });
  return graph;
}

std::vector<double> Losses(const std::function<nn::Module()>& net, Precision precision) {
  static const Digits digits = DrawBatch();
  Session session = MustStart(Training(net(), precision));
  std::vector<double> losses;
  for (int i = 0; i < kSteps; ++i) {
    auto outputs = session.Run("train", {{"x", digits.images}, {"y", digits.labels}});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    losses.push_back(*outputs->Scalar("loss"));
  }
  return losses;
}

// Under the policy, losses stay near those of f32, and fall as they do.
void ExpectLearnsAsF32(const std::function<nn::Module()>& net, Precision precision) {
  std::vector<double> exact = Losses(net, Precision::kF32), narrow = Losses(net, precision);
  EXPECT_NE(exact, narrow);
  EXPECT_LT(exact.back(), 0.25 * exact.front());
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(narrow[i], exact[i], 0.03 * exact.front()) << "step " << i;
  }
}

nn::Module Mlp() {
  return nn::Sequential{nn::Flatten(),  nn::Linear(64), nn::Relu(),    nn::LayerNorm(),
                        nn::Linear(64), nn::GeluTanh(), nn::Linear(10)};
}

nn::Module LeNet() {
  return nn::Sequential{nn::Conv2d(6, 5), nn::BatchNorm(), nn::Relu(),     nn::MaxPool(2),
                        nn::Conv2d(8, 5), nn::Relu(),      nn::AvgPool(2), nn::Flatten(),
                        nn::Linear(32),   nn::Relu(),      nn::Linear(10)};
}

TEST(PrecisionTest, PerceptronLearnsInBf16AsInF32) { ExpectLearnsAsF32(Mlp, Precision::kBf16); }
TEST(PrecisionTest, LeNetLearnsInBf16AsInF32) { ExpectLearnsAsF32(LeNet, Precision::kBf16); }
TEST(PrecisionTest, PerceptronLearnsInF16AsInF32) { ExpectLearnsAsF32(Mlp, Precision::kF16); }
TEST(PrecisionTest, LeNetLearnsInF16AsInF32) { ExpectLearnsAsF32(LeNet, Precision::kF16); }

TEST(PrecisionTest, DropoutAndEmbeddingsRunUnderThePolicy) {
  Graph graph("g", {.precision = Precision::kBf16});
  nn::Module net = nn::Sequential{nn::Embedding(16, 8), nn::Linear(8), nn::Dropout(0.5),
                                  nn::Softplus(),       nn::RmsNorm(), nn::Linear(1)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = Mean(Square(net(b.Input("ids", I32, {kBatch}))));
    optim::Momentum{.learning_rate = 0.05}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  Session session = MustStart(graph);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < kBatch; ++i) ids.push_back(i % 16);
  HostTensor tensor = *HostTensor::FromVector<int32_t>({kBatch}, ids);
  double first = Floats(session, "train", {{"ids", tensor}}, "loss")[0], last = first;
  for (int i = 0; i < kSteps; ++i) last = Floats(session, "train", {{"ids", tensor}}, "loss")[0];
  EXPECT_LT(last, 0.5 * first);
}

TEST(PrecisionTest, GradientsOutputsAndVariablesAreOfF32) {
  Graph graph("g", {.precision = Precision::kBf16});
  Variable w = graph.Variable("w", F32, {2, 2}, {.init = {.a = 1}});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 2}), y = MatMul(MatMul(x, b.Read(w)), b.Read(w));
    std::vector<Tensor> gradients = Gradients(Sum(y), {b.Read(w), x});
    EXPECT_EQ(gradients[0].dtype(), F32);
    b.Output("y", y);
    b.Output("dw", gradients[0]);
    b.Output("dx", gradients[1]);
    b.Assign(w, b.Read(w) - gradients[0] * 0.125);
  });
  Session session = MustStart(graph);
  // 257 becomes 256 in bf16, in x and in the gradient; all other values are exact.
  HostTensor x = *HostTensor::FromVector<float>({2, 2}, {257, 0, 0, 1});
  auto outputs = session.Run("f", {{"x", x}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ToFloats((*outputs)["y"]), ::testing::ElementsAre(512, 512, 2, 2));
  EXPECT_THAT(ToFloats((*outputs)["dx"]), ::testing::Each(4));
  EXPECT_THAT(ToFloats((*outputs)["dw"]), ::testing::ElementsAre(768, 768, 258, 258));
  ASSERT_TRUE(SaveCheckpoint(session, ScratchFile("w.safetensors")).ok());
  SafetensorsFile file = *SafetensorsFile::Open(ScratchFile("w.safetensors"));
  for (const SafetensorsEntry& entry : file.entries()) EXPECT_EQ(entry.dtype, F32) << entry.name;
}

// The program sees only f32 variables. They train to the same bits with and without kept casts.
TEST(PrecisionTest, KeptCastsChangeNoBits) {
  static const Digits digits = DrawBatch();
  const auto steps_of = [](Session& session, int steps) {
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) {
      losses.push_back(Floats(session, "train", {{"x", digits.images}, {"y", digits.labels}}, "loss")[0]);
    }
    return losses;
  };
  for (const Precision precision : {Precision::kBf16, Precision::kF16}) {
    for (const auto& net : {Mlp, LeNet}) {
      const Graph graph = Training(net(), precision);
      Session kept = MustStart(graph), cast = MustStart(graph, {.keep_casts = false});
      EXPECT_GT(kept.memory().variables, cast.memory().variables);
      ASSERT_EQ(kept.variables().size(), cast.variables().size());
      EXPECT_EQ(steps_of(kept, 10), steps_of(cast, 10));
      ASSERT_TRUE(SaveCheckpoint(cast, ScratchFile("kept.safetensors")).ok());
      Session other = MustStart(graph);
      ASSERT_TRUE(LoadCheckpoint(other, ScratchFile("kept.safetensors")).ok());
      const std::vector<float> next = steps_of(kept, 3);
      EXPECT_EQ(next, steps_of(cast, 3));
      EXPECT_EQ(next, steps_of(other, 3));
      for (const VariableInfo& variable : kept.variables()) {
        const HostTensor a = *kept.ReadVariable(variable.name), b = *cast.ReadVariable(variable.name);
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.num_bytes())), 0) << variable.name;
      }
    }
  }
}

// Each device has its own low-precision replicas.
TEST(PrecisionTest, KeptCastsChangeNoBitsOnTwoDevices) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  const Digits digits = DrawBatch();
  const Graph graph = Training(Mlp(), Precision::kBf16);
  const DataParallel parallel = {.devices = {Device::Cpu(0), Device::Cpu(1)}};
  Session kept = MustStart(graph, {.data_parallel = parallel});
  Session cast = MustStart(graph, {.data_parallel = parallel, .keep_casts = false});
  for (int d : {0, 1}) {
    EXPECT_GT(kept.memory(Device::Cpu(d)).variables, cast.memory(Device::Cpu(d)).variables) << "on cpu:" << d;
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Floats(kept, "train", {{"x", digits.images}, {"y", digits.labels}}, "loss"),
              Floats(cast, "train", {{"x", digits.images}, {"y", digits.labels}}, "loss"));
  }
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(PrecisionTest, KeptCastsLeaveNoneToARun) {
  Graph graph("g", {.precision = Precision::kBf16});
  Variable w = graph.Variable("w", F32, {4, 4}, {.init = {.a = 1}});
  graph.Function("f", Mode::kTrain,
                 [&](Builder& b) { b.Output("y", MatMul(b.Input("x", F32, {2, 4}), b.Read(w))); });
  // The cast of x, the matmul, and the cast of its result. Without kept casts or with a memory limit, also
  // the cast of w.
  EXPECT_EQ(Compile(graph)->Functions()[0].steps, 3);
  EXPECT_EQ(Compile(graph, {.keep_casts = false})->Functions()[0].steps, 4);
  EXPECT_EQ(Compile(graph, {.memory_limit = int64_t{1} << 20})->Functions()[0].steps, 4);
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<float>({2, 4}, std::vector<float>(8, 1));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "y"), ::testing::Each(4));
  ASSERT_TRUE(
      session.WriteVariable("w", *HostTensor::FromVector<float>({4, 4}, std::vector<float>(16, 257))).ok());
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "y"), ::testing::Each(1024));
}

TEST(PrecisionTest, CheckpointsOfATrainingHoldNoNarrowTensor) {
  Session session = MustStart(Training(LeNet(), Precision::kBf16));
  ASSERT_TRUE(SaveCheckpoint(session, ScratchFile("c.safetensors")).ok());
  std::set<DType> dtypes;
  SafetensorsFile file = *SafetensorsFile::Open(ScratchFile("c.safetensors"));
  for (const SafetensorsEntry& entry : file.entries()) dtypes.insert(entry.dtype);
  EXPECT_THAT(dtypes, ::testing::ElementsAre(F32, I64));
}

TEST(PrecisionTest, F32ChangesNothing) {
  Graph plain("g"), asked("g", {.precision = Precision::kF32});
  for (Graph* graph : {&plain, &asked}) {
    graph->Function("f", Mode::kTrain, [](Builder& b) {
      Tensor x = b.Input("x", F32, {4, 4});
      b.Output("y", MatMul(x, Relu(x)));
    });
  }
  EXPECT_EQ(Compile(plain)->hash(), Compile(asked)->hash());
}

TEST(PrecisionTest, TheReportListsEveryCast) {
  Graph graph("g", {.precision = Precision::kBf16});
  Variable w = graph.Variable("w", F32, {4, 4}, {.init = {.a = 1}});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 4});
    b.Output("y", MatMul(x, b.Read(w)));
    b.Output("z", MatMul(x, b.Read(w), {.math = MathMode::kTf32}));
  });
  CompileReport report;
  ASSERT_TRUE(Compile(graph, {.report = true}, &report).ok());
  EXPECT_THAT(report.casts,
              ::testing::UnorderedElementsAre(
                  AllOf(HasSubstr("precision_test.cc:"), HasSubstr("casts variable \"w\""),
                        HasSubstr("64 bytes, to 'bf16' for 'sinter.matmul', a contraction")),
                  AllOf(HasSubstr("precision_test.cc:"), HasSubstr("casts input \"x\"")),
                  AllOf(HasSubstr("precision_test.cc:"), HasSubstr("to 'f32' for the function's result")),
                  AllOf(HasSubstr("precision_test.cc:"),
                        HasSubstr("stays in f32: the program asks for its math mode tf32")),
                  AllOf(HasSubstr("precision_test.cc:"),
                        HasSubstr("keeps variable \"w\" in bf16 as well, 32 bytes"))));
  EXPECT_THAT(report.ToString(), HasSubstr("casts variable \"w\""));
}

}  // namespace
}  // namespace sinter
