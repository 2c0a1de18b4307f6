// Convolutions and pools of volumes, and pools that round up, against loops over their definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

using VolumesTest = DeviceTest;

// A volume of whole numbers, whose sums of products are exact.
struct Volume {
  Shape shape;
  std::vector<float> values;

  explicit Volume(const Shape& sizes, int step = 0) : shape(sizes) {
    int64_t count = 1;
    for (const int64_t n : shape) count *= n;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(step == 0 ? 0 : static_cast<float>((i * step + 3) % 11 - 5));
  }
  float& at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    return values[static_cast<size_t>((((n * shape[1] + c) * shape[2] + d) * shape[3] + h) * shape[4] + w)];
  }
  bool has(int64_t d, int64_t h, int64_t w) const {
    return d >= 0 && d < shape[2] && h >= 0 && h < shape[3] && w >= 0 && w < shape[4];
  }
  HostTensor tensor() const { return *HostTensor::FromVector<float>(shape, values); }
};

using Body = std::function<Tensor(const Tensor& x, const Tensor& w)>;

// Returns what `body` makes of x and w, and the gradients of its sum weighed by `r` (1 to 7).
struct Outcome {
  std::vector<float> y, dx, dw;
  Shape shape;
};
Outcome OutcomeOf(const Volume& x, const Volume& w, const Body& body) {
  Graph graph("g");
  Outcome outcome;
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor first = b.Input("x", F32, x.shape), second = b.Input("w", F32, w.shape);
    const Tensor y = body(first, second);
    outcome.shape = y.shape();
    b.Output("y", y);
    const Tensor r = Cast(Reshape(Rem(b.Iota(I32, {y.size()}), 7) + 1, y.shape()), F32);
    const std::vector<Tensor> gradients = Gradients(Sum(y * r), {first, second});
    b.Output("dx", gradients[0]);
    b.Output("dw", gradients[1]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor first = x.tensor(), second = w.tensor();
  auto run = session.Run("f", {{"x", first}, {"w", second}});
  SINTER_CHECK(run.ok()) << run.status();
  outcome.y = ToFloats((*run)["y"]);
  outcome.dx = ToFloats((*run)["dx"]);
  outcome.dw = ToFloats((*run)["dw"]);
  return outcome;
}

// Calls visit(output channel, input channel of x, of a group, and taps) for each product of one position.
template <typename Visit>
void ForEachTap(const Shape& weights, int64_t groups, const Visit& visit) {
  const int64_t per_group = weights[0] / groups;
  for (int64_t o = 0; o < weights[0]; ++o)
    for (int64_t c = 0; c < weights[1]; ++c)
      for (int64_t i = 0; i < weights[2]; ++i)
        for (int64_t j = 0; j < weights[3]; ++j)
          for (int64_t k = 0; k < weights[4]; ++k) visit(o, o / per_group * weights[1] + c, c, i, j, k);
}

// The convolution and its gradients for outputs weighed by 1 to 7.
Outcome ConvOf(Volume x, Volume w, const Conv3dOptions& o) {
  Shape shape = {x.shape[0], w.shape[0]};
  for (size_t i = 0; i < 3; ++i) {
    shape.push_back((x.shape[2 + i] + o.padding[2 * i] + o.padding[2 * i + 1] -
                     o.dilations[i] * (w.shape[2 + i] - 1) - 1) /
                        o.strides[i] +
                    1);
  }
  Volume y(shape), r(shape), dx(x.shape), dw(w.shape);
  for (size_t i = 0; i < r.values.size(); ++i) r.values[i] = static_cast<float>(i % 7 + 1);
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t d = 0; d < shape[2]; ++d)
      for (int64_t h = 0; h < shape[3]; ++h)
        for (int64_t v = 0; v < shape[4]; ++v)
          ForEachTap(w.shape, o.groups,
                     [&](int64_t out, int64_t in, int64_t c, int64_t i, int64_t j, int64_t k) {
                       const int64_t depth = d * o.strides[0] + i * o.dilations[0] - o.padding[0];
                       const int64_t row = h * o.strides[1] + j * o.dilations[1] - o.padding[2];
                       const int64_t column = v * o.strides[2] + k * o.dilations[2] - o.padding[4];
                       if (!x.has(depth, row, column)) return;
                       const float a = x.at(n, in, depth, row, column), b = w.at(out, c, i, j, k);
                       const float weight = r.at(n, out, d, h, v);
                       y.at(n, out, d, h, v) += a * b;
                       dx.at(n, in, depth, row, column) += b * weight;
                       dw.at(out, c, i, j, k) += a * weight;
                     });
  return {y.values, dx.values, dw.values, shape};
}

