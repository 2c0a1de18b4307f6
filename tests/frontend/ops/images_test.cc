// Convolutions, pools and sizes of images against loops over their definitions.
#include "sinter/frontend/ops/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;

using ImagesTest = DeviceTest;

// A tensor of whole numbers, whose sums of products are exact.
struct Array {
  Shape shape;
  std::vector<float> values;

  static Array Of(const Shape& shape, int step) {
    Array a = Zeros(shape);
    for (size_t i = 0; i < a.values.size(); ++i) {
      a.values[i] = static_cast<float>((static_cast<int>(i) * step + 3) % 11 - 5);
    }
    return a;
  }
  static Array Zeros(const Shape& shape) {
    int64_t size = 1;
    for (const int64_t n : shape) size *= n;
    return {shape, std::vector<float>(static_cast<size_t>(size), 0)};
  }
  float& at(int64_t n, int64_t c, int64_t h, int64_t w) {
    return values[static_cast<size_t>(((n * shape[1] + c) * shape[2] + h) * shape[3] + w)];
  }
  HostTensor tensor() const { return *HostTensor::FromVector<float>(shape, values); }
};

// Returns what `body` makes of inputs.
Array Computed(const std::vector<Array>& inputs,
               const std::function<Tensor(const std::vector<Tensor>&)>& body) {
  Graph graph("g");
  Array result;
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensors.push_back(b.Input("x" + std::to_string(i), F32, inputs[i].shape));
    }
    const Tensor y = body(tensors);
    result.shape = y.shape();
    b.Output("y", y);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  auto f = session.Bind("f");
  SINTER_CHECK(f.ok()) << f.status();
  std::vector<HostTensor> tensors;
  for (const Array& input : inputs) tensors.push_back(input.tensor());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const absl::Status status = f->SetInput("x" + std::to_string(i), tensors[i]);
    SINTER_CHECK(status.ok()) << status;
  }
  const absl::Status status = f->Run();
  SINTER_CHECK(status.ok()) << status;
  result.values = ToFloats(f->outputs()["y"]);
  return result;
}

// Each pixel of x adds its window of weights to the result.
Array ConvTransposeOf(Array x, Array w, const ConvTranspose2dOptions& o) {
  const int64_t per_group = w.shape[1], in_group = x.shape[1] / o.groups;
  Shape shape = {x.shape[0], per_group * o.groups};
  for (size_t i = 0; i < 2; ++i) {
    shape.push_back((x.shape[2 + i] - 1) * o.strides[i] + o.dilations[i] * (w.shape[2 + i] - 1) + 1 +
                    o.output_padding[i] - o.padding[2 * i] - o.padding[2 * i + 1]);
  }
  Array y = Array::Zeros(shape);
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      for (int64_t h = 0; h < x.shape[2]; ++h)
        for (int64_t v = 0; v < x.shape[3]; ++v)
          for (int64_t k = 0; k < per_group; ++k)
            for (int64_t i = 0; i < w.shape[2]; ++i)
              for (int64_t j = 0; j < w.shape[3]; ++j) {
                const int64_t row = h * o.strides[0] + i * o.dilations[0] - o.padding[0];
                const int64_t column = v * o.strides[1] + j * o.dilations[1] - o.padding[2];
                if (row < 0 || row >= shape[2] || column < 0 || column >= shape[3]) continue;
                y.at(n, c / in_group * per_group + k, row, column) += x.at(n, c, h, v) * w.at(c, k, i, j);
              }
  return y;
}

TEST_F(ImagesTest, TransposedConvolutions) {
  const ConvTranspose2dOptions cases[] = {
      {},
      {.strides = {2, 2}},
      {.strides = {2, 3}, .padding = {1, 0, 1, 1}, .output_padding = {1, 2}},
      {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .output_padding = {1, 1}, .dilations = {2, 2}},
      {.groups = 2},
      {.strides = {1, 2}, .dilations = {3, 1}, .groups = 4},
  };
  for (const ConvTranspose2dOptions& o : cases) {
    const Array x = Array::Of({2, 4, 5, 4}, 7), w = Array::Of({4, 3, 3, 2}, 5);
    const Array y =
        Computed({x, w}, [&](const std::vector<Tensor>& in) { return ConvTranspose2d(in[0], in[1], o); });
    const Array want = ConvTransposeOf(x, w, o);
    EXPECT_EQ(y.shape, want.shape);
    EXPECT_EQ(y.values, want.values);
  }
}

