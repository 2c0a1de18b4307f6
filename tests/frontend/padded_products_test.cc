// Programs with matmuls of uneven sizes train alike with and without padded matmuls, and on CPUs nothing is
// padded.
//
// SINTER_TEST_DEVICE=gpu:0 runs the tests on this GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

class PaddedProductsTest : public DeviceTest, public testing::WithParamInterface<Precision> {
 protected:
  static CompileOptions Options(PadProducts pads, int64_t row_chunk_bytes = 0) {
    CompileOptions options = {.device = TestDevice(), .pad_products = pads};
    options.row_chunk_bytes = row_chunk_bytes;
    return options;
  }
};

constexpr int64_t kBatch = 3, kTime = 13, kWidth = 21, kSteps = 6;

// A small GPT over a vocabulary of `words`. Its heads of 7 are too narrow for a library's attention.
Graph SmallGpt(Precision precision, int64_t words) {
  Graph graph("gpt", {.seed = 3, .precision = precision});
  nn::Embedding embedding(words, kWidth);
  nn::Module net = nn::Sequential{
      nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(3, {.causal = true})},
      nn::Residual{nn::LayerNorm(), nn::Linear(4 * kWidth), nn::GeluTanh(), nn::Linear(kWidth)},
      nn::LayerNorm(), nn::Linear(words)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", I32, {kBatch, kTime}), y = b.Input("y", I32, {kBatch, kTime});
    Tensor loss = SoftmaxCrossEntropy(net(embedding(x)), y);
    optim::AdamW{.learning_rate = 1e-2}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  return graph;
}

HostTensor Words(int64_t words, int64_t first) {
  HostTensor tensor = *HostTensor::Zeros(DType::kI32, {kBatch, kTime});
  int64_t i = first;
  for (int32_t& x : *tensor.MutableSpan<int32_t>()) x = static_cast<int32_t>(i++ * 37 % words);
  return tensor;
}

std::vector<float> Losses(Precision precision, int64_t words, const CompileOptions& options) {
  Session session = MustStart(SmallGpt(precision, words), options);
  const HostTensor x = Words(words, 0), y = Words(words, 1);
  std::vector<float> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    losses.push_back(Floats(session, "train", {{"x", x}, {"y", y}}, "loss")[0]);
  }
  return losses;
}

TEST_P(PaddedProductsTest, TrainsAlike) {
  const std::vector<float> plain = Losses(GetParam(), 51, Options(PadProducts::kNever));
  const std::vector<float> padded = Losses(GetParam(), 51, Options(PadProducts::kAlways));
  EXPECT_THAT(padded, testing::Pointwise(testing::FloatNear(3e-2f), plain));
  EXPECT_LT(padded.back(), padded.front());
}

// Words enough that the head is computed in chunks of rows.
TEST_P(PaddedProductsTest, TrainsAlikeInChunks) {
  const std::vector<float> plain = Losses(GetParam(), 1237, Options(PadProducts::kNever, 20000));
  const std::vector<float> padded = Losses(GetParam(), 1237, Options(PadProducts::kAlways, 20000));
  EXPECT_THAT(padded, testing::Pointwise(testing::FloatNear(3e-2f), plain));
}

TEST_P(PaddedProductsTest, ChangesNoPlanForCpus) {
  CompileOptions options = Options(PadProducts::kNever), pads = Options(PadProducts::kAlways);
  options.device = pads.device = Device::Cpu();
  const Graph graph = SmallGpt(GetParam(), 51);
  absl::StatusOr<Plan> plain = Compile(graph, options), padded = Compile(graph, pads);
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ(plain->hash(), padded->hash());
}

INSTANTIATE_TEST_SUITE_P(Precisions, PaddedProductsTest, ::testing::Values(Precision::kBf16, Precision::kF16),
                         [](const auto& info) {
                           return std::string(info.param == Precision::kBf16 ? "bf16" : "f16");
                         });

}  // namespace
}  // namespace sinter
