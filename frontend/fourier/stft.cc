#include "sinter/frontend/fourier/stft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/fourier/complex_numbers.h"
#include "sinter/frontend/fourier/fourier.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

struct Framing {
  int64_t n_fft, hop, half;
  bool normalized, onesided;
  int64_t mirrored = 0;  // Samples before the signal in the first frame.

  template <typename Options>
  explicit Framing(const Options& options)
      : n_fft(options.n_fft),
        hop(options.hop.value_or(options.n_fft / 4)),
        half(options.n_fft / 2),
        normalized(options.normalized),
        onesided(options.onesided),
        mirrored(options.center ? options.n_fft / 2 : 0) {}

  int64_t numbers() const { return onesided ? half + 1 : n_fft; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(n_fft)); }
};

// Says what is wrong with the options, the window and the operand; empty if nothing is.
std::string WrongFraming(const Framing& f, const Tensor& x, const Tensor& window) {
  if (x.dtype() != F32 && x.dtype() != F64) return "takes f32 or f64; Cast(x, F32) first";
  if (window.dtype() != x.dtype()) return "needs a window of the operand's element type";
  if (f.n_fft < 1 || f.n_fft > kMaxElements)
    return absl::StrCat("needs an n_fft of at least 1, got ", f.n_fft);
  if (f.hop < 1 || f.hop > kMaxElements) return absl::StrCat("needs a hop of at least 1, got ", f.hop);
  if (window.rank() == 1 && window.size() >= 1 && window.size() <= f.n_fft) return "";
  return absl::StrCat("needs a window [n] of 1 to ", f.n_fft, " samples");
}

// The window among zeros, n_fft samples.
Tensor WholeWindow(const Tensor& window, int64_t n_fft) {
  const int64_t missing = n_fft - window.size();
  return missing == 0 ? window : Pad(window, {missing / 2}, {missing - missing / 2});
}

// The frames [..., frames, n_fft] of a signal [..., t].
Tensor FramesOf(std::string_view name, const Tensor& x, const Framing& f, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  const int64_t samples = x.dim(-1), frames = 1 + (samples + 2 * f.mirrored - f.n_fft) / f.hop;
  ir::GraphBuilder& b = call.b();
  const int64_t sizes[] = {frames, f.n_fft};
  const mlir::Type number = call.element(I64);
  const ir::Expr begin =
      b.iota(sizes, number, 0) * static_cast<double>(f.hop) - static_cast<double>(f.mirrored);
  // Mirrored at the first sample, and at the last one.
  const double last = static_cast<double>(samples - 1);
  const ir::Expr place = last - b.abs(last - b.abs(begin + b.iota(sizes, number, 1)));
  return Gather(x, call.Done(place), -1, where);
}

// Frames [b, frames, n] that begin `hop` samples apart, added: [b, (frames - 1) * hop + n], and zeros.
// Each frame is cut in pieces of `hop` samples. Piece j of frame i belongs to place i + j of the result. A
// row of `frames + pieces` places for each j, read as rows of one place less, has row j moved by j places.
Tensor Overlapped(const Tensor& frames, int64_t hop) {
  const int64_t batch = frames.dim(0), count = frames.dim(1), n = frames.dim(2), pieces = (n + hop - 1) / hop;
  const Tensor whole = Pad(frames, {0, 0, 0}, {0, 0, pieces * hop - n});
  const Tensor cut = Transpose(Reshape(whole, {batch, count, pieces, hop}), {0, 2, 1, 3});
  const Tensor rows =
      Reshape(Pad(cut, {0, 0, 0, 0}, {0, 0, pieces, 0}), {batch, pieces * (count + pieces), hop});
  const int64_t places = count + pieces - 1;
  const Tensor moved = Reshape(SliceDim(rows, 1, 0, pieces * places), {batch, pieces, places, hop});
  return Reshape(Sum(moved, {1}), {batch, places * hop});
}

// Real numbers as complex ones.
Tensor WithoutImaginary(const Tensor& x) {
  Shape low(static_cast<size_t>(x.rank()) + 1, 0), high = low;
  high.back() = 1;
  return Pad(ExpandDims(x, -1), low, high);
}

// Samples [begin, begin + count) of [b, t], with zeros behind the last one.
Tensor Samples(const Tensor& x, int64_t begin, int64_t count) {
  const int64_t end = std::min(begin + count, x.dim(1));
  const Tensor part = SliceDim(x, 1, begin, end);
  return end == begin + count ? part : Pad(part, {0, 0}, {0, begin + count - end});
}

