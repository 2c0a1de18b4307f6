// Training steps of small networks with the structure of large ones, compiled for a GPU. The emulator
// (emulated_calls.h) runs every call for which Sinter has a kernel and compares it with the reference: in
// f32, and with the precision policies bf16 and f16.
#include <gtest/gtest.h>

#include <iostream>

#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/examples/resnet.h"
#include "sinter/frontend/sinter.h"
#include "sinter/tests/numerics/emulated_calls.h"

namespace sinter::numerics {
namespace {

class EmulatedTrainingTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (!codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  // Returns a graph with one function "train" that minimizes the loss from `build`.
  static Graph Training(Precision precision, const std::function<Tensor(Builder&)>& build) {
    Graph graph("g", {.seed = 7, .precision = precision});
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor loss = build(b);
      std::optional<optim::LossScale> scale;
      if (precision == Precision::kF16) scale.emplace();
      optim::AdamW{.learning_rate = b.Scalar("rate"), .weight_decay = 0.1}.Minimize(
          loss, {.hooks = {optim::ClipNorm(1)}, .loss_scale = scale});
      b.Output("loss", loss);
    });
    return graph;
  }

  static void Judge(const Graph& graph, int least, const CompileOptions& options = {}) {
    EmulatedCalls calls;
    EmulatedCalls::Program program{{}, OpClass::kGraph, "a training step", /*draws_inputs=*/true};
    absl::Status status = calls.AddPrograms(graph.ToString(), {{"train", program}}, options);
    ASSERT_TRUE(status.ok()) << status;
    for (const std::string& wrong : calls.Judge()) ADD_FAILURE() << wrong;
    EXPECT_GE(calls.fused_calls(), least);
    std::cout << calls.fused_calls() << " fused calls, " << calls.catalogue_calls() << " of the catalogue, "
              << calls.launches() << " launches\n";
  }
};

TEST_P(EmulatedTrainingTest, Transformer) {
  constexpr int64_t kBatch = 2, kTime = 12, kWidth = 24, kWords = 50;
  nn::Embedding words(kWords, kWidth);
  nn::Module net = nn::Sequential{
      nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(3, {.causal = true})},
      nn::Residual{nn::LayerNorm(), nn::Linear(4 * kWidth), nn::GeluTanh(), nn::Linear(kWidth)},
      nn::Residual{nn::RmsNorm(), nn::Linear(kWidth), nn::Silu(), nn::Dropout(0.1)}, nn::LayerNorm(),
      nn::Linear(kWords)};
  Judge(Training(GetParam(),
                 [&](Builder& b) {
                   Tensor x = b.Input("x", I32, {kBatch, kTime}), y = b.Input("y", I32, {kBatch, kTime});
                   return SoftmaxCrossEntropy(net(words(x)), y);
                 }),
        8);
}

// Heads of 7 are too narrow for the library's attention, so its products are here too, over 13 positions.
TEST_P(EmulatedTrainingTest, PaddedProducts) {
  constexpr int64_t kBatch = 2, kTime = 13, kWidth = 21, kWords = 51;
  nn::Embedding words(kWords, kWidth);
  nn::Module net = nn::Sequential{
      nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(3, {.causal = true})},
      nn::Residual{nn::LayerNorm(), nn::Linear(4 * kWidth), nn::GeluTanh(), nn::Linear(kWidth)},
      nn::Residual{nn::RmsNorm(), nn::Linear(kWidth), nn::Sigmoid(), nn::Linear(kWidth)}, nn::LayerNorm(),
      nn::Linear(kWords)};
  Judge(Training(GetParam(),
                 [&](Builder& b) {
                   Tensor x = b.Input("x", I32, {kBatch, kTime}), y = b.Input("y", I32, {kBatch, kTime});
                   return SoftmaxCrossEntropy(net(words(x)), y);
                 }),
        8, {.pad_products = PadProducts::kAlways});
}

TEST_P(EmulatedTrainingTest, ResNet) {
  auto net = examples::ResNet({.layers = 14, .width = 4, .classes = 10});
  ASSERT_TRUE(net.ok()) << net.status();
  Judge(Training(GetParam(),
                 [&](Builder& b) {
                   Tensor x = b.Input("x", F32, {3, 32, 32, 3}), y = b.Input("y", I32, {3});
                   return SoftmaxCrossEntropy((*net)(Transpose(x, {0, 3, 1, 2})), y);
                 }),
        20);
}

TEST_P(EmulatedTrainingTest, LeNet) {
  nn::Module net = nn::Sequential{nn::Conv2d(6, 5), nn::BatchNorm(), nn::Relu(),     nn::MaxPool(2),
                                  nn::Conv2d(8, 5), nn::Elu(),       nn::AvgPool(2), nn::Flatten(),
                                  nn::Linear(32),   nn::Softplus(),  nn::Linear(10)};
  Judge(Training(GetParam(),
                 [&](Builder& b) {
                   Tensor x = b.Input("x", F32, {6, 1, 28, 28}), y = b.Input("y", I32, {6});
                   return SoftmaxCrossEntropy(net(x), y);
                 }),
        8);
}

// The images are large enough to cut sums into chunks, after which the masked gradients are computed again.
TEST_P(EmulatedTrainingTest, BatchNormsInChunks) {
  nn::Module net = nn::Sequential{nn::Conv2d(32, 1), nn::BatchNorm(),     nn::Relu(),    nn::Conv2d(32, 1),
                                  nn::BatchNorm(),   nn::GlobalAvgPool(), nn::Linear(10)};
  Judge(Training(GetParam(),
                 [&](Builder& b) {
                   Tensor x = b.Input("x", F32, {16, 8, 16, 16}), y = b.Input("y", I32, {16});
                   return SoftmaxCrossEntropy(net(x), y);
                 }),
        8);
}

INSTANTIATE_TEST_SUITE_P(Precisions, EmulatedTrainingTest,
                         ::testing::Values(Precision::kF32, Precision::kBf16, Precision::kF16),
                         [](const auto& info) {
                           return std::string(info.param == Precision::kF32    ? "f32"
                                              : info.param == Precision::kBf16 ? "bf16"
                                                                               : "f16");
                         });

}  // namespace
}  // namespace sinter::numerics
