#include <tuple>

#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"
#include "sinter/tests/runtime/image_steps_reference.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

fb::ConvStepT Conv(int64_t batch, int64_t in, int64_t out, int64_t groups, std::vector<int64_t> in_size,
                   std::vector<int64_t> kernel, std::vector<int64_t> strides, std::vector<int64_t> padding,
                   std::vector<int64_t> dilations) {
  fb::ConvStepT s;
  s.batch = batch, s.in_channels = in, s.out_channels = out, s.groups = groups, s.in_size = in_size,
  s.kernel = kernel;
  s.strides = strides, s.padding = padding, s.dilations = dilations, s.dtype = fb::DType::F32;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t extent = (kernel[d] - 1) * dilations[d] + 1;
    s.out_size.push_back((in_size[d] + padding[2 * d] + padding[2 * d + 1] - extent) / strides[d] + 1);
  }
  return s;
}

std::vector<fb::ConvStepT> Shapes() {
  return {Conv(2, 1, 20, 1, {12, 12}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}),
          Conv(3, 20, 17, 1, {9, 7}, {5, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}),
          Conv(2, 3, 5, 1, {11, 10}, {3, 2}, {2, 3}, {1, 0, 2, 1}, {1, 1}),
          Conv(2, 6, 4, 2, {8, 9}, {3, 3}, {1, 2}, {1, 1, 1, 1}, {2, 1}),
          Conv(2, 8, 8, 8, {7, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}),
          Conv(1, 16, 32, 1, {6, 6}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}),
          Conv(1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}),
          Conv(4, 64, 64, 1, {14, 14}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}),
          Conv(2, 3, 16, 1, {32, 32}, {7, 7}, {2, 2}, {3, 3, 3, 3}, {1, 1}),
          Conv(2, 32, 64, 4, {10, 10}, {3, 3}, {2, 2}, {0, 1, 0, 1}, {1, 1})};
}

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// The tensors of a convolution, with values rounded to their type.
struct Operands {
  explicit Operands(const fb::ConvStepT& s)
      : dtype(static_cast<DType>(s.dtype)),
        x_shape(ImageShape(s, s.in_channels, s.in_size)),
        y_shape(ImageShape(s, s.out_channels, s.out_size)),
        w_shape({s.out_channels, s.in_channels / s.groups, s.kernel[0], s.kernel[1]}),
        x(MakeTensor(dtype, x_shape, FullValues(Count(x_shape), 1))),
        y(MakeTensor(dtype, y_shape, FullValues(Count(y_shape), 2))),
        w(MakeTensor(dtype, w_shape, FullValues(Count(w_shape), 3))),
        bias(MakeTensor(dtype, {s.out_channels}, FullValues(s.out_channels, 4))) {}

  static std::vector<int64_t> ImageShape(const fb::ConvStepT& s, int64_t channels,
                                         const std::vector<int64_t>& size) {
    if (s.layout == fb::ImageLayout::Nhwc) return {s.batch, size[0], size[1], channels};
    return {s.batch, channels, size[0], size[1]};
  }

  DType dtype;
  std::vector<int64_t> x_shape, y_shape, w_shape;
  HostTensor x, y, w, bias;
};

class ConvTest : public GpuTest {
 protected:
  std::string Describe(const fb::ConvStepT& s) {
    return std::string(fb::EnumNameConvKind(s.kind)) + " " + fb::EnumNameDType(s.dtype) + " " +
           fb::EnumNameMathMode(s.math) + " " + fb::EnumNameImageLayout(s.layout) + " " +
           std::to_string(s.batch) + "x" + std::to_string(s.in_channels) + "x" +
           std::to_string(s.in_size[0]) + "x" + std::to_string(s.in_size[1]) + " by " +
           std::to_string(s.out_channels) + "x" + std::to_string(s.kernel[0]) + "x" +
           std::to_string(s.kernel[1]) + " groups " + std::to_string(s.groups);
  }

  void CheckForward(fb::ConvStepT s, bool has_bias, bool has_relu) {
    s.has_bias = has_bias;
    s.activation = has_relu ? fb::Activation::Relu : fb::Activation::None;
    const Operands o(s);
    const std::vector<double> x = ToDoubles(o.x), w = ToDoubles(o.w), bias = ToDoubles(o.bias);
    std::vector<Sum> want(static_cast<size_t>(Count(o.y_shape)));
    ForConvProducts(s, [&](size_t i, size_t j, size_t k) { want[j].Add(x[i] * w[k]); });
    const ImageIndex index{s.layout == fb::ImageLayout::Nhwc, s.out_channels, s.out_size[0], s.out_size[1]};
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t c = 0; c < s.out_channels; ++c)
        for (int64_t i = 0; i < s.out_size[0]; ++i)
          for (int64_t j = 0; j < s.out_size[1]; ++j) {
            Sum& sum = want[index(n, c, i, j)];
            if (has_bias) sum.Add(bias[static_cast<size_t>(c)]);
            if (has_relu) sum.value = std::max(0.0, sum.value);
          }
    std::vector<const HostTensor*> inputs = {&o.x, &o.w};
    if (has_bias) inputs.push_back(&o.bias);
    Expect(s, RunOnGpu(MakeStepPlan(s, has_bias ? 3 : 2), inputs, {o.dtype, o.y_shape}), want);
  }

  void CheckGradients(fb::ConvStepT s) {
    const Operands o(s);
    const std::vector<double> x = ToDoubles(o.x), y = ToDoubles(o.y), w = ToDoubles(o.w);
    std::vector<Sum> dx(x.size()), dw(w.size());
    ForConvProducts(s, [&](size_t i, size_t j, size_t k) {
      dx[i].Add(y[j] * w[k]);
      dw[k].Add(x[i] * y[j]);
    });
    s.kind = fb::ConvKind::InputGrad;
    Expect(s, RunOnGpu(MakeStepPlan(s, 2), {&o.y, &o.w}, {o.dtype, o.x_shape}), dx);
    s.kind = fb::ConvKind::WeightGrad;
    Expect(s, RunOnGpu(MakeStepPlan(s, 2), {&o.x, &o.y}, {o.dtype, o.w_shape}), dw);
  }

  void Expect(const fb::ConvStepT& s, const std::vector<double>& got, const std::vector<Sum>& want) {
    ExpectSums(got, want, ToleranceOfSums(static_cast<DType>(s.dtype), s.math == fb::MathMode::Tf32),
               Describe(s));
  }
};

