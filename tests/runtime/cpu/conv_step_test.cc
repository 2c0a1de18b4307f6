#include <tuple>

#include "gtest/gtest.h"
#include "sinter/tests/runtime/image_steps_reference.h"
#include "sinter/tests/runtime/step_values.h"

namespace sinter {
namespace {

fb::ConvStepT Conv(int64_t batch, int64_t in, int64_t out, int64_t groups, std::vector<int64_t> in_size,
                   std::vector<int64_t> kernel, std::vector<int64_t> strides, std::vector<int64_t> padding,
                   std::vector<int64_t> dilations) {
  fb::ConvStepT s;
  s.batch = batch, s.in_channels = in, s.out_channels = out, s.groups = groups, s.in_size = in_size,
  s.kernel = kernel;
  s.strides = strides, s.padding = padding, s.dilations = dilations;
  for (int d = 0; d < 2; ++d) {
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
          Conv(1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1})};
}

std::vector<int64_t> ImageShape(const fb::ConvStepT& s, int64_t channels, const std::vector<int64_t>& size) {
  if (s.layout == fb::ImageLayout::Nhwc) return {s.batch, size[0], size[1], channels};
  return {s.batch, channels, size[0], size[1]};
}

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

struct Operands {
  explicit Operands(const fb::ConvStepT& s, DType dtype)
      : x_shape(ImageShape(s, s.in_channels, s.in_size)),
        y_shape(ImageShape(s, s.out_channels, s.out_size)),
        w_shape({s.out_channels, s.in_channels / s.groups, s.kernel[0], s.kernel[1]}),
        x(RandomValues(Count(x_shape), 1)),
        y(RandomValues(Count(y_shape), 2)),
        w(RandomValues(Count(w_shape), 3)),
        bias(RandomValues(s.out_channels, 4)),
        x_tensor(MakeTensor(dtype, x_shape, x)),
        y_tensor(MakeTensor(dtype, y_shape, y)),
        w_tensor(MakeTensor(dtype, w_shape, w)),
        bias_tensor(MakeTensor(dtype, {s.out_channels}, bias)) {}

  std::vector<int64_t> x_shape, y_shape, w_shape;
  std::vector<double> x, y, w, bias;
  HostTensor x_tensor, y_tensor, w_tensor, bias_tensor;
};

class ConvStepTest : public ::testing::TestWithParam<std::tuple<DType, fb::ImageLayout>> {
 protected:
  DType dtype() const { return std::get<0>(GetParam()); }

  void SetUp() override {
    for (fb::ConvStepT s : Shapes()) {
      s.dtype = static_cast<fb::DType>(dtype());
      s.layout = std::get<1>(GetParam());
      shapes_.push_back(s);
    }
  }

  std::vector<double> Run(const fb::ConvStepT& s, const std::vector<const HostTensor*>& inputs,
                          const std::vector<int64_t>& result) {
    return RunStep(inputs, {{dtype(), result}},
                   [&](TestFunction& f, const std::vector<uint32_t>& in, const std::vector<uint32_t>& out) {
                     f.Conv(s, in, out);
                   })[0];
  }

  std::vector<fb::ConvStepT> shapes_;
};

TEST_P(ConvStepTest, Forward) {
  for (fb::ConvStepT s : shapes_) {
    const Operands o(s, dtype());
    std::vector<double> want(o.y.size());
    ForConvProducts(s, [&](size_t x, size_t y, size_t w) { want[y] += o.x[x] * o.w[w]; });
    ExpectNear(Run(s, {&o.x_tensor, &o.w_tensor}, o.y_shape), want, 4 * Tolerance(dtype()), "plain");
    s.has_bias = true;
    s.activation = fb::Activation::Relu;
    const ImageIndex index{s.layout == fb::ImageLayout::Nhwc, s.out_channels, s.out_size[0], s.out_size[1]};
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t c = 0; c < s.out_channels; ++c)
        for (int64_t i = 0; i < s.out_size[0]; ++i)
          for (int64_t j = 0; j < s.out_size[1]; ++j) {
            double& y = want[index(n, c, i, j)];
            y = std::max(0.0, y + o.bias[static_cast<size_t>(c)]);
          }
    ExpectNear(Run(s, {&o.x_tensor, &o.w_tensor, &o.bias_tensor}, o.y_shape), want, 4 * Tolerance(dtype()),
               "bias, relu");
  }
}

TEST_P(ConvStepTest, InputGrad) {
  for (fb::ConvStepT s : shapes_) {
    s.kind = fb::ConvKind::InputGrad;
    const Operands o(s, dtype());
    std::vector<double> want(o.x.size());
    ForConvProducts(s, [&](size_t x, size_t y, size_t w) { want[x] += o.y[y] * o.w[w]; });
    ExpectNear(Run(s, {&o.y_tensor, &o.w_tensor}, o.x_shape), want, 4 * Tolerance(dtype()), "input grad");
  }
}

TEST_P(ConvStepTest, WeightGrad) {
  for (fb::ConvStepT s : shapes_) {
    s.kind = fb::ConvKind::WeightGrad;
    const Operands o(s, dtype());
    std::vector<double> want(o.w.size());
    ForConvProducts(s, [&](size_t x, size_t y, size_t w) { want[w] += o.x[x] * o.y[y]; });
    ExpectNear(Run(s, {&o.x_tensor, &o.y_tensor}, o.w_shape), want, 8 * Tolerance(dtype()), "weight grad");
  }
}

TEST_P(ConvStepTest, NoImages) {
  fb::ConvStepT s = shapes_[0];
  s.batch = 0;
  const Operands o(s, dtype());
  EXPECT_TRUE(Run(s, {&o.x_tensor, &o.w_tensor}, o.y_shape).empty());
  s.kind = fb::ConvKind::WeightGrad;
  ExpectNear(Run(s, {&o.x_tensor, &o.y_tensor}, o.w_shape), std::vector<double>(o.w.size()), 0, "no images");
}

INSTANTIATE_TEST_SUITE_P(Types, ConvStepTest,
                         ::testing::Combine(::testing::Values(DType::kF64, DType::kF32, DType::kBf16,
                                                              DType::kF16),
                                            ::testing::Values(fb::ImageLayout::Nchw, fb::ImageLayout::Nhwc)),
                         [](const auto& info) {
                           return std::string(DTypeName(std::get<0>(info.param))) + "_" +
                                  fb::EnumNameImageLayout(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace sinter
