// Short-time transforms against their definition, gradients against finite differences, and errors.
#include "sinter/frontend/fourier/stft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

auto SamplesNear(std::vector<double> want, double tolerance = 1e-12) {
  return Pointwise(DoubleNear(tolerance), std::move(want));
}

std::vector<double> Signal(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<double>(i * i % 97)));
  return values;
}

struct Settings {
  int64_t n_fft, hop;
  bool center, normalized, onesided;
  std::vector<double> window;  // n_fft samples or fewer.
};

// One number of the transform of one frame, by its definition.
std::vector<double> Spectrum(const std::vector<double>& x, const Settings& s) {
  const int64_t samples = static_cast<int64_t>(x.size()), before = s.center ? s.n_fft / 2 : 0;
  const int64_t frames = 1 + (samples + 2 * before - s.n_fft) / s.hop;
  const int64_t width = static_cast<int64_t>(s.window.size()), margin = (s.n_fft - width) / 2;
  std::vector<double> result;
  for (int64_t k = 0; k < (s.onesided ? s.n_fft / 2 + 1 : s.n_fft); ++k) {
    for (int64_t frame = 0; frame < frames; ++frame) {
      double re = 0, im = 0;
      for (int64_t i = 0; i < width; ++i) {
        int64_t at = frame * s.hop + margin + i - before;
        if (at < 0) at = -at;
        if (at >= samples) at = 2 * (samples - 1) - at;
        const double value = s.window[static_cast<size_t>(i)] * x[static_cast<size_t>(at)];
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(k * (margin + i)) / static_cast<double>(s.n_fft);
        re += value * std::cos(angle), im += value * std::sin(angle);
      }
      const double scale = s.normalized ? 1 / std::sqrt(static_cast<double>(s.n_fft)) : 1;
      result.insert(result.end(), {re * scale, im * scale});
    }
  }
  return result;
}

const std::vector<double> kWindow = {0.1, 0.4, 0.9, 1, 0.8, 0.5, 0.3, 0.2};
const std::vector<double> kShortWindow = {0.5, 1, 0.7};
const Settings kSettings[] = {
    {8, 2, true, false, true, kWindow},      {8, 3, true, true, true, kWindow},
    {8, 8, false, false, false, kWindow},    {8, 5, true, true, false, kShortWindow},
    {3, 1, true, false, true, kShortWindow}, {7, 2, false, false, true, kShortWindow},
};

using StftTest = DeviceTest;

TEST_F(StftTest, AgreesWithTheDefinition) {
  for (const Settings& s : kSettings) {
    const std::vector<double> x = Signal(20);
    Values got = Compute([&](Builder& b) {
      const StftOptions options = {.n_fft = s.n_fft,
                                   .hop = s.hop,
                                   .center = s.center,
                                   .normalized = s.normalized,
                                   .onesided = s.onesided};
      const Tensor window = Vector(b, s.window);
      b.Output("one", Stft(Vector(b, x), window, options));
      std::vector<double> twice = x;
      twice.insert(twice.end(), x.begin(), x.end());
      b.Output("batch", Stft(Vector(b, twice, {2, 1, 20}), window, options));
    });
    const std::vector<double> want = Spectrum(x, s);
    EXPECT_THAT(got["one"], SamplesNear(want));
    std::vector<double> twice = want;
    twice.insert(twice.end(), want.begin(), want.end());
    EXPECT_THAT(got["batch"], SamplesNear(twice));
  }
}

