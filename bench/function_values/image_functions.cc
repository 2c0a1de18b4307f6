// Convolutions, pools, and other functions of images, signals and volumes.
#include "sinter/bench/function_values/cases.h"

namespace sinter::bench {

namespace {

const FunctionCase kConvolutions[] = {
    {"Conv2d",
     {Floats({2, 3, 8, 9}), Floats({4, 3, 3, 2})},
     [](const Call& x) { return Conv2d(x[0], x[1]); }},
    {"Conv2d.strided",
     {Floats({2, 3, 11, 9}), Floats({4, 3, 3, 3})},
     [](const Call& x) { return Conv2d(x[0], x[1], {.strides = {2, 3}, .padding = {1, 1, 2, 2}}); }},
    {"Conv2d.dilated",
     {Floats({2, 3, 11, 9}), Floats({4, 3, 3, 3})},
     [](const Call& x) { return Conv2d(x[0], x[1], {.padding = {2, 0, 1, 3}, .dilations = {2, 3}}); }},
    {"Conv2d.groups",
     {Floats({2, 6, 7, 7}), Floats({4, 3, 3, 3})},
     [](const Call& x) { return Conv2d(x[0], x[1], {.padding = {1, 1, 1, 1}, .groups = 2}); }},
    {"Conv2d.depthwise",
     {Floats({2, 6, 9, 9}), Floats({6, 1, 3, 3})},
     [](const Call& x) {
       return Conv2d(x[0], x[1], {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .groups = 6});
     }},
    {"Conv2d.pointwise",
     {Floats({2, 6, 5, 5}), Floats({7, 6, 1, 1})},
     [](const Call& x) { return Conv2d(x[0], x[1]); }},
    {"Conv1d",
     {Floats({2, 4, 15}), Floats({6, 2, 3})},
     [](const Call& x) {
       return Conv1d(x[0], x[1], {.stride = 2, .padding = {2, 1}, .dilation = 2, .groups = 2});
     }},
    {"Conv3d",
     {Floats({2, 2, 5, 6, 7}), Floats({3, 2, 2, 3, 3})},
     [](const Call& x) { return Conv3d(x[0], x[1], {.strides = {1, 2, 1}, .padding = {1, 1, 1, 1, 0, 0}}); }},
    {"Conv3d.dilated",
     {Floats({1, 4, 6, 6, 7}), Floats({4, 2, 3, 2, 2})},
     [](const Call& x) {
       return Conv3d(
           x[0], x[1],
           {.strides = {2, 1, 2}, .padding = {1, 1, 0, 0, 2, 2}, .dilations = {2, 3, 1}, .groups = 2});
     }},
    {"ConvTranspose2d",
     {Floats({2, 3, 4, 5}), Floats({3, 4, 3, 2})},
     [](const Call& x) { return ConvTranspose2d(x[0], x[1]); }},
    {"ConvTranspose2d.options",
     {Floats({2, 4, 5, 4}), Floats({4, 3, 3, 3})},
     [](const Call& x) {
       return ConvTranspose2d(x[0], x[1],
                              {.strides = {2, 3},
                               .padding = {1, 1, 2, 2},
                               .output_padding = {1, 2},
                               .dilations = {2, 1},
                               .groups = 2});
     }},
    {"ConvTranspose1d",
     {Floats({2, 3, 6}), Floats({3, 4, 3})},
     [](const Call& x) {
       return ConvTranspose1d(x[0], x[1],
                              {.stride = 3, .padding = {1, 1}, .output_padding = 2, .dilation = 2});
     }},
    {"ConvTranspose3d",
     {Floats({1, 4, 3, 4, 3}), Floats({4, 2, 2, 3, 3})},
     [](const Call& x) {
       return ConvTranspose3d(
           x[0], x[1],
           {.strides = {2, 1, 2}, .padding = {1, 1, 1, 1, 0, 0}, .output_padding = {1, 0, 1}, .groups = 2});
     }},
    {"Unfold",
     {Floats({2, 3, 7, 6})},
     [](const Call& x) {
       return Unfold(x[0], {3, 2}, {.strides = {2, 1}, .padding = {1, 1, 2, 2}, .dilations = {1, 2}});
     }},
    {"Fold",
     {Floats({2, 18, 20})},
     [](const Call& x) { return Fold(x[0], {8, 8}, {3, 2}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}}); }},
};

