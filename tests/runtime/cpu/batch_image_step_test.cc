// Checks that a step passes the right arguments to its kernel. tests/kernels checks the kernels.
#include "sinter/runtime/cpu/batch_image_step.h"
#include "sinter/runtime/plan/step_sizes.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "sinter/kernels/cpu/images/batch_conv.h"
#include "sinter/kernels/cpu/images/batch_pool.h"
#include "sinter/runtime/host/thread_pool.h"

namespace sinter {
namespace {

std::vector<float> Numbers(int64_t count) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>((i * 37 + 11) % 101 - 50) / 16;
  return numbers;
}

// A convolution in which no two parameters are equal: a 3x2 window over 32 images of 4 x 9 x 8, to 6 x 4 x 4.
class ConvTable {
 public:
  ConvTable(fb::ConvKind kind, fb::Activation activation, bool has_bias) {
    auto list = [&](const std::vector<int64_t>& v) { return builder_.CreateVector(v); };
    auto in = list({9, 8}), out = list({4, 4}), kernel = list({3, 2}), strides = list({2, 2}),
         padding = list({1, 1, 2, 0}), dilations = list({2, 3});
    builder_.Finish(fb::CreateConvStep(builder_, kind, fb::ImageLayout::Nchw16n, fb::DType::F32, 32, 4, 6, in,
                                       out, kernel, strides, padding, dilations, 2, activation, has_bias));
  }
  const fb::ConvStep& operator*() const {
    return *flatbuffers::GetRoot<fb::ConvStep>(builder_.GetBufferPointer());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

const kernels::BatchConv kConv = {{.batch = 32,
                                   .in_channels = 4,
                                   .out_channels = 6,
                                   .groups = 2,
                                   .in_h = 9,
                                   .in_w = 8,
                                   .out_h = 4,
                                   .out_w = 4,
                                   .kernel_h = 3,
                                   .kernel_w = 2,
                                   .stride_h = 2,
                                   .stride_w = 2,
                                   .pad_top = 1,
                                   .pad_left = 2,
                                   .dilation_h = 2,
                                   .dilation_w = 3}};
constexpr int64_t kX = 32 * 4 * 9 * 8, kY = 32 * 6 * 4 * 4, kW = 6 * 2 * 3 * 2;

void RunStep(const ConvTable& table, const std::vector<std::vector<float>*>& operands) {
  ThreadPool pool(3);
  std::unique_ptr<Step> step = MakeBatchConvStep(*table, {.pool = &pool});
  std::vector<void*> buffers;
  for (std::vector<float>* operand : operands) buffers.push_back(operand->data());
  std::vector<std::byte> workspace(BatchConvWorkspaceBytes(*table));
  ASSERT_TRUE(step->Run({buffers.data(), workspace.data(), nullptr, nullptr}).ok());
}

TEST(BatchImageStepTest, Forward) {
  std::vector<float> x = Numbers(kX), w = Numbers(kW), bias = Numbers(6), y(kY), want(kY);
  for (bool relu : {false, true}) {
    const fb::Activation activation = relu ? fb::Activation::Relu : fb::Activation::None;
    RunStep(ConvTable(fb::ConvKind::Forward, activation, true), {&x, &w, &bias, &y});
    BatchConvForward(kConv, x.data(), w.data(), bias.data(), relu, want.data(), 0,
                     BatchConvForwardUnits(kConv));
    EXPECT_EQ(y, want);
    RunStep(ConvTable(fb::ConvKind::Forward, activation, false), {&x, &w, &y});
    BatchConvForward(kConv, x.data(), w.data(), nullptr, relu, want.data(), 0, BatchConvForwardUnits(kConv));
    EXPECT_EQ(y, want);
  }
}

TEST(BatchImageStepTest, Gradients) {
  std::vector<float> x = Numbers(kX), w = Numbers(kW), g = Numbers(kY), dx(kX), dw(kW), want_dx(kX),
                     want_dw(kW);
  RunStep(ConvTable(fb::ConvKind::InputGrad, fb::Activation::None, false), {&g, &w, &dx});
  BatchConvInputGrad(kConv, g.data(), w.data(), want_dx.data(), 0, BatchConvInputGradUnits(kConv));
  EXPECT_EQ(dx, want_dx);
  const ConvTable table(fb::ConvKind::WeightGrad, fb::Activation::None, false);
  EXPECT_EQ(BatchConvWorkspaceBytes(*table), kernels::BatchConvWeightGradWorkspaceBytes(kConv));
  RunStep(table, {&x, &g, &dw});
  std::vector<float> sums(kernels::BatchConvWeightGradWorkspaceBytes(kConv) / sizeof(float));
  BatchConvWeightGrad(kConv, x.data(), g.data(), sums.data(), 0, BatchConvWeightGradUnits(kConv));
  BatchConvAddWeightGrads(kConv, sums.data(), want_dw.data(), 0, BatchConvWeightGradElements(kConv));
  EXPECT_EQ(dw, want_dw);
}

TEST(BatchImageStepTest, Pools) {
  const kernels::BatchPool geometry = {.blocks = 2,
                                       .channels = 3,
                                       .in_h = 5,
                                       .in_w = 6,
                                       .out_h = 2,
                                       .out_w = 6,
                                       .window_h = 3,
                                       .window_w = 2,
                                       .stride_h = 2,
                                       .stride_w = 1,
                                       .pad_top = 0,
                                       .pad_left = 1};
  constexpr int64_t kIn = 32 * 3 * 5 * 6, kOut = 32 * 3 * 2 * 6, kUnits = 6;
  std::vector<float> x = Numbers(kIn), g = Numbers(kOut), y(kOut), want_y(kOut), dx(kIn), want_dx(kIn);
  std::vector<uint8_t> position(kOut), want_position(kOut);
  ThreadPool pool(3);
  auto run = [&](fb::PoolKind kind, std::vector<void*> buffers) {
    flatbuffers::FlatBufferBuilder builder;
    auto list = [&](const std::vector<int64_t>& v) { return builder.CreateVector(v); };
    auto in = list({5, 6}), out = list({2, 6}), window = list({3, 2}), strides = list({2, 1}),
         padding = list({0, 0, 1, 0});
    builder.Finish(fb::CreatePoolStep(builder, kind, fb::ImageLayout::Nchw16n, fb::DType::F32, 32, 3, in, out,
                                      window, strides, padding));
    auto step =
        MakeBatchPoolStep(*flatbuffers::GetRoot<fb::PoolStep>(builder.GetBufferPointer()), {.pool = &pool});
    ASSERT_TRUE(step->Run({buffers.data(), nullptr, nullptr, nullptr}).ok());
  };
  run(fb::PoolKind::Max, {x.data(), y.data(), position.data()});
  BatchMaxPool(geometry, x.data(), want_y.data(), want_position.data(), 0, kUnits);
  EXPECT_EQ(y, want_y);
  EXPECT_EQ(position, want_position);
  run(fb::PoolKind::MaxGrad, {g.data(), position.data(), dx.data()});
  BatchMaxPoolGrad(geometry, g.data(), want_position.data(), want_dx.data(), 0, kUnits);
  EXPECT_EQ(dx, want_dx);
  run(fb::PoolKind::Avg, {x.data(), y.data()});
  BatchAvgPool(geometry, x.data(), want_y.data(), 0, kUnits);
  EXPECT_EQ(y, want_y);
  run(fb::PoolKind::AvgGrad, {g.data(), dx.data()});
  BatchAvgPoolGrad(geometry, g.data(), want_dx.data(), 0, kUnits);
  EXPECT_EQ(dx, want_dx);
}

}  // namespace
}  // namespace sinter