// With windows that cover the whole signal the inverse gives it back.
TEST_F(StftTest, TheInverseInverts) {
  for (const Settings& s : kSettings) {
    if (s.hop > static_cast<int64_t>(s.window.size())) continue;
    const std::vector<double> x = Signal(2 * 30);
    // Samples behind the last whole frame are in no frame.
    const int64_t reached = s.center ? 30 : 30 - (30 - s.n_fft) % s.hop;
    const int64_t first = s.center ? 0 : (s.n_fft - static_cast<int64_t>(s.window.size())) / 2;
    Values got = Compute([&](Builder& b) {
      const Tensor signal = Vector(b, x, {2, 30}), window = Vector(b, s.window);
      const Tensor spectrum = Stft(signal, window,
                                   {.n_fft = s.n_fft,
                                    .hop = s.hop,
                                    .center = s.center,
                                    .normalized = s.normalized,
                                    .onesided = s.onesided});
      const Tensor back = Istft(spectrum, window,
                                {.n_fft = s.n_fft,
                                 .hop = s.hop,
                                 .center = s.center,
                                 .normalized = s.normalized,
                                 .onesided = s.onesided,
                                 .length = 30});
      const int64_t end = reached - first;
      b.Output("zero", SliceDim(back - signal, 1, first, end));
    });
    EXPECT_THAT(got["zero"], Each(DoubleNear(0, 1e-12))) << s.n_fft << ", " << s.hop;
    EXPECT_FALSE(got["zero"].empty());
  }
}

TEST_F(StftTest, LengthsOfInverses) {
  Values got = Compute([](Builder& b) {
    const Tensor window = b.Ones(F64, {4}), x = Vector(b, Signal(9));
    const Tensor spectrum = Stft(x, window, {.n_fft = 4, .hop = 2});
    b.Output("whole", Istft(spectrum, window, {.n_fft = 4, .hop = 2}));
    b.Output("short", Istft(spectrum, window, {.n_fft = 4, .hop = 2, .length = 3}));
    b.Output("long", Istft(spectrum, window, {.n_fft = 4, .hop = 2, .length = 13}));
  });
  std::vector<double> want = Signal(9);
  want.resize(8);
  EXPECT_THAT(got["whole"], SamplesNear(want));
  EXPECT_THAT(got["short"], SamplesNear({want[0], want[1], want[2]}));
  ASSERT_EQ(got["long"].size(), 13);
  EXPECT_THAT(std::vector<double>(got["long"].begin() + 10, got["long"].end()), ElementsAre(0, 0, 0));
}

TEST_F(StftTest, KnownWindows) {
  Values got = Compute([](Builder& b) {
    b.Output("hann", HannWindow(b, 4, {.dtype = F64}));
    b.Output("symmetric", HannWindow(b, 5, {.periodic = false, .dtype = F64}));
    b.Output("hamming", HammingWindow(b, 4, {.dtype = F64}));
    b.Output("blackman", BlackmanWindow(b, 4, {.dtype = F64}));
    b.Output("one", BlackmanWindow(b, 1));
  });
  EXPECT_THAT(got["hann"], SamplesNear({0, 0.5, 1, 0.5}));
  EXPECT_THAT(got["symmetric"], SamplesNear({0, 0.5, 1, 0.5, 0}));
  EXPECT_THAT(got["hamming"], SamplesNear({0.08, 0.54, 1, 0.54}));
  EXPECT_THAT(got["blackman"], SamplesNear({0, 0.34, 1, 0.34}));
  EXPECT_THAT(got["one"], ElementsAre(1));
}

TEST_F(StftTest, Gradients) {
  const auto weighted = [](Builder& b, const Tensor& x) {
    std::vector<double> weights;
    for (int64_t i = 0; i < x.size(); ++i) weights.push_back(1 + 0.37 * static_cast<double>(i % 5));
    return Sum(Square(x) * Vector(b, weights, x.shape()));
  };
  ExpectGradient(Signal(11), {11}, [&](Builder& b, const Tensor& x) {
    return weighted(b, Stft(x, Vector(b, kWindow), {.n_fft = 8, .hop = 3}));
  });
  ExpectGradient(kWindow, {8}, [&](Builder& b, const Tensor& window) {
    const Tensor spectrum = Stft(Vector(b, Signal(16)), window, {.n_fft = 8, .hop = 2});
    return weighted(b, Istft(spectrum * 1.5, Square(window), {.n_fft = 8, .hop = 2, .length = 10}));
  });
  ExpectGradient(Signal(2 * 3 * 3 * 2), {2, 3, 3, 2}, [&](Builder& b, const Tensor& x) {
    return weighted(b, Istft(x, Vector(b, {0.5, 1, 1, 0.5}), {.n_fft = 4, .hop = 2}));
  });
}