const FunctionCase kPools[] = {
    {"MaxPool2d", {Floats({2, 3, 8, 9})}, [](const Call& x) { return MaxPool2d(x[0], {2, 3}); }},
    {"MaxPool2d.options",
     {Floats({2, 3, 8, 10})},
     [](const Call& x) {
       return MaxPool2d(x[0], {3, 3}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .ceil_mode = true});
     }},
    {"AvgPool2d", {Floats({2, 3, 8, 9})}, [](const Call& x) { return AvgPool2d(x[0], {2, 3}); }},
    {"AvgPool2d.padding",
     {Floats({2, 3, 8, 10})},
     [](const Call& x) {
       return AvgPool2d(x[0], {3, 3}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .ceil_mode = true});
     }},
    {"AvgPool2d.pixels",
     {Floats({2, 3, 8, 10})},
     [](const Call& x) {
       return AvgPool2d(
           x[0], {3, 3},
           {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .ceil_mode = true, .count_include_pad = false});
     }},
    {"MaxPool1d",
     {Floats({2, 3, 14})},
     [](const Call& x) { return MaxPool1d(x[0], 3, {.stride = 2, .padding = {1, 1}, .ceil_mode = true}); }},
    {"AvgPool1d",
     {Floats({2, 3, 14})},
     [](const Call& x) {
       return Results{AvgPool1d(x[0], 3, {.stride = 2, .padding = {1, 1}, .ceil_mode = true}),
                      AvgPool1d(x[0], 4, {.padding = {2, 2}, .count_include_pad = false})};
     }},
    {"MaxPool3d",
     {Floats({2, 2, 6, 7, 8})},
     [](const Call& x) {
       return MaxPool3d(x[0], {2, 3, 3},
                        {.strides = {2, 2, 3}, .padding = {1, 1, 1, 1, 0, 0}, .ceil_mode = true});
     }},
    {"AvgPool3d",
     {Floats({2, 2, 6, 7, 8})},
     [](const Call& x) {
       return Results{
           AvgPool3d(x[0], {2, 3, 3},
                     {.strides = {2, 2, 3}, .padding = {1, 1, 1, 1, 0, 0}, .ceil_mode = true}),
           AvgPool3d(x[0], {3, 2, 2}, {.padding = {1, 1, 1, 1, 1, 1}, .count_include_pad = false})};
     }},
    {"AdaptiveAvgPool2d",
     {Floats({2, 3, 7, 10})},
     [](const Call& x) { return AdaptiveAvgPool2d(x[0], {3, 4}); }},
    {"AdaptiveMaxPool2d",
     {Floats({2, 3, 7, 10})},
     [](const Call& x) { return AdaptiveMaxPool2d(x[0], {3, 4}); }},
    {"AdaptiveAvgPool1d", {Floats({2, 3, 10})}, [](const Call& x) { return AdaptiveAvgPool1d(x[0], 4); }},
    {"AdaptiveMaxPool1d", {Floats({2, 3, 10})}, [](const Call& x) { return AdaptiveMaxPool1d(x[0], 4); }},
    {"AdaptiveAvgPool3d",
     {Floats({2, 2, 5, 7, 4})},
     [](const Call& x) { return AdaptiveAvgPool3d(x[0], {2, 3, 4}); }},
    {"AdaptiveMaxPool3d",
     {Floats({2, 2, 5, 7, 4})},
     [](const Call& x) { return AdaptiveMaxPool3d(x[0], {2, 3, 4}); }},
    {"MaxUnpool1d",
     {Floats({2, 3, 10})},
     [](const Call& x) {
       const MaxPoolPlaces pooled = MaxPool1dWithPlaces(x[0], 2);
       return MaxUnpool1d(pooled.values, pooled.places, 10);
     }},
    {"MaxUnpool3d",
     {Floats({2, 2, 4, 6, 4})},
     [](const Call& x) {
       const MaxPoolPlaces pooled = MaxPool3dWithPlaces(x[0], {2, 2, 2});
       return MaxUnpool3d(pooled.values, pooled.places, {4, 6, 4});
     }},
    {"Resize1d", {Floats({2, 3, 7})}, [](const Call& x) { return Resize1d(x[0], 10); }},
    {"Resize3d", {Floats({2, 2, 3, 4, 5})}, [](const Call& x) { return Resize3d(x[0], {5, 4, 8}); }},
    {"GridSample.volumes",
     {Floats({2, 2, 3, 4, 5}), Floats({2, 2, 3, 2, 3}, -1.2, 1.2)},
     [](const Call& x) { return GridSample(x[0], x[1]); }},
    {"AffineGrid3d", {Floats({2, 3, 4})}, [](const Call& x) { return AffineGrid3d(x[0], {3, 4, 5}); }},
    {"MaxPool2dWithPlaces",
     {Floats({2, 3, 8, 10})},
     [](const Call& x) {
       const MaxPoolPlaces pooled =
           MaxPool2dWithPlaces(x[0], {3, 3}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}});
       return Results{pooled.values, pooled.places};
     }},
    {"MaxUnpool2d",
     {Floats({2, 3, 8, 10})},
     [](const Call& x) {
       const MaxPoolPlaces pooled = MaxPool2dWithPlaces(x[0], {2, 2});
       return MaxUnpool2d(pooled.values, pooled.places, {8, 10});
     }},
};

