// ResNets with bottleneck blocks, in the form called v1.5, for several examples and benchmarks.
//
//   SINTER_ASSIGN_OR_RETURN(nn::Module net, ResNet({.layers = 50, .classes = 1000}));
//   Tensor logits = net(images);                                   // [N, C, H, W] to [N, classes]
//
// He et al., "Deep Residual Learning for Image Recognition", arXiv 1512.03385. In v1.5 the 3x3 convolution of
// a block has the stride.
#ifndef SINTER_EXAMPLES_RESNET_H_
#define SINTER_EXAMPLES_RESNET_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::examples {

struct ResNetOptions {
  int64_t layers = 50;  // 50, 101 or 152; also 14 and 26, small networks for tests.
  int64_t width = 64;   // Channels of the stem; the stages output 4, 8, 16 and 32 times this number.
  int64_t classes = 1000;
  MathMode math = MathMode::kIeee;
};

inline nn::Module ConvolutionAndNorm(int64_t channels, int64_t kernel, int64_t stride, MathMode math) {
  const int64_t p = kernel / 2;
  const nn::ConvOptions options = {.strides = {stride, stride},
                                   .padding = {p, p, p, p},
                                   .bias = false,
                                   .weight = nn::HeNormal(),
                                   .math = math};
  return nn::Sequential{nn::Conv2d(channels, kernel, options), nn::BatchNorm()};
}

// Returns a block with 4 * width output channels. If the block changes the shape, its shortcut is a
// convolution.
inline nn::Module Bottleneck(int64_t width, int64_t stride, bool keeps_shape, MathMode math) {
  const std::vector<nn::Module> path = {ConvolutionAndNorm(width, 1, 1, math), nn::Relu(),
                                        ConvolutionAndNorm(width, 3, stride, math), nn::Relu(),
                                        ConvolutionAndNorm(4 * width, 1, 1, math)};
  const nn::Module sum = keeps_shape ? nn::Module(nn::Residual(path))
                                     : nn::Residual(path, ConvolutionAndNorm(4 * width, 1, stride, math));
  return nn::Sequential{sum, nn::Relu()};
}

// Returns the network. InvalidArgument: unknown number of layers, or width or classes below 1.
inline absl::StatusOr<nn::Module> ResNet(const ResNetOptions& options) {
  static const std::map<int64_t, std::array<int64_t, 4>> kBlocks = {
      {14, {1, 1, 1, 1}}, {26, {2, 2, 2, 2}}, {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}};
  const auto blocks = kBlocks.find(options.layers);
  if (blocks == kBlocks.end()) {
    return absl::InvalidArgumentError("there is no ResNet of " + std::to_string(options.layers) +
                                      " layers here; choose 14, 26, 50, 101 or 152");
  }
  if (options.width < 1 || options.classes < 1) {
    return absl::InvalidArgumentError("a ResNet needs a width and classes of at least 1");
  }
  std::vector<nn::Module> stages = {ConvolutionAndNorm(options.width, 7, 2, options.math), nn::Relu(),
                                    nn::MaxPool(3, {.strides = {2, 2}, .padding = {1, 1, 1, 1}})};
  for (int64_t stage = 0; stage < 4; ++stage) {
    std::vector<nn::Module> stacked;
    for (int64_t block = 0; block < blocks->second[stage]; ++block) {
      const int64_t stride = block == 0 && stage > 0 ? 2 : 1;
      stacked.push_back(Bottleneck(options.width << stage, stride, /*keeps_shape=*/block > 0, options.math));
    }
    stages.push_back(nn::Sequential(stacked));
  }
  stages.push_back(nn::GlobalAvgPool());
  stages.push_back(nn::Linear(options.classes, {.weight = nn::Normal(0.01), .math = options.math}));
  return nn::Module(nn::Sequential(stages));
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_RESNET_H_
