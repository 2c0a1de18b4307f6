#include "sinter/frontend/nn/image_layers.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sinter::nn {
namespace {

// The differences of the layers below.
struct ConvKind {
  std::string name;  // "ConvTranspose2d".
  std::string takes;
  Shape kernel;
  bool is_transposed;
  int64_t groups;
  bool bias;
  Initializer weight, bias_init;
  std::string wrong;  // An error in the options; empty if there is none.
  std::function<Tensor(const Tensor& x, const Tensor& weights)> apply;
};

class ConvKindLayer : public Layer {
 public:
  ConvKindLayer(int64_t out, ConvKind kind) : out_(out), kind_(std::move(kind)) {}
  std::string Describe() const override {
    return absl::StrCat(kind_.name, "(", out_, ", ", absl::StrJoin(kind_.kernel, "x"), ")");
  }

 protected:
  Tensor Forward(const Tensor& x) override {
    const int64_t rank = static_cast<int64_t>(kind_.kernel.size()) + 2, groups = kind_.groups;
    if (!kind_.wrong.empty()) return Fail(x, kind_.wrong);
    if (x.rank() != rank) return Fail(x, absl::StrCat("takes ", kind_.takes));
    int64_t area = 1;
    for (const int64_t size : kind_.kernel) {
      if (size < 1) return Fail(x, "needs a window of at least one element");
      area *= size;
    }
    const int64_t in = x.dim(1);
    if (groups < 1 || in % groups != 0 || out_ < 1 || out_ % groups != 0) {
      return Fail(x, absl::StrCat("has ", groups, " groups, which must divide ", in, " input and ", out_,
                                  " output channels"));
    }
    Shape shape = kind_.is_transposed ? Shape{in, out_ / groups} : Shape{out_, in / groups};
    shape.insert(shape.end(), kind_.kernel.begin(), kind_.kernel.end());
    const double fan_in = static_cast<double>(in / groups * area),
                 fan_out = static_cast<double>(out_ / groups * area);
    const Tensor weight = MakeParameter(x, "weight", shape, kind_.weight, fan_in, fan_out);
    if (!weight.ok()) return {};
    const Tensor y = kind_.apply(x, weight);
    if (!y.ok() || !kind_.bias) return y;
    const Tensor bias = MakeParameter(x, "bias", {out_}, kind_.bias_init, fan_in, fan_out);
    if (!bias.ok()) return {};
    Shape each(static_cast<size_t>(rank - 1), 1);
    each[0] = out_;
    return y + Reshape(bias, each);
  }
  std::string DescribeInputs(const Tensor& x) const override { return absl::StrCat(x.dim(1), " channels"); }

 private:
  int64_t out_;
  ConvKind kind_;
};

constexpr char kImages[] = "images of shape [N, C, H, W]";
constexpr char kSignals[] = "signals of shape [N, C, L]";
constexpr char kVolumes[] = "volumes of shape [N, C, D, H, W]";

Shape ShapeOf(const std::array<int64_t, 3>& sizes) { return {sizes.begin(), sizes.end()}; }

}  // namespace

ConvTranspose2d::ConvTranspose2d(int64_t out_channels, int64_t kernel, const ConvTransposeOptions& options)
    : ConvTranspose2d(out_channels, std::array<int64_t, 2>{kernel, kernel}, options) {}
ConvTranspose2d::ConvTranspose2d(int64_t out_channels, std::array<int64_t, 2> kernel,
                                 const ConvTransposeOptions& options)
    : Module(std::make_shared<ConvKindLayer>(
          out_channels, ConvKind{"ConvTranspose2d",
                                 kImages,
                                 {kernel[0], kernel[1]},
                                 true,
                                 options.groups,
                                 options.bias,
                                 options.weight,
                                 options.bias_init,
                                 "",
                                 [options](const Tensor& x, const Tensor& weights) {
                                   return sinter::ConvTranspose2d(x, weights,
                                                                  {.strides = options.strides,
                                                                   .padding = options.padding,
                                                                   .output_padding = options.output_padding,
                                                                   .dilations = options.dilations,
                                                                   .groups = options.groups,
                                                                   .math = options.math});
                                 }})) {}

