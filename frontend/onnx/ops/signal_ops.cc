#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/fourier/fourier.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/numbers.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Windows, Fourier transforms and spectra of signals.
namespace sinter::onnx {
namespace {

constexpr int64_t kLongestWindow = int64_t{1} << 24;

// Sums of cosines a[0] - a[1] cos(p) + a[2] cos(2 p) over one period.
absl::StatusOr<Values> CosineWindow(Node& node, const std::vector<double>& a) {
  SINTER_ASSIGN_OR_RETURN(const int64_t size, node.Int(0));
  SINTER_ASSIGN_OR_RETURN(const DType dtype, TypeAttr(node, "output_datatype", DType::kF32));
  if (size < 0 || size > kLongestWindow) return node.Bad(absl::StrCat("a window of ", size));
  const auto period = static_cast<double>(node.Int("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double phase = period > 0 ? 2 * std::numbers::pi * static_cast<double>(i) / period : 0;
    double value = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      value += (k % 2 == 0 ? a[k] : -a[k]) * std::cos(static_cast<double>(k) * phase);
    }
    values.push_back(value);
  }
  return Values(node.Constant({size}, values, dtype));
}
absl::StatusOr<Values> HannOf(Node& node) { return CosineWindow(node, {0.5, 0.5}); }
absl::StatusOr<Values> HammingOf(Node& node) { return CosineWindow(node, {25.0 / 46, 21.0 / 46}); }
absl::StatusOr<Values> BlackmanOf(Node& node) { return CosineWindow(node, {0.42, 0.5, 0.08}); }

// x [..., 1] of real numbers as complex ones, or [..., 2].
Tensor AsComplex(const Tensor& x) {
  if (!x.ok() || x.dim(-1) == 2) return x;
  Shape low(static_cast<size_t>(x.rank()), 0), high = low;
  high.back() = 1;
  return Pad(x, low, high, 0);
}

// From version 20 on the axis is an operand.
absl::StatusOr<Values> DftOf(Node& node) {
  const Tensor x = node.In(0);
  if (x.rank() < 2 || (x.dim(-1) != 1 && x.dim(-1) != 2)) return node.Bad("x is no [..., 1] and no [..., 2]");
  int64_t axis = node.Int("axis", node.version() < 20 ? 1 : -2);
  if (node.version() >= 20 && node.Has(2)) {
    SINTER_ASSIGN_OR_RETURN(axis, node.Int(2));
  }
  axis = node.Axis(axis, x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  if (axis == x.rank() - 1) return node.Bad("the axis is that of the complex numbers");
  FftOptions options{.n = x.dim(axis), .dim = axis};
  if (node.Has(1)) {
    SINTER_ASSIGN_OR_RETURN(options.n, node.Int(1));
  }
  const Tensor complex = AsComplex(x);
  if (node.Int("inverse", 0) != 0) return Values(Ifft(complex, options));
  const Tensor y = Fft(complex, options);
  return Values(node.Int("onesided", 0) != 0 ? SliceDim(y, axis, 0, *options.n / 2 + 1) : y);
}

// Frames [batch, frames, length, 1 or 2] of a signal [batch, samples, 1 or 2].
absl::StatusOr<Values> StftOf(Node& node) {
  Tensor x = node.In(0);
  if (x.rank() == 2) x = ExpandDims(x, 2);
  if (x.rank() != 3) return node.Bad("the signal is no [batch, samples, 1 or 2]");
  SINTER_ASSIGN_OR_RETURN(const int64_t step, node.Int(1));
  int64_t length = node.Has(2) ? node.shape(2).empty() ? 0 : node.shape(2)[0] : 0;
  if (node.Has(3)) {
    SINTER_ASSIGN_OR_RETURN(length, node.Int(3));
  }
  const int64_t samples = x.dim(1);
  if (step < 1 || length < 1 || length > samples) return node.Bad("the frames do not fit the signal");
  const int64_t frames = (samples - length) / step + 1;
  if (frames * length > kLongestWindow) return node.Unsupported("OP_FORM", "the frames are too large");
  std::vector<int64_t> places;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < length; ++i) places.push_back(f * step + i);
  }
  Tensor framed = Gather(x, node.Constant({frames, length}, places), 1);
  if (node.Has(2)) framed = framed * Reshape(node.In(2), {length, 1});
  const Tensor y = Fft(AsComplex(framed), {.dim = 2});
  return Values(node.Int("onesided", 1) != 0 ? SliceDim(y, 2, 0, length / 2 + 1) : y);
}

// Triangles that are evenly spaced on the mel scale: [bins of the spectrum, mel bins].
absl::StatusOr<Values> MelWeightsOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const int64_t mels, node.Int(0));
  SINTER_ASSIGN_OR_RETURN(const int64_t size, node.Int(1));
  SINTER_ASSIGN_OR_RETURN(const int64_t rate, node.Int(2));
  SINTER_ASSIGN_OR_RETURN(const double low, node.Real(3));
  SINTER_ASSIGN_OR_RETURN(const double high, node.Real(4));
  SINTER_ASSIGN_OR_RETURN(const DType dtype, TypeAttr(node, "output_datatype", DType::kF32));
  if (mels < 1 || mels > 1 << 16 || size < 1 || size > 1 << 20 || rate < 1 || !(low >= 0 && high > low)) {
    return node.Bad("a size or a frequency is out of range");
  }
  const int64_t bins = size / 2 + 1;
  const auto mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; ++i) {
    const double at =
        static_cast<double>(i) * (mel(high) - mel(low)) / static_cast<double>(mels + 2) + mel(low);
    const double hz = 700 * (std::pow(10, at / 2595) - 1);
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(size + 1) * hz / static_cast<double>(rate))));
  }
  std::vector<double> weights(static_cast<size_t>(bins * mels), 0);
  for (int64_t m = 0; m < mels; ++m) {
    const int64_t first = edges[static_cast<size_t>(m)], middle = edges[static_cast<size_t>(m) + 1],
                  last = edges[static_cast<size_t>(m) + 2];
    const auto set = [&](int64_t k, double weight) {
      if (k >= 0 && k < bins) weights[static_cast<size_t>(k * mels + m)] = weight;
    };
    for (int64_t k = first; k <= middle; ++k) {
      set(k, middle == first ? 1 : static_cast<double>(k - first) / static_cast<double>(middle - first));
    }
    for (int64_t k = middle; k < last; ++k) {
      set(k, static_cast<double>(last - k) / static_cast<double>(last - middle));
    }
  }
  return Values(node.Constant({bins, mels}, weights, dtype));
}