TEST_F(VolumesTest, Convolutions) {
  const Conv3dOptions cases[] = {
      {},
      {.strides = {2, 1, 2}, .padding = {1, 1, 1, 1, 1, 1}},
      {.strides = {1, 2, 1}, .padding = {1, 0, 0, 2, 1, 0}, .dilations = {2, 1, 2}},
      {.padding = {1, 1, 0, 0, 0, 0}, .groups = 2},
      {.strides = {3, 1, 1}, .groups = 4},
  };
  for (const Conv3dOptions& o : cases) {
    const Volume x({2, 4, 5, 4, 6}, 7), w({8, 4 / o.groups, 3, 2, 3}, 5);
    const Outcome got = OutcomeOf(x, w, [&](const Tensor& a, const Tensor& b) { return Conv3d(a, b, o); });
    const Outcome want = ConvOf(x, w, o);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.y, want.y);
    EXPECT_EQ(got.dx, want.dx);
    EXPECT_EQ(got.dw, want.dw);
  }
}

// The transposed convolution of y is the gradient towards x of the convolution with the same weights.
TEST_F(VolumesTest, TransposedConvolutionsAreGradients) {
  const ConvTranspose3dOptions cases[] = {
      {},
      {.strides = {2, 1, 2}},
      {.strides = {3, 2, 2}, .padding = {1, 0, 1, 1, 0, 1}, .output_padding = {2, 1, 0}},
      {.strides = {2, 2, 1}, .dilations = {2, 1, 3}, .groups = 2},
  };
  for (const ConvTranspose3dOptions& o : cases) {
    const Volume x({2, 4, 3, 2, 4}, 7), w({4, 3, 2, 3, 2}, 5);
    const Outcome got =
        OutcomeOf(x, w, [&](const Tensor& a, const Tensor& b) { return ConvTranspose3d(a, b, o); });
    // Weighed by r, the result is linear in x: its gradient is the convolution of r.
    Volume r(got.shape);
    for (size_t i = 0; i < r.values.size(); ++i) r.values[i] = static_cast<float>(i % 7 + 1);
    const Conv3dOptions back{
        .strides = o.strides, .padding = o.padding, .dilations = o.dilations, .groups = o.groups};
    const Outcome of_r = ConvOf(r, w, back);
    ASSERT_EQ(of_r.shape, x.shape);
    EXPECT_EQ(got.dx, of_r.y);
    double by_result = 0, by_gradient = 0, by_weights = 0;
    for (size_t i = 0; i < r.values.size(); ++i) by_result += got.y[i] * r.values[i];
    for (size_t i = 0; i < x.values.size(); ++i) by_gradient += of_r.y[i] * x.values[i];
    for (size_t i = 0; i < w.values.size(); ++i) by_weights += got.dw[i] * w.values[i];
    EXPECT_EQ(by_result, by_gradient);
    EXPECT_EQ(by_result, by_weights);
  }
}

// One dimension of a pool, as PyTorch defines ceil_mode and count_include_pad.
struct PoolDim {
  int64_t size, window, stride, front, back;
  bool ceil;

  int64_t positions() const {
    const int64_t room = size + front + back - window;
    int64_t n = (ceil ? room + stride - 1 : room) / stride + 1;
    if (ceil && (n - 1) * stride >= size + front) --n;
    return n;
  }
  int64_t begin(int64_t i) const { return i * stride - front; }
};

void CheckPools(const std::array<int64_t, 3>& window, const Pool3dOptions& o) {
  Volume x({1, 2, 7, 6, 5}, 7);
  std::vector<PoolDim> dims;
  Shape shape = {1, 2};
  for (size_t i = 0; i < 3; ++i) {
    dims.push_back({x.shape[2 + i], window[i], o.strides[i] == 0 ? window[i] : o.strides[i], o.padding[2 * i],
                    o.padding[2 * i + 1], o.ceil_mode});
    shape.push_back(dims[i].positions());
  }
  Volume max(shape), mean(shape);
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t d = 0; d < shape[2]; ++d)
      for (int64_t h = 0; h < shape[3]; ++h)
        for (int64_t v = 0; v < shape[4]; ++v) {
          double sum = 0, count = 1;
          float largest = -std::numeric_limits<float>::infinity();
          const int64_t at[] = {dims[0].begin(d), dims[1].begin(h), dims[2].begin(v)};
          for (size_t i = 0; i < 3; ++i) {
            const int64_t pad = o.count_include_pad ? dims[i].back : 0;
            const int64_t low = o.count_include_pad ? at[i] : std::max<int64_t>(at[i], 0);
            count *= static_cast<double>(std::min(at[i] + window[i], dims[i].size + pad) - low);
          }
          for (int64_t i = at[0]; i < at[0] + window[0]; ++i)
            for (int64_t j = at[1]; j < at[1] + window[1]; ++j)
              for (int64_t k = at[2]; k < at[2] + window[2]; ++k) {
                if (!x.has(i, j, k)) continue;
                sum += x.at(0, c, i, j, k);
                largest = std::max(largest, x.at(0, c, i, j, k));
              }
          max.at(0, c, d, h, v) = largest;
          mean.at(0, c, d, h, v) = static_cast<float>(sum / count);
        }
  const Volume none({1});
  const Outcome most =
      OutcomeOf(x, none, [&](const Tensor& a, const Tensor& w) { return MaxPool3d(a, window, o) + w * 0.0; });
  const Outcome means =
      OutcomeOf(x, none, [&](const Tensor& a, const Tensor& w) { return AvgPool3d(a, window, o) + w * 0.0; });
  EXPECT_EQ(most.shape, shape);
  EXPECT_EQ(most.y, max.values);
  EXPECT_EQ(means.shape, shape);
  EXPECT_THAT(means.y, Pointwise(FloatNear(2e-6f), mean.values));
}