Conv1d::Conv1d(int64_t out_channels, int64_t kernel, const SignalConvOptions& options)
    : Module(std::make_shared<ConvKindLayer>(
          out_channels,
          ConvKind{
              "Conv1d",
              kSignals,
              {kernel},
              false,
              options.groups,
              options.bias,
              options.weight,
              options.bias_init,
              options.output_padding == 0 ? "" : "has an output_padding, which is of ConvTranspose1d alone",
              [options](const Tensor& x, const Tensor& weights) {
                return sinter::Conv1d(x, weights,
                                      {.stride = options.stride,
                                       .padding = options.padding,
                                       .dilation = options.dilation,
                                       .groups = options.groups,
                                       .math = options.math});
              }})) {}

ConvTranspose1d::ConvTranspose1d(int64_t out_channels, int64_t kernel, const SignalConvOptions& options)
    : Module(std::make_shared<ConvKindLayer>(
          out_channels, ConvKind{"ConvTranspose1d",
                                 kSignals,
                                 {kernel},
                                 true,
                                 options.groups,
                                 options.bias,
                                 options.weight,
                                 options.bias_init,
                                 "",
                                 [options](const Tensor& x, const Tensor& weights) {
                                   return sinter::ConvTranspose1d(x, weights,
                                                                  {.stride = options.stride,
                                                                   .padding = options.padding,
                                                                   .output_padding = options.output_padding,
                                                                   .dilation = options.dilation,
                                                                   .groups = options.groups,
                                                                   .math = options.math});
                                 }})) {}

Conv3d::Conv3d(int64_t out_channels, int64_t kernel, const VolumeConvOptions& options)
    : Conv3d(out_channels, std::array<int64_t, 3>{kernel, kernel, kernel}, options) {}
Conv3d::Conv3d(int64_t out_channels, std::array<int64_t, 3> kernel, const VolumeConvOptions& options)
    : Module(std::make_shared<ConvKindLayer>(
          out_channels, ConvKind{"Conv3d", kVolumes, ShapeOf(kernel), false, options.groups, options.bias,
                                 options.weight, options.bias_init,
                                 options.output_padding == std::array<int64_t, 3>{0, 0, 0}
                                     ? ""
                                     : "has an output_padding, which is of ConvTranspose3d alone",
                                 [options](const Tensor& x, const Tensor& weights) {
                                   return sinter::Conv3d(x, weights,
                                                         {.strides = options.strides,
                                                          .padding = options.padding,
                                                          .dilations = options.dilations,
                                                          .groups = options.groups,
                                                          .math = options.math});
                                 }})) {}

ConvTranspose3d::ConvTranspose3d(int64_t out_channels, int64_t kernel, const VolumeConvOptions& options)
    : ConvTranspose3d(out_channels, std::array<int64_t, 3>{kernel, kernel, kernel}, options) {}
ConvTranspose3d::ConvTranspose3d(int64_t out_channels, std::array<int64_t, 3> kernel,
                                 const VolumeConvOptions& options)
    : Module(std::make_shared<ConvKindLayer>(
          out_channels,
          ConvKind{"ConvTranspose3d", kVolumes, ShapeOf(kernel), true, options.groups, options.bias,
                   options.weight, options.bias_init, "", [options](const Tensor& x, const Tensor& weights) {
                     return sinter::ConvTranspose3d(x, weights,
                                                    {.strides = options.strides,
                                                     .padding = options.padding,
                                                     .output_padding = options.output_padding,
                                                     .dilations = options.dilations,
                                                     .groups = options.groups,
                                                     .math = options.math});
                   }})) {}

MaxPool3d::MaxPool3d(int64_t window, const Pool3dOptions& options)
    : Module(Lambda(absl::StrCat("MaxPool3d(", window, ")"), [=](const Tensor& x) {
        return sinter::MaxPool3d(x, {window, window, window}, options);
      })) {}
