#include "sinter/runtime/cuda/cudnn/conv_tuning.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::SizeIs;

fb::ConvStepT Conv(int64_t kernel, int64_t stride) {
  fb::ConvStepT s;
  s.batch = 32, s.in_channels = 64, s.out_channels = 128, s.groups = 1;
  s.in_size = {28, 28}, s.out_size = {28 / stride, 28 / stride};
  s.kernel = {kernel, kernel}, s.strides = {stride, stride}, s.dilations = {1, 1};
  const int64_t around = kernel / 2;
  s.padding = {around, around, around, around};
  s.dtype = fb::DType::BF16, s.layout = fb::ImageLayout::Nhwc;
  return s;
}

ConvShape ShapeOf(const fb::ConvStepT& step) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::ConvStep::Pack(builder, &step));
  return ConvShapeOf(*flatbuffers::GetRoot<fb::ConvStep>(builder.GetBufferPointer()));
}

TEST(ConvolutionKeyTest, SaysAllThatAChoiceDependsOn) {
  const CudaDeviceInfo device = {.name = "NVIDIA H200", .major = 9, .minor = 0, .multiprocessors = 132};
  const TuningKey key = ConvolutionKeyOf(device, 91900, ShapeOf(Conv(3, 2)), {.bias = true, .relu = true});
  EXPECT_EQ(key.device, "NVIDIA H200, sm_90, 132 multiprocessors");
  EXPECT_EQ(key.library, "cuDNN 91900");
  EXPECT_EQ(
      key.problem,
      "convolution Forward bf16 Ieee nhwc [32,64,28,28] by [128,64,3,3], strides 2,2, dilations 1,1, padding "
      "1,1 and 1,1, bias, relu");
}

// 1x1 weights are the same in both layouts, so they take the layout of the images.
TEST(ConvShapeTest, WeightsOfOnePixelAreChannelsLastBesideSuchImages) {
  const CudnnTensor one = ShapeOf(Conv(1, 1)).weights, nine = ShapeOf(Conv(3, 1)).weights;
  EXPECT_EQ(one, PackedTensor({128, 64, 1, 1}, /*channels_last=*/true));
  EXPECT_EQ(nine, PackedTensor({128, 64, 3, 3}, /*channels_last=*/false));
}

class ConvTuningTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0)});
    TestFunction f(plan, "f");
    const uint32_t x = f.Input("x", DType::kBf16, {32, 28, 28, 64});
    const uint32_t w = f.Input("w", DType::kBf16, {128, 64, 3, 3});
    const uint32_t y = f.Arena(DType::kBf16, {32, 28, 28, 128});
    f.Conv(Conv(3, 1), {x, w}, {y});
    f.Output("y", y);
    path_ = folder_.File("m.plan");
    ASSERT_TRUE(plan.Make()->Save(path_).ok());
  }

  Session Make(const TuningOptions& tuning) {
    return Session::Create(Plan::Load(path_).value(), {.tuning = tuning}).value();
  }

  ScratchFolder folder_;
  std::string path_;
};

TEST_F(ConvTuningTest, EnginesAreMeasuredWhereTheFileKeepsThemAndFoundThere) {
  for (const TuningOptions& options :
       {TuningOptions{.save = true, .mode = TuningMode::kSameBits}, TuningOptions{}}) {
    EXPECT_EQ(Make(options).tuning().Count(ChoiceSource::kFirstChoice), 1);
    EXPECT_TRUE(absl::IsNotFound(LoadTuning(path_ + ".tuning").status()));
  }
  for (const TuningMode saved : {TuningMode::kSavedEngines, TuningMode::kAnyBits}) {
    const Session measured = Make({.save = true, .again = true, .mode = saved});
    EXPECT_TRUE(measured.tuning().status.ok()) << measured.tuning().status;
    EXPECT_EQ(measured.tuning().Count(ChoiceSource::kMeasured), 1);
    EXPECT_THAT(LoadTuning(path_ + ".tuning").value(), SizeIs(1));
    for (const TuningMode mode : {TuningMode::kSameBits, TuningMode::kSavedEngines, TuningMode::kAnyBits}) {
      EXPECT_EQ(Make({.mode = mode}).tuning().Count(ChoiceSource::kFile), 1);
    }
  }
}

TEST_F(ConvTuningTest, AnEngineThatCudnnDoesNotNameIsReported) {
  const Session measured = Make({.save = true, .again = true, .mode = TuningMode::kAnyBits});
  TuningTable table = LoadTuning(path_ + ".tuning").value();
  ASSERT_THAT(table, SizeIs(1));
  table.begin()->second.algorithm.id = 12345;
  ASSERT_TRUE(SaveTuning(path_ + ".tuning", table).ok());
  const Session session = Make({.mode = TuningMode::kSameBits});
  EXPECT_TRUE(absl::IsFailedPrecondition(session.tuning().status)) << session.tuning().status;
  EXPECT_EQ(session.tuning().Count(ChoiceSource::kFirstChoice), 1);
}

}  // namespace
}  // namespace sinter