FunctionCase ResizeTo(std::string name, std::array<int64_t, 2> size, ResizeOptions options) {
  return {std::move(name), {Floats({2, 3, 5, 6})}, [size, options](const Call& x) {
            return Resize(x[0], size, options);
          }};
}

FunctionCase Sampled(std::string name, GridSampleOptions options) {
  return {std::move(name), {Floats({2, 3, 5, 6}), Floats({2, 4, 3, 2}, -1.4, 1.4)}, [options](const Call& x) {
            return GridSample(x[0], x[1], options);
          }};
}

const FunctionCase kSampling[] = {
    ResizeTo("Resize.nearest", {8, 4}, {.interpolation = Interpolation::kNearest}),
    ResizeTo("Resize.bilinear", {9, 11}, {}),
    ResizeTo("Resize.bilinear.smaller", {3, 4}, {}),
    ResizeTo("Resize.bilinear.corners", {9, 4}, {.align_corners = true}),
    ResizeTo("Resize.bicubic", {9, 11}, {.interpolation = Interpolation::kBicubic}),
    ResizeTo("Resize.bicubic.corners", {3, 11},
             {.interpolation = Interpolation::kBicubic, .align_corners = true}),
    {"PixelShuffle", {Floats({2, 12, 3, 4})}, [](const Call& x) { return PixelShuffle(x[0], 2); }},
    {"PixelUnshuffle", {Floats({2, 3, 4, 6})}, [](const Call& x) { return PixelUnshuffle(x[0], 2); }},
    {"AffineGrid", {Floats({2, 2, 3})}, [](const Call& x) { return AffineGrid(x[0], {4, 5}); }},
    {"AffineGrid.corners", {Floats({2, 2, 3})}, [](const Call& x) { return AffineGrid(x[0], {4, 5}, true); }},
    Sampled("GridSample", {}),
    Sampled("GridSample.corners", {.align_corners = true}),
    Sampled("GridSample.border", {.outside = OutsidePixels::kBorder}),
    Sampled("GridSample.reflection", {.outside = OutsidePixels::kReflection}),
    Sampled("GridSample.reflection.corners", {.outside = OutsidePixels::kReflection, .align_corners = true}),
    Sampled("GridSample.nearest", {.interpolation = Interpolation::kNearest}),
};

std::vector<FunctionCase> AllImages() {
  std::vector<FunctionCase> all(std::begin(kConvolutions), std::end(kConvolutions));
  all.insert(all.end(), std::begin(kPools), std::end(kPools));
  all.insert(all.end(), std::begin(kSampling), std::end(kSampling));
  return all;
}

}  // namespace

std::span<const FunctionCase> ImageFunctions() {
  static const std::vector<FunctionCase> all = AllImages();
  return all;
}

}  // namespace sinter::bench