Tensor ToStft(Builder& b, const Shape& shape, const StftOptions& options, int64_t window = 4) {
  return Stft(X(b, shape), X(b, {window}), options);
}
Tensor ToIstft(Builder& b, const Shape& shape, const IstftOptions& options) {
  return Istft(X(b, shape), X(b, {4}), options);
}

class StftErrorsTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(StftErrorsTest, Says) { ExpectSays(GetParam(), "stft_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Stft, StftErrorsTest,
    ::testing::Values(
        In("Integers", [](Builder& b) { Stft(X(b, {9}, I32), X(b, {4}, I32), {.n_fft = 4}); },
           {"Stft(", "takes f32 or f64; Cast(x, F32) first"}),
        In("WindowType", [](Builder& b) { Stft(X(b, {9}), X(b, {4}, F64), {.n_fft = 4}); },
           {"Stft(", "needs a window of the operand's element type"}),
        In("NoFft", [](Builder& b) { ToStft(b, {9}, {}); }, {"Stft(", "needs an n_fft of at least 1, got 0"}),
        In("NoHop", [](Builder& b) { ToStft(b, {9}, {.n_fft = 4, .hop = 0}); },
           {"Stft(", "needs a hop of at least 1, got 0"}),
        In("DefaultHop", [](Builder& b) { ToStft(b, {9}, {.n_fft = 3}, 3); },
           {"needs a hop of at least 1, got 0"}),
        In("LongWindow", [](Builder& b) { ToStft(b, {9}, {.n_fft = 4}, 5); },
           {"Stft(", "needs a window [n] of 1 to 4 samples"}),
        In("Scalar", [](Builder& b) { ToStft(b, {}, {.n_fft = 4}); }, {"Stft(", "takes a signal [..., t]"}),
        In("ShortSignal", [](Builder& b) { ToStft(b, {2}, {.n_fft = 4}); },
           {"Stft(", "mirrors 2 samples of a signal of 2, which must be longer"}),
        In("NoFrame", [](Builder& b) { ToStft(b, {3}, {.n_fft = 4, .center = false}); },
           {"Stft(", "needs a signal of at least 4 samples, got 3"}),
        In("SpectrumSize", [](Builder& b) { ToIstft(b, {4, 5, 2}, {.n_fft = 4}); },
           {"Istft(", "takes a spectrum [..., 3, frames, 2]"}),
        In("TwoSided", [](Builder& b) { ToIstft(b, {3, 5, 2}, {.n_fft = 4, .onesided = false}); },
           {"Istft(", "takes a spectrum [..., 4, frames, 2]"}),
        In("SpectrumRank", [](Builder& b) { ToIstft(b, {3, 2}, {.n_fft = 4}); },
           {"Istft(", "takes a spectrum"}),
        In("NoFrames", [](Builder& b) { ToIstft(b, {3, 0, 2}, {.n_fft = 4}); }, {"of at least one frame"}),
        In("NoLength", [](Builder& b) { ToIstft(b, {3, 1, 2}, {.n_fft = 4}); },
           {"Istft(", "gives 0 samples; expected at least one"}),
        In("NegativeLength", [](Builder& b) { ToIstft(b, {3, 5, 2}, {.n_fft = 4, .length = -1}); },
           {"Istft(", "gives -1 samples"}),
        In("WindowSize", [](Builder& b) { HannWindow(b, 0); }, {"HannWindow", "has 0 samples"}),
        In("WindowOfIntegers", [](Builder& b) { HammingWindow(b, 4, {.dtype = I32}); },
           {"HammingWindow", "gives floats"}),
        In("BlackmanSize", [](Builder& b) { BlackmanWindow(b, -2); }, {"BlackmanWindow", "has -2 samples"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
