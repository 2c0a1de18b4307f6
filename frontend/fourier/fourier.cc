#include "sinter/frontend/fourier/fourier.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// Kinds of transforms: of complex numbers with either sign, from real ones, and to real ones.
enum class TransformForm { kComplex, kInverse, kFromReal, kToReal };

bool TakesPairs(TransformForm form) { return form != TransformForm::kFromReal; }
bool IsInverse(TransformForm form) {
  return form == TransformForm::kInverse || form == TransformForm::kToReal;
}

// Says why x has no numbers to transform; empty if it has.
std::string NoSignal(const Tensor& x, bool is_complex) {
  if (x.dtype() != F32 && x.dtype() != F64) return "takes f32 or f64; Cast(x, F32) first";
  if (is_complex && (x.rank() < 1 || x.dim(-1) != 2)) {
    return "takes complex numbers: pairs [re, im] in a last dimension of size 2; ComplexFrom(x, y) makes "
           "them";
  }
  return "";
}

// Dimensions without that of pairs.
int64_t SignalRank(const Tensor& x, bool is_complex) { return x.rank() - (is_complex ? 1 : 0); }

// Fills dimension `dim` with zeros, or cuts it off, up to this size.
Tensor Resized(const Tensor& x, int64_t dim, int64_t size) {
  const int64_t now = x.dim(dim);
  if (!x.ok() || now == size) return x;
  if (now > size) return SliceDim(x, dim, 0, size);
  Shape low(static_cast<size_t>(x.rank()), 0), high = low;
  high[static_cast<size_t>(dim)] = size - now;
  return Pad(x, low, high);
}

// A tensor whose dimensions are moved as the transforms need them, each to the end.
class MovedSignal {
 public:
  MovedSignal(const Tensor& x, bool is_complex)
      : x_(x), is_complex_(is_complex), order_(static_cast<size_t>(SignalRank(x, is_complex))) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  const Tensor& x() const { return x_; }
  void Set(const Tensor& x, bool is_complex) { x_ = x, is_complex_ = is_complex; }

  // Moves the dimension `dim` of the original to the end.
  void BringLast(int64_t dim) {
    Shape order = order_;
    std::erase(order, dim);
    order.push_back(dim);
    Arrange(order);
  }
  // Moves all dimensions back.
  Tensor Restored() {
    Shape order(order_.size());
    std::iota(order.begin(), order.end(), 0);
    Arrange(order);
    return x_;
  }

 private:
  void Arrange(const Shape& order) {
    if (order == order_) return;
    Shape permutation;
    for (const int64_t dim : order) permutation.push_back(std::ranges::find(order_, dim) - order_.begin());
    if (is_complex_) permutation.push_back(static_cast<int64_t>(order.size()));
    x_ = Transpose(x_, permutation);
    order_ = order;
  }

  Tensor x_;
  bool is_complex_;
  Shape order_;  // The original's dimension at each place.
};

// One op on the last dimension, of n numbers.
Tensor TransformLast(std::string_view name, const Tensor& x, TransformForm form, int64_t n, Where where) {
  Call call(name, where, {x});
  if (!call.ok()) return {};
  mlir::OpBuilder& builder = call.b().builder();
  Shape shape = x.shape();
  if (form == TransformForm::kFromReal) {
    shape.back() = n / 2 + 1;
    shape.push_back(2);
    return call.Done(builder.create<ir::RfftOp>(call.loc(), call.type(x.dtype(), shape), call.value(0)));
  }
  if (form == TransformForm::kToReal) {
    shape.pop_back();
    shape.back() = n;
    if (!call.CheckShape(x.dtype(), shape)) return {};
    return call.Done(builder.create<ir::IrfftOp>(call.loc(), call.type(x.dtype(), shape), call.value(0)));
  }
  return call.Done(builder.create<ir::FftOp>(call.loc(), call.type(x.dtype(), shape), call.value(0),
                                             form == TransformForm::kInverse));
}

double ScaleOf(FftNorm norm, bool is_inverse, double count) {
  if (norm == FftNorm::kOrtho) return 1 / std::sqrt(count);
  return is_inverse == (norm == FftNorm::kBackward) ? 1 / count : 1;
}

// The dimensions that are transformed, and the number of each. The last one is real where a form is.
struct TransformedDims {
  Shape dims, sizes;
};