TEST_F(ImagesTest, SignalsAreImagesOfOneRow) {
  const Array x = Array::Of({2, 4, 9}, 7), w = Array::Of({4, 3, 3}, 5);
  Array image = x, window = w;
  image.shape = {2, 4, 1, 9};
  window.shape = {4, 3, 1, 3};
  const Array y = Computed({x, w}, [](const std::vector<Tensor>& in) {
    return ConvTranspose1d(in[0], in[1],
                           {.stride = 2, .padding = {1, 0}, .output_padding = 1, .dilation = 2, .groups = 2});
  });
  const Array want = ConvTransposeOf(image, window,
                                     {.strides = {1, 2},
                                      .padding = {0, 0, 1, 0},
                                      .output_padding = {0, 1},
                                      .dilations = {1, 2},
                                      .groups = 2});
  EXPECT_EQ(y.shape, (Shape{2, 6, want.shape[3]}));
  EXPECT_EQ(y.values, want.values);

  const Array signal = {{1, 1, 6}, {1, 2, 3, 4, 5, 6}}, pair = {{1, 1, 2}, {1, 10}};
  const auto conv = [](const std::vector<Tensor>& in) {
    return Conv1d(in[0], in[1], {.stride = 2, .padding = {1, 0}, .dilation = 2});
  };
  EXPECT_THAT(Computed({signal, pair}, conv).values, ElementsAre(20, 42, 64));
  const auto max = [](const std::vector<Tensor>& in) { return MaxPool1d(in[0], 3, {.stride = 2}); };
  EXPECT_THAT(Computed({signal}, max).values, ElementsAre(3, 5));
  const auto mean = [](const std::vector<Tensor>& in) { return AvgPool1d(in[0], 2); };
  EXPECT_THAT(Computed({signal}, mean).values, ElementsAre(1.5, 3.5, 5.5));
}

TEST_F(ImagesTest, WindowsAndTheirSums) {
  const UnfoldOptions o = {.strides = {2, 1}, .padding = {1, 0, 0, 2}, .dilations = {1, 2}};
  Array x = Array::Of({2, 3, 5, 4}, 7);
  const Array parts = Computed({x}, [&](const std::vector<Tensor>& in) { return Unfold(in[0], {2, 2}, o); });
  // (5 + 1 - 2) / 2 + 1 rows, (4 + 2 - 3) + 1 columns.
  ASSERT_EQ(parts.shape, (Shape{2, 12, 12}));
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 2; ++j)
          for (int64_t p = 0; p < 12; ++p) {
            const int64_t row = p / 4 * 2 + i - 1, column = p % 4 + j * 2;
            const float want = row < 0 || column >= 4 ? 0 : x.at(n, c, row, column);
            EXPECT_EQ(parts.values[static_cast<size_t>((n * 12 + c * 4 + i * 2 + j) * 12 + p)], want);
          }
  // Fold is the transpose of Unfold: <Unfold(x), y> = <x, Fold(y)>.
  const Array y = Array::Of({2, 12, 12}, 5);
  const Array images =
      Computed({y}, [&](const std::vector<Tensor>& in) { return Fold(in[0], {5, 4}, {2, 2}, o); });
  ASSERT_EQ(images.shape, x.shape);
  double of_parts = 0, of_images = 0;
  for (size_t i = 0; i < y.values.size(); ++i) of_parts += parts.values[i] * y.values[i];
  for (size_t i = 0; i < x.values.size(); ++i) of_images += images.values[i] * x.values[i];
  EXPECT_EQ(of_parts, of_images);
}

TEST_F(ImagesTest, AdaptivePools) {
  Array x = Array::Of({2, 2, 7, 6}, 7);
  for (const auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 4}, {7, 2}, {1, 1}, {9, 6}}) {
    const std::array<int64_t, 2> size = {rows, columns};
    Array mean = Computed({x}, [&](const std::vector<Tensor>& in) { return AdaptiveAvgPool2d(in[0], size); });
    Array max = Computed({x}, [&](const std::vector<Tensor>& in) { return AdaptiveMaxPool2d(in[0], size); });
    ASSERT_EQ(mean.shape, (Shape{2, 2, rows, columns}));
    ASSERT_EQ(max.shape, mean.shape);
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < columns; ++k) {
          double sum = 0, count = 0;
          float largest = -std::numeric_limits<float>::infinity();
          for (int64_t h = r * 7 / rows; h * rows < (r + 1) * 7; ++h)
            for (int64_t w = k * 6 / columns; w * columns < (k + 1) * 6; ++w) {
              sum += x.at(1, c, h, w);
              largest = std::max(largest, x.at(1, c, h, w));
              ++count;
            }
          EXPECT_NEAR(mean.at(1, c, r, k), sum / count, 1e-5);
          EXPECT_EQ(max.at(1, c, r, k), largest);
        }
  }
}