TEST_F(VolumesTest, Pools) {
  CheckPools({2, 2, 2}, {});
  CheckPools({3, 2, 2}, {.strides = {2, 2, 1}, .padding = {1, 1, 0, 1, 1, 0}});
  CheckPools({3, 4, 2}, {.strides = {2, 3, 2}, .ceil_mode = true});
  CheckPools({3, 3, 3}, {.strides = {2, 2, 2}, .padding = {1, 1, 1, 1, 1, 1}, .count_include_pad = false});
  CheckPools(
      {3, 3, 3},
      {.strides = {2, 2, 3}, .padding = {1, 1, 1, 0, 1, 1}, .ceil_mode = true, .count_include_pad = false});
  CheckPools({4, 3, 3}, {.strides = {3, 2, 3}, .padding = {1, 1, 1, 1, 1, 1}, .ceil_mode = true});
}

// Pools of images and signals, and places, take the same options: a volume of depth 1 is an image.
TEST_F(VolumesTest, PoolsOfImagesRoundUpToo) {
  const Volume x({1, 2, 1, 6, 5}, 7), none({1});
  const Pool2dOptions flat{
      .strides = {2, 2}, .padding = {1, 0, 0, 1}, .ceil_mode = true, .count_include_pad = false};
  const Pool3dOptions deep{
      .strides = {1, 2, 2}, .padding = {0, 0, 1, 0, 0, 1}, .ceil_mode = true, .count_include_pad = false};
  const auto image = [](const Tensor& a) { return Squeeze(a, 2); };
  const auto mean = [&](const Tensor& a, const Tensor& w) {
    return AvgPool2d(image(a), {3, 3}, flat) + w * 0.0;
  };
  const auto as_volume = [&](const Tensor& a, const Tensor& w) {
    return AvgPool3d(a, {1, 3, 3}, deep) + w * 0.0;
  };
  EXPECT_THAT(OutcomeOf(x, none, mean).y, Pointwise(FloatNear(2e-6f), OutcomeOf(x, none, as_volume).y));
  const auto largest = [&](const Tensor& a, const Tensor& w) {
    return MaxPool2d(image(a), {3, 3}, flat) + w * 0.0;
  };
  const auto by_places = [&](const Tensor& a, const Tensor& w) {
    const Tensor images = image(a), places = MaxPool2dWithPlaces(images, {3, 3}, flat).places;
    const Tensor pixels = Reshape(images, {2, 30}), at = Reshape(places, {2, places.size() / 2});
    return Reshape(TakeAlong(pixels, at, 1), places.shape()) + w * 0.0;
  };
  EXPECT_EQ(OutcomeOf(x, none, by_places).y, OutcomeOf(x, none, largest).y);
  const auto signal = [&](const Tensor& a, const Tensor& w) {
    return MaxPool1d(Reshape(a, {1, 2, 30}), 4, {.stride = 3, .ceil_mode = true}) + w * 0.0;
  };
  EXPECT_EQ(OutcomeOf(x, none, signal).shape, (Shape{1, 2, 10}));  // Without ceil_mode 9.
}