// A window of these weights of cosines of 0, 1 and 2 times the angle.
Tensor CosineWindow(std::string_view name, Builder& b, int64_t n, const std::array<double, 3>& weights,
                    const WindowOptions& options, Where where) {
  Call call(name, where, b.function());
  if (!call.ok()) return {};
  if (!IsFloat(options.dtype)) return call.Fail("gives floats");
  if (n < 1) return call.Fail(absl::StrCat("has ", n, " samples; expected at least one"));
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr(name));
  if (n == 1) return b.Ones(options.dtype, {1});
  const double step = 2 * std::numbers::pi / static_cast<double>(options.periodic ? n : n - 1);
  const Tensor angle = Cast(b.Iota(I64, {n}), F64) * step;
  return Cast(weights[0] + weights[1] * Cos(angle) + weights[2] * Cos(2.0 * angle), options.dtype);
}

}  // namespace

Tensor Stft(const Tensor& x, const Tensor& window, const StftOptions& options, Where where) {
  CompositeCall call("Stft", where, {x, window});
  if (!call.ok()) return {};
  const Framing f(options);
  if (const std::string wrong = WrongFraming(f, x, window); !wrong.empty()) return call.Fail(wrong);
  if (x.rank() < 1) return call.Fail("takes a signal [..., t]");
  const int64_t samples = x.dim(-1);
  if (f.mirrored >= samples && f.mirrored > 0) {
    return call.Fail(absl::StrCat("mirrors ", f.mirrored, " samples of a signal of ", samples,
                                  ", which must be longer: or choose center = false"));
  }
  if (samples + 2 * f.mirrored < f.n_fft) {
    return call.Fail(absl::StrCat("needs a signal of at least ", f.n_fft, " samples, got ", samples));
  }
  const Tensor frames = FramesOf("Stft", x, f, where) * WholeWindow(window, f.n_fft);
  const Tensor spectrum = f.onesided ? Rfft(frames) : Fft(WithoutImaginary(frames));
  if (!spectrum.ok()) return {};
  // Frames behind the numbers of each.
  Shape order;
  for (int64_t d = 0; d < spectrum.rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 3], order[order.size() - 2]);
  const Tensor result = Transpose(spectrum, order);
  return f.normalized ? result * f.scale() : result;
}

Tensor Istft(const Tensor& x, const Tensor& window, const IstftOptions& options, Where where) {
  CompositeCall call("Istft", where, {x, window});
  if (!call.ok()) return {};
  const Framing f(options);
  if (const std::string wrong = WrongFraming(f, x, window); !wrong.empty()) return call.Fail(wrong);
  if (x.rank() < 3 || x.dim(-1) != 2 || x.dim(-3) != f.numbers() || x.dim(-2) < 1) {
    return call.Fail(
        absl::StrCat("takes a spectrum [..., ", f.numbers(), ", frames, 2] of at least one frame"));
  }
  const int64_t frames = x.dim(-2), reached = (frames - 1) * f.hop + f.n_fft - f.mirrored;
  const int64_t length = options.length.value_or(reached - f.mirrored);
  if (length < 1 || length > kMaxElements) {
    return call.Fail(absl::StrCat("gives ", length, " samples; expected at least one"));
  }
  Shape leading = x.shape();
  leading.resize(leading.size() - 3);
  int64_t batch = 1;
  for (const int64_t size : leading) batch *= size;
  const Tensor spectra = Transpose(Reshape(x, {batch, f.numbers(), frames, 2}), {0, 2, 1, 3});
  const FftOptions of_frames = {.n = f.n_fft, .norm = f.normalized ? FftNorm::kOrtho : FftNorm::kBackward};
  const Tensor samples = f.onesided ? Irfft(spectra, of_frames) : ComplexReal(Ifft(spectra, of_frames));
  const Tensor whole = WholeWindow(window, f.n_fft);
  if (!samples.ok() || !whole.ok()) return {};
  // Samples behind the last frame are 0.
  const int64_t kept = std::min(length, reached);
  const Tensor sum = Samples(Overlapped(samples * whole, f.hop), f.mirrored, kept);
  const Tensor squares = BroadcastTo(Square(whole), {1, frames, f.n_fft});
  const Tensor weight = Samples(Overlapped(squares, f.hop), f.mirrored, kept);
  leading.push_back(length);
  return Reshape(Samples(sum / weight, 0, length), leading);
}

Tensor HannWindow(Builder& b, int64_t n, const WindowOptions& options, Where where) {
  return CosineWindow("HannWindow", b, n, {0.5, -0.5, 0}, options, where);
}
Tensor HammingWindow(Builder& b, int64_t n, const WindowOptions& options, Where where) {
  return CosineWindow("HammingWindow", b, n, {0.54, -0.46, 0}, options, where);
}
Tensor BlackmanWindow(Builder& b, int64_t n, const WindowOptions& options, Where where) {
  return CosineWindow("BlackmanWindow", b, n, {0.42, -0.5, 0.08}, options, where);
}

}  // namespace sinter
