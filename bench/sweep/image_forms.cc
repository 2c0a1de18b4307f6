// Convolutions, pools and other sizes of images.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

Tensor ConvBiasRelu(const SweepCall& x, const Tensor& image) {
  const int64_t stride = x.Integer("stride"), padding = x.Integer("padding");
  const Tensor y = Conv2d(image, x["w"],
                          {.strides = {stride, stride},
                           .padding = {padding, padding, padding, padding},
                           .math = image.dtype() == F32 ? x.math : MathMode::kIeee});
  return Relu(y + Reshape(x["bias"], {-1, 1, 1}));
}

void ConvLast(SweepCall& x) {
  const Tensor y = ConvBiasRelu(x, Transpose(x["x"], {0, 3, 1, 2}));
  x.Result("y", Transpose(y, {0, 2, 3, 1}));
}

std::array<int64_t, 2> Window(const SweepCall& x) { return {x.Integer("window"), x.Integer("window")}; }

Pool2dOptions PoolOptions(const SweepCall& x) {
  const int64_t stride = x.Integer("stride");
  return {.strides = {stride, stride}};
}

void ResizeTo(SweepCall& x, Interpolation interpolation) {
  x.Result("y", Resize(x["x"], {x.Integer("height"), x.Integer("width")}, {.interpolation = interpolation}));
}

const SweepForm kImages[] = {
    {"conv_bias_relu", [](SweepCall& x) { x.Result("y", ConvBiasRelu(x, x["x"])); }},
    {"conv_bias_relu_last", ConvLast},
    {"max_pool", [](SweepCall& x) { x.Result("y", MaxPool2d(x["x"], Window(x), PoolOptions(x))); }},
    {"avg_pool", [](SweepCall& x) { x.Result("y", AvgPool2d(x["x"], Window(x), PoolOptions(x))); }},
    {"global_avg_pool", [](SweepCall& x) { x.Result("y", Mean(x["x"], {2, 3})); }},
    {"resize_nearest", [](SweepCall& x) { ResizeTo(x, Interpolation::kNearest); }},
    {"resize_bilinear", [](SweepCall& x) { ResizeTo(x, Interpolation::kBilinear); }},
};

}  // namespace

std::span<const SweepForm> ImageForms() { return kImages; }

}  // namespace sinter::bench