AvgPool3d::AvgPool3d(int64_t window, const Pool3dOptions& options)
    : Module(Lambda(absl::StrCat("AvgPool3d(", window, ")"), [=](const Tensor& x) {
        return sinter::AvgPool3d(x, {window, window, window}, options);
      })) {}

AdaptiveAvgPool::AdaptiveAvgPool(std::array<int64_t, 2> size)
    : Module(Lambda(absl::StrCat("AdaptiveAvgPool(", size[0], "x", size[1], ")"),
                    [=](const Tensor& x) { return AdaptiveAvgPool2d(x, size); })) {}
AdaptiveMaxPool::AdaptiveMaxPool(std::array<int64_t, 2> size)
    : Module(Lambda(absl::StrCat("AdaptiveMaxPool(", size[0], "x", size[1], ")"),
                    [=](const Tensor& x) { return AdaptiveMaxPool2d(x, size); })) {}
AdaptiveAvgPool1d::AdaptiveAvgPool1d(int64_t size)
    : Module(Lambda(absl::StrCat("AdaptiveAvgPool1d(", size, ")"),
                    [=](const Tensor& x) { return sinter::AdaptiveAvgPool1d(x, size); })) {}
AdaptiveMaxPool1d::AdaptiveMaxPool1d(int64_t size)
    : Module(Lambda(absl::StrCat("AdaptiveMaxPool1d(", size, ")"),
                    [=](const Tensor& x) { return sinter::AdaptiveMaxPool1d(x, size); })) {}
AdaptiveAvgPool3d::AdaptiveAvgPool3d(std::array<int64_t, 3> size)
    : Module(Lambda(absl::StrCat("AdaptiveAvgPool3d(", absl::StrJoin(size, "x"), ")"),
                    [=](const Tensor& x) { return sinter::AdaptiveAvgPool3d(x, size); })) {}
AdaptiveMaxPool3d::AdaptiveMaxPool3d(std::array<int64_t, 3> size)
    : Module(Lambda(absl::StrCat("AdaptiveMaxPool3d(", absl::StrJoin(size, "x"), ")"),
                    [=](const Tensor& x) { return sinter::AdaptiveMaxPool3d(x, size); })) {}
Upsample::Upsample(int64_t factor, const ResizeOptions& options)
    : Module(Lambda(absl::StrCat("Upsample(", factor, ")"), [=](const Tensor& x) {
        if (x.rank() == 3) return Resize1d(x, x.dim(-1) * factor, options);
        const std::array<int64_t, 2> image = {x.dim(-2) * factor, x.dim(-1) * factor};
        return x.rank() == 5 ? Resize3d(x, {x.dim(-3) * factor, image[0], image[1]}, options)
                             : Resize(x, image, options);
      })) {}
PixelShuffle::PixelShuffle(int64_t factor)
    : Module(Lambda(absl::StrCat("PixelShuffle(", factor, ")"),
                    [=](const Tensor& x) { return sinter::PixelShuffle(x, factor); })) {}
PixelUnshuffle::PixelUnshuffle(int64_t factor)
    : Module(Lambda(absl::StrCat("PixelUnshuffle(", factor, ")"),
                    [=](const Tensor& x) { return sinter::PixelUnshuffle(x, factor); })) {}
MaxPool1d::MaxPool1d(int64_t window, const Pool1dOptions& options)
    : Module(Lambda(absl::StrCat("MaxPool1d(", window, ")"),
                    [=](const Tensor& x) { return sinter::MaxPool1d(x, window, options); })) {}
AvgPool1d::AvgPool1d(int64_t window, const Pool1dOptions& options)
    : Module(Lambda(absl::StrCat("AvgPool1d(", window, ")"),
                    [=](const Tensor& x) { return sinter::AvgPool1d(x, window, options); })) {}

}  // namespace sinter::nn