// The values are those of ONNX Runtime 1.32 (Resize, half_pixel or align_corners; nearest: asymmetric,
// floor).
TEST_F(ImagesTest, OtherSizes) {
  const Array x = {{1, 1, 1, 4}, {1, 2, 4, 8}};
  auto resized = [&](int64_t width, const ResizeOptions& options) {
    return Computed({x}, [&](const std::vector<Tensor>& in) { return Resize(in[0], {1, width}, options); })
        .values;
  };
  auto near = [](std::vector<float> values) {
    return ::testing::Pointwise(::testing::FloatNear(1e-5f), values);
  };
  EXPECT_THAT(resized(6, {.interpolation = Interpolation::kNearest}), ElementsAre(1, 1, 2, 4, 4, 8));
  EXPECT_THAT(resized(3, {.interpolation = Interpolation::kNearest}), ElementsAre(1, 2, 4));
  EXPECT_THAT(resized(8, {}), near({1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8}));
  EXPECT_THAT(resized(7, {.align_corners = true}), near({1, 1.5, 2, 3, 4, 6, 8}));
  EXPECT_THAT(resized(2, {}), near({1.5, 6}));
  EXPECT_THAT(resized(1, {.align_corners = true}), near({1}));
  EXPECT_THAT(
      resized(8, {.interpolation = Interpolation::kBicubic}),
      near({0.89453125f, 1.15625f, 1.5625f, 2.41796875f, 3.16015625f, 5.1171875f, 7.1640625f, 8.421875f}));
}

TEST_F(ImagesTest, PixelsShuffle) {
  const Array x = Array::Of({2, 8, 2, 3}, 7);
  Array y = Computed({x}, [](const std::vector<Tensor>& in) { return PixelShuffle(in[0], 2); });
  ASSERT_EQ(y.shape, (Shape{2, 2, 4, 6}));
  Array from = x;
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t w = 0; w < 6; ++w)
        EXPECT_EQ(y.at(1, c, h, w), from.at(1, c * 4 + h % 2 * 2 + w % 2, h / 2, w / 2));
  const auto back = [](const std::vector<Tensor>& in) { return PixelUnshuffle(PixelShuffle(in[0], 2), 2); };
  EXPECT_EQ(Computed({x}, back).values, x.values);
}

// An autoencoder with every layer learns.
TEST_F(ImagesTest, LayersLearn) {
  Graph graph("g");
  nn::Sequential net{nn::Conv2d(6, 3, {.strides = {2, 2}, .padding = {1, 1, 1, 1}}).Named("down"),
                     nn::Relu(),
                     nn::ConvTranspose2d(4, 2, {.strides = {2, 2}}).Named("up"),
                     nn::PixelShuffle(2),
                     nn::AdaptiveAvgPool({5, 5}),
                     nn::Upsample(2, {.interpolation = Interpolation::kBilinear}),
                     nn::AdaptiveMaxPool({8, 8})};
  nn::Sequential signals{nn::Conv1d(4, 3, {.padding = {1, 1}}).Named("signal"), nn::Tanh(),
                         nn::ConvTranspose1d(1, 2, {.stride = 2}).Named("back")};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {3, 1, 8, 8});
    const Tensor signal = signals(Flatten(x, 2));
    EXPECT_EQ(signal.ToString(), "f32[3,1,128]");
    const Tensor loss = MseLoss(net(x), x) + MseLoss(signal, Repeat(Flatten(x, 2), 2, 2));
    b.Output("loss", loss);
    optim::Adam{.learning_rate = 0.02}.Minimize(loss);
  });
  std::vector<std::string> names;
  for (const Variable& v : net.parameters()) names.push_back(v.name() + TypeString(v.dtype(), v.shape()));
  for (const Variable& v : signals.parameters()) names.push_back(v.name() + TypeString(v.dtype(), v.shape()));
  EXPECT_THAT(names, ElementsAre("down.weightf32[6,1,3,3]", "down.biasf32[6]", "up.weightf32[6,4,2,2]",
                                 "up.biasf32[4]", "signal.weightf32[4,1,3]", "signal.biasf32[4]",
                                 "back.weightf32[4,1,2]", "back.biasf32[1]"));
  Session session = MustStart(graph, {.device = TestDevice()});
  Array x = Array::Of({3, 1, 8, 8}, 7);
  for (float& value : x.values) value /= 5;
  const float first = Floats(session, "train", {{"x", x.tensor()}}, "loss")[0];
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(session.Run("train", {{"x", x.tensor()}}).ok());
  EXPECT_LT(Floats(session, "train", {{"x", x.tensor()}}, "loss")[0], 0.7f * first);
}

class ImagesErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(ImagesErrorTest, Says) { ExpectSays(GetParam(), "images_test.cc:"); }

Tensor Image(Builder& b) { return X(b, {1, 4, 5, 5}); }

INSTANTIATE_TEST_SUITE_P(
    Cases, ImagesErrorTest,
    ::testing::Values(
        In("TransposedRank", [](Builder& b) { ConvTranspose2d(X(b), X(b)); },
           {"takes images of shape [N, C, H, W]"}),
        In("TransposedWeights", [](Builder& b) { ConvTranspose2d(Image(b), X(b, {3, 2, 2, 2})); },
           {"has images of 4 channels and weights for 3"}),
        In("TransposedGroups",
           [](Builder& b) { ConvTranspose2d(Image(b), X(b, {4, 2, 2, 2}), {.groups = 3}); },
           {"has 3 groups, which must divide 4 input channels"}),
        In("TransposedOutputPadding",
           [](Builder& b) { ConvTranspose2d(Image(b), X(b, {4, 2, 2, 2}), {.output_padding = {1, 0}}); },
           {"has an output_padding of 1, which must be below the stride of 1"}),
        In("TransposedPadding",
           [](Builder& b) { ConvTranspose2d(Image(b), X(b, {4, 2, 2, 2}), {.padding = {3, 3, 0, 0}}); },
           {"makes images of size 0 in dimension 2; the paddings are too large"}),
        In("Conv1dRank", [](Builder& b) { Conv1d(Image(b), X(b, {4, 4, 2})); },
           {"takes signals of shape [N, C, L]"}),
        In("Conv1dInner", [](Builder& b) { Conv1d(X(b, {1, 4, 5}), X(b, {2, 3, 2})); }, {"Conv1d: Conv2d("}),
        In("Conv1dLayer", [](Builder& b) { nn::Conv1d(2, 3, {.output_padding = 1})(X(b, {1, 4, 5})); },
           {"Conv1d(2, 3): of f32[1,4,5] has an output_padding, which is of ConvTranspose1d alone"}),
        In("ConvTransposeLayer", [](Builder& b) { nn::ConvTranspose2d(3, 2, {.groups = 2})(Image(b)); },
           {"has 2 groups, which must divide 4 input and 3 output channels"}),
        In("UnfoldRank", [](Builder& b) { Unfold(X(b), {2, 2}); }, {"Unfold(f32[2,3])"}),
        In("UnfoldLarge", [](Builder& b) { Unfold(Image(b), {6, 2}); }, {"does not fit images of 5x5"}),
        In("FoldChannels", [](Builder& b) { Fold(X(b, {1, 5, 4}), {3, 3}, {2, 2}); },
           {"has windows of 2x2, which must divide the 5 channels"}),
        In("FoldWindows", [](Builder& b) { Fold(X(b, {1, 4, 5}), {3, 3}, {2, 2}); },
           {"has 5 windows, and images of 3x3 have 4"}),
        In("AdaptiveSize", [](Builder& b) { AdaptiveAvgPool2d(Image(b), {0, 2}); }, {"makes images of 0x2"}),
        In("ResizeSize", [](Builder& b) { Resize(Image(b), {-1, 2}); },
           {"makes images of -1x2 of those of 5x5"}),
        In("ResizeCorners",
           [](Builder& b) {
             Resize(Image(b), {2, 2}, {.interpolation = Interpolation::kNearest, .align_corners = true});
           },
           {"aligned corners"}),
        In("ShuffleFactor", [](Builder& b) { PixelShuffle(Image(b), 3); },
           {"has a factor of 3, whose square must divide the 4 channels"}),
        In("UnshuffleFactor", [](Builder& b) { PixelUnshuffle(Image(b), 2); },
           {"which must divide images of 5x5"}),
        In("PoolOfImages", [](Builder& b) { MaxPool1d(Image(b), 2); },
           {"takes float signals of shape [N, C, L]"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