// Counts of n-grams of integers. Element i of the result is the n-gram of the pool whose index is i.
absl::StatusOr<Values> TfIdfOf(Node& node) {
  Tensor x = node.In(0);
  const bool has_batch = x.rank() == 2;
  if (x.rank() == 1) x = ExpandDims(x, 0);
  if (x.rank() != 2) return node.Bad("x is no [words] and no [batch, words]");
  const Shape pool = node.Ints("pool_int64s"), starts = node.Ints("ngram_counts"),
              indexes = node.Ints("ngram_indexes");
  if (pool.empty()) return node.Unsupported("STRINGS", "the pool has strings");
  const int64_t shortest = node.Int("min_gram_length", 1), longest = node.Int("max_gram_length", 1);
  const int64_t skips = node.Int("max_skip_count", 0);
  const std::string mode = node.Text("mode", "TF");
  const std::vector<double> factors = node.Reals("weights", std::vector<double>(indexes.size(), 1));
  if (skips < 0 || skips > 1 << 10 || shortest < 1 || factors.size() != indexes.size())
    return node.Bad("bad attributes");
  int64_t width = 0;
  for (const int64_t index : indexes) width = std::max(width, index + 1);
  if (width > 1 << 16) return node.Unsupported("OP_FORM", "more than 65,536 n-grams");
  std::vector<Tensor> columns(static_cast<size_t>(width));
  size_t gram = 0;
  const int64_t words = x.dim(1);
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto n = static_cast<int64_t>(k) + 1;
    const int64_t end = k + 1 < starts.size() ? starts[k + 1] : static_cast<int64_t>(pool.size());
    if (starts[k] < 0 || end > static_cast<int64_t>(pool.size()) || n > 64)
      return node.Bad("ngram_counts do not fit the pool");
    for (int64_t at = starts[k]; at + n <= end; at += n, ++gram) {
      if (gram >= indexes.size() || indexes[gram] < 0) return node.Bad("ngram_indexes do not fit the pool");
      Tensor count = node.b().Full(DType::kF32, {x.dim(0)}, 0);
      for (int64_t skip = 0; n >= shortest && n <= longest && skip <= (n == 1 ? 0 : skips); ++skip) {
        const int64_t span = (n - 1) * (skip + 1) + 1;
        if (span > words) break;
        Tensor found;
        for (int64_t i = 0; i < n; ++i) {
          const Tensor part = SliceDim(x, 1, i * (skip + 1), i * (skip + 1) + words - span + 1);
          const Tensor same = Equal(Cast(part, DType::kI64), pool[static_cast<size_t>(at + i)]);
          found = i == 0 ? same : found && same;
        }
        count = count + Sum(Cast(found, DType::kF32), {1});
      }
      if (mode == "IDF") count = Cast(count > 0, DType::kF32) * factors[gram];
      if (mode == "TFIDF") count = count * factors[gram];
      columns[static_cast<size_t>(indexes[gram])] = count;
    }
  }
  for (Tensor& column : columns) {
    if (!column.ok()) column = node.b().Full(DType::kF32, {x.dim(0)}, 0);
  }
  const Tensor y = Stack(columns, 1);
  return Values(has_batch ? y : Squeeze(y, 0));
}

constexpr OpRecord kSignals[] = {
    {"BlackmanWindow", 17, BlackmanOf},    {"DFT", 17, DftOf},
    {"HammingWindow", 17, HammingOf},      {"HannWindow", 17, HannOf},
    {"MelWeightMatrix", 17, MelWeightsOf}, {"STFT", 17, StftOf},
    {"TfIdfVectorizer", 9, TfIdfOf},
};

}  // namespace

std::span<const OpRecord> SignalOps() { return kSignals; }

}  // namespace sinter::onnx