// Transforms with checked options.
Tensor Transformed(std::string_view name, const Tensor& x, TransformForm form, const TransformedDims& extent,
                   FftNorm norm, Where where) {
  MovedSignal moved(x, TakesPairs(form));
  double count = 1;
  for (const int64_t size : extent.sizes) count *= static_cast<double>(size);
  Tensor resized = x;
  for (size_t i = 0; i < extent.dims.size(); ++i) {
    const bool is_half = form == TransformForm::kToReal && i + 1 == extent.dims.size();
    resized = Resized(resized, extent.dims[i], is_half ? extent.sizes[i] / 2 + 1 : extent.sizes[i]);
  }
  moved.Set(resized, TakesPairs(form));
  const auto transform = [&](size_t i, TransformForm one) {
    moved.BringLast(extent.dims[i]);
    moved.Set(TransformLast(name, moved.x(), one, extent.sizes[i], where), one != TransformForm::kToReal);
  };
  const size_t last = extent.dims.size() - 1;
  if (form == TransformForm::kFromReal) transform(last, form);
  for (size_t i = 0; i < last; ++i) {
    // From the last dimension but one, which is near the end already.
    transform(last - 1 - i, IsInverse(form) ? TransformForm::kInverse : TransformForm::kComplex);
  }
  if (form != TransformForm::kFromReal) transform(last, form);
  const Tensor result = moved.Restored();
  const double scale = ScaleOf(norm, IsInverse(form), count);
  return scale == 1 ? result : result * scale;
}

std::string WrongSize(int64_t size) {
  if (size < 1) return absl::StrCat("transforms ", size, " numbers; expected at least one");
  return size > kMaxElements ? absl::StrCat("transforms ", size, " numbers, more than a tensor can have")
                             : "";
}

Tensor OneDimension(std::string_view name, const Tensor& x, TransformForm form, const FftOptions& options,
                    Where where) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoSignal(x, TakesPairs(form)); !wrong.empty()) return call.Fail(wrong);
  const std::optional<int64_t> dim = call.Dim(options.dim, SignalRank(x, TakesPairs(form)));
  if (!dim) return {};
  const int64_t size = x.dim(*dim),
                n = options.n.value_or(form == TransformForm::kToReal ? 2 * (size - 1) : size);
  if (const std::string wrong = WrongSize(n); !wrong.empty()) return call.Fail(wrong);
  return Transformed(name, x, form, {{*dim}, {n}}, options.norm, where);
}

// The dimensions of FftnOptions for a signal of this rank, not yet resolved.
Shape DimsOf(const FftnOptions& options, int64_t rank) {
  if (!options.dims.empty()) return options.dims;
  const int64_t count = options.sizes.empty() ? rank : static_cast<int64_t>(options.sizes.size());
  Shape dims(static_cast<size_t>(count));
  std::iota(dims.begin(), dims.end(), -count);
  return dims;
}

Tensor SeveralDimensions(std::string_view name, const Tensor& x, TransformForm form, FftnOptions options,
                         Where where) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (const std::string wrong = NoSignal(x, TakesPairs(form)); !wrong.empty()) return call.Fail(wrong);
  const int64_t rank = SignalRank(x, TakesPairs(form));
  options.dims = DimsOf(options, rank);
  if (options.dims.empty()) return call.Fail("needs a dimension");
  if (!options.sizes.empty() && options.sizes.size() != options.dims.size()) {
    return call.Fail(
        absl::StrCat("has ", options.sizes.size(), " sizes for ", options.dims.size(), " dimensions"));
  }
  TransformedDims extent;
  for (size_t i = 0; i < options.dims.size(); ++i) {
    const std::optional<int64_t> dim = call.Dim(options.dims[i], rank);
    if (!dim) return {};
    if (std::ranges::find(extent.dims, *dim) != extent.dims.end()) {
      return call.Fail(absl::StrCat("transforms dimension ", *dim, " twice"));
    }
    const bool is_half = form == TransformForm::kToReal && i + 1 == options.dims.size();
    const int64_t size = is_half ? 2 * (x.dim(*dim) - 1) : x.dim(*dim);
    extent.dims.push_back(*dim);
    extent.sizes.push_back(options.sizes.empty() ? size : options.sizes[i]);
    if (const std::string wrong = WrongSize(extent.sizes.back()); !wrong.empty()) return call.Fail(wrong);
  }
  return Transformed(name, x, form, extent, options.norm, where);
}

// Two dimensions: the last ones unless others are given.
Tensor TwoDimensions(std::string_view name, const Tensor& x, TransformForm form, FftnOptions options,
                     Where where) {
  if (options.dims.empty()) options.dims = {-2, -1};
  if (options.dims.size() != 2) {
    CompositeCall call(name, where, {x});
    return call.ok() ? call.Fail(absl::StrCat("has ", options.dims.size(), " dimensions; expected two"))
                     : Tensor();
  }
  return SeveralDimensions(name, x, form, std::move(options), where);
}