TEST_F(VolumesTest, LayersLearn) {
  Graph graph("g");
  nn::Sequential net{nn::Conv3d(4, {3, 3, 3}, {.padding = {1, 1, 1, 1, 1, 1}}).Named("down"),
                     nn::Relu(),
                     nn::MaxPool3d(2),
                     nn::ConvTranspose3d(3, 2, {.strides = {2, 2, 2}}).Named("up"),
                     nn::AvgPool3d(1),
                     nn::Conv3d(1, 1).Named("out")};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 1, 4, 4, 6});
    const Tensor loss = MseLoss(net(x), x);
    b.Output("loss", loss);
    optim::Adam{.learning_rate = 0.02}.Minimize(loss);
  });
  std::vector<std::string> names;
  for (const Variable& v : net.parameters()) names.push_back(v.name() + TypeString(v.dtype(), v.shape()));
  EXPECT_THAT(names, ElementsAre("down.weightf32[4,1,3,3,3]", "down.biasf32[4]", "up.weightf32[4,3,2,2,2]",
                                 "up.biasf32[3]", "out.weightf32[1,3,1,1,1]", "out.biasf32[1]"));
  Session session = MustStart(graph, {.device = TestDevice()});
  Volume x({2, 1, 4, 4, 6}, 7);
  for (float& value : x.values) value /= 5;
  const HostTensor input = x.tensor();
  const float first = Floats(session, "train", {{"x", input}}, "loss")[0];
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(session.Run("train", {{"x", input}}).ok());
  EXPECT_LT(Floats(session, "train", {{"x", input}}, "loss")[0], 0.8f * first);
}

class VolumesErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(VolumesErrorTest, Says) { ExpectSays(GetParam(), "volumes_test.cc:"); }

Tensor Deep(Builder& b) { return X(b, {1, 4, 5, 5, 5}); }

INSTANTIATE_TEST_SUITE_P(
    Cases, VolumesErrorTest,
    ::testing::Values(
        In("Rank", [](Builder& b) { Conv3d(X(b), X(b)); },
           {"Conv3d(f32[2,3], f32[2,3])", "volumes of shape [N, C, D, H, W]"}),
        In("Weights", [](Builder& b) { Conv3d(Deep(b), X(b)); },
           {"weights of shape [C_out, C_in / groups, kd, kh, kw]"}),
        In("Channels", [](Builder& b) { Conv3d(Deep(b), X(b, {2, 3, 1, 1, 1})); },
           {"volumes of 4 channels in 1 groups, and weights from 3 to 2"}),
        In("Groups", [](Builder& b) { Conv3d(Deep(b), X(b, {3, 1, 1, 1, 1}), {.groups = 3}); },
           {"has 3 groups, which must divide 4 input channels"}),
        In("Strides", [](Builder& b) { Conv3d(Deep(b), X(b, {2, 4, 1, 1, 1}), {.strides = {0, 1, 1}}); },
           {"strides and dilations of at least 1"}),
        In("Paddings",
           [](Builder& b) { Conv3d(Deep(b), X(b, {2, 4, 1, 1, 1}), {.padding = {0, -1, 0, 0, 0, 0}}); },
           {"paddings of at least 0"}),
        In("Empty", [](Builder& b) { Conv3d(Deep(b), X(b, {2, 4, 0, 1, 1})); },
           {"weights that are not empty"}),
        In("Deep", [](Builder& b) { Conv3d(Deep(b), X(b, {2, 4, 6, 1, 1})); },
           {"window of 6x1x1 that does not fit volumes of 5x5x5"}),
        In("Wide", [](Builder& b) { Conv3d(Deep(b), X(b, {2, 4, 1, 1, 6})); },
           {"Conv3d: Conv2d(", "does not fit"}),
        In("TransposedChannels", [](Builder& b) { ConvTranspose3d(Deep(b), X(b, {2, 4, 1, 1, 1})); },
           {"volumes of 4 channels and weights for 2"}),
        In("TransposedPadding",
           [](Builder& b) {
             ConvTranspose3d(Deep(b), X(b, {4, 4, 1, 1, 1}), {.padding = {3, 3, 0, 0, 0, 0}});
           },
           {"makes volumes of depth -1; the paddings are too large"}),
        In("OutputPadding",
           [](Builder& b) { ConvTranspose3d(Deep(b), X(b, {4, 4, 1, 1, 1}), {.output_padding = {0, 1, 0}}); },
           {"output_padding of 1, which must be below the stride of 1"}),
        In("Layer", [](Builder& b) { nn::Conv3d(2, 3, {.output_padding = {1, 0, 0}})(Deep(b)); },
           {"Conv3d(2, 3x3x3)", "output_padding, which is of ConvTranspose3d alone"}),
        In("PoolRank", [](Builder& b) { MaxPool3d(X(b), {2, 2, 2}); }, {"volumes of shape [N, C, D, H, W]"}),
        In("PoolPadding", [](Builder& b) { AvgPool3d(Deep(b), {1, 2, 2}, {.padding = {0, 0, 2, 0, 0, 0}}); },
           {"paddings of at least 0 and less than the window"}),
        In("PoolCeilPadding",
           [](Builder& b) {
             MaxPool2d(X(b, {1, 1, 5, 5}), {2, 2}, {.padding = {0, INT64_MAX, 0, 0}, .ceil_mode = true});
           },
           {"paddings of at least 0 and less than the window"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