using Case = std::tuple<DType, fb::MathMode, fb::ImageLayout>;
class ConvTypesTest : public ConvTest, public ::testing::WithParamInterface<Case> {
 protected:
  std::vector<fb::ConvStepT> TypedShapes() {
    std::vector<fb::ConvStepT> shapes = Shapes();
    for (fb::ConvStepT& s : shapes) {
      s.dtype = static_cast<fb::DType>(std::get<0>(GetParam()));
      s.math = std::get<1>(GetParam());
      s.layout = std::get<2>(GetParam());
    }
    return shapes;
  }
};

TEST_P(ConvTypesTest, Forward) {
  for (const fb::ConvStepT& s : TypedShapes()) {
    CheckForward(s, /*has_bias=*/false, /*has_relu=*/false);
    CheckForward(s, /*has_bias=*/true, /*has_relu=*/false);
    CheckForward(s, /*has_bias=*/true, /*has_relu=*/true);
    CheckForward(s, /*has_bias=*/false, /*has_relu=*/true);
  }
}

TEST_P(ConvTypesTest, Gradients) {
  for (const fb::ConvStepT& s : TypedShapes()) CheckGradients(s);
}

TEST_P(ConvTypesTest, NothingToSum) {
  fb::ConvStepT s = TypedShapes()[0];
  s.batch = 0;
  CheckForward(s, /*has_bias=*/true, /*has_relu=*/false);
  CheckGradients(s);
  s.batch = 2, s.in_channels = 0;
  CheckForward(s, /*has_bias=*/false, /*has_relu=*/false);
  CheckForward(s, /*has_bias=*/true, /*has_relu=*/true);
}

INSTANTIATE_TEST_SUITE_P(Types, ConvTypesTest,
                         ::testing::Values(Case(DType::kF64, fb::MathMode::Ieee, fb::ImageLayout::Nchw),
                                           Case(DType::kF64, fb::MathMode::Ieee, fb::ImageLayout::Nhwc),
                                           Case(DType::kF32, fb::MathMode::Ieee, fb::ImageLayout::Nchw),
                                           Case(DType::kF32, fb::MathMode::Ieee, fb::ImageLayout::Nhwc),
                                           Case(DType::kF32, fb::MathMode::Tf32, fb::ImageLayout::Nchw),
                                           Case(DType::kF32, fb::MathMode::Tf32, fb::ImageLayout::Nhwc),
                                           Case(DType::kBf16, fb::MathMode::Ieee, fb::ImageLayout::Nchw),
                                           Case(DType::kBf16, fb::MathMode::Ieee, fb::ImageLayout::Nhwc),
                                           Case(DType::kF16, fb::MathMode::Ieee, fb::ImageLayout::Nchw),
                                           Case(DType::kF16, fb::MathMode::Ieee, fb::ImageLayout::Nhwc)),
                         [](const auto& info) {
                           return std::string(DTypeName(std::get<0>(info.param))) + "_" +
                                  fb::EnumNameMathMode(std::get<1>(info.param)) + "_" +
                                  fb::EnumNameImageLayout(std::get<2>(info.param));
                         });

TEST_F(ConvTest, RefusesWhatCudnnDoesNotDo) {
  fb::ConvStepT s = Shapes()[0];
  s.activation = fb::Activation::Gelu;
  absl::Status status = MakeError(MakeStepPlan(s, 2));
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("a convolution with activation Gelu is not done by cuDNN: leave it out of the convolution"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("(model.cc:12)"));
  s = Shapes()[0];
  s.layout = fb::ImageLayout::Nchw16n;
  EXPECT_THAT(std::string(MakeError(MakeStepPlan(s, 2)).message()),
              HasSubstr("layout nchw16n, which is for CPUs, cannot run on a GPU"));
  s = Shapes()[0];
  s.dtype = fb::DType::I32;
  EXPECT_THAT(std::string(MakeError(MakeStepPlan(s, 2)).message()),
              HasSubstr("a convolution of I32 is not done by cuDNN"));
  s = Shapes()[0];
  s.math = fb::MathMode::Bf16x3;
  EXPECT_THAT(std::string(MakeError(MakeStepPlan(s, 2)).message()), HasSubstr("use ieee or tf32"));
}

}  // namespace
}  // namespace sinter