// Rolls each dimension by half of its size, rounded down, or up in the other direction.
Tensor FrequencyShifted(std::string_view name, const Tensor& x, const FftShiftOptions& options,
                        bool is_inverse, Where where) {
  CompositeCall call(name, where, {x});
  if (!call.ok()) return {};
  if (!options.is_real && (x.rank() < 1 || x.dim(-1) != 2)) {
    return call.Fail(
        "takes complex numbers: pairs [re, im] in a last dimension of size 2; give real ones with {.is_real "
        "= true}");
  }
  const int64_t rank = SignalRank(x, !options.is_real);
  Shape dims = options.dims;
  if (dims.empty()) {
    dims.resize(static_cast<size_t>(rank));
    std::iota(dims.begin(), dims.end(), 0);
  }
  Tensor result = x;
  for (const int64_t given : dims) {
    const std::optional<int64_t> dim = call.Dim(given, rank);
    if (!dim) return {};
    const int64_t half = x.dim(*dim) / 2;
    result = Roll(result, is_inverse ? -half : half, *dim);
  }
  return result;
}

// The frequencies of a transform of n samples, or of its first half.
Tensor Frequencies(std::string_view name, Builder& b, int64_t n, bool is_half, const FftFreqOptions& options,
                   Where where) {
  Call call(name, where, b.function());
  if (!call.ok()) return {};
  if (!IsFloat(options.dtype)) return call.Fail("gives floats");
  if (const std::string wrong = WrongSize(n); !wrong.empty()) return call.Fail(wrong);
  if (const std::string wrong = OutOfBounds("a spacing", options.spacing, {.above = 0}); !wrong.empty()) {
    return call.Fail(wrong);
  }
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr(name));
  const Tensor number = b.Iota(I64, {is_half ? n / 2 + 1 : n});
  // The second half of a whole transform has negative frequencies.
  const Tensor signed_number = is_half ? number : Select(number < (n + 1) / 2, number, number - n);
  return Cast(Cast(signed_number, F64) * (1 / (static_cast<double>(n) * options.spacing)), options.dtype);
}

}  // namespace

Tensor Fft(const Tensor& x, const FftOptions& options, Where where) {
  return OneDimension("Fft", x, TransformForm::kComplex, options, where);
}
Tensor Ifft(const Tensor& x, const FftOptions& options, Where where) {
  return OneDimension("Ifft", x, TransformForm::kInverse, options, where);
}
Tensor Rfft(const Tensor& x, const FftOptions& options, Where where) {
  return OneDimension("Rfft", x, TransformForm::kFromReal, options, where);
}
Tensor Irfft(const Tensor& x, const FftOptions& options, Where where) {
  return OneDimension("Irfft", x, TransformForm::kToReal, options, where);
}

Tensor Fftn(const Tensor& x, const FftnOptions& options, Where where) {
  return SeveralDimensions("Fftn", x, TransformForm::kComplex, options, where);
}
Tensor Ifftn(const Tensor& x, const FftnOptions& options, Where where) {
  return SeveralDimensions("Ifftn", x, TransformForm::kInverse, options, where);
}
Tensor Rfftn(const Tensor& x, const FftnOptions& options, Where where) {
  return SeveralDimensions("Rfftn", x, TransformForm::kFromReal, options, where);
}
Tensor Irfftn(const Tensor& x, const FftnOptions& options, Where where) {
  return SeveralDimensions("Irfftn", x, TransformForm::kToReal, options, where);
}

Tensor Fft2(const Tensor& x, const FftnOptions& options, Where where) {
  return TwoDimensions("Fft2", x, TransformForm::kComplex, options, where);
}
Tensor Ifft2(const Tensor& x, const FftnOptions& options, Where where) {
  return TwoDimensions("Ifft2", x, TransformForm::kInverse, options, where);
}
Tensor Rfft2(const Tensor& x, const FftnOptions& options, Where where) {
  return TwoDimensions("Rfft2", x, TransformForm::kFromReal, options, where);
}
Tensor Irfft2(const Tensor& x, const FftnOptions& options, Where where) {
  return TwoDimensions("Irfft2", x, TransformForm::kToReal, options, where);
}

Tensor FftShift(const Tensor& x, const FftShiftOptions& options, Where where) {
  return FrequencyShifted("FftShift", x, options, /*is_inverse=*/false, where);
}
Tensor IfftShift(const Tensor& x, const FftShiftOptions& options, Where where) {
  return FrequencyShifted("IfftShift", x, options, /*is_inverse=*/true, where);
}

Tensor FftFreq(Builder& b, int64_t n, const FftFreqOptions& options, Where where) {
  return Frequencies("FftFreq", b, n, /*is_half=*/false, options, where);
}
Tensor RfftFreq(Builder& b, int64_t n, const FftFreqOptions& options, Where where) {
  return Frequencies("RfftFreq", b, n, /*is_half=*/true, options, where);
}

}  // namespace sinter
