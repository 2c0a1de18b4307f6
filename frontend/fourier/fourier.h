// Discrete Fourier transforms, with the names, options and results of torch.fft.
//
//   Tensor spectrum = Rfft(signal);                              // [..., n] -> [..., n / 2 + 1, 2]
//   Tensor same = Irfft(spectrum, {.n = signal.dim(-1)});
//   Tensor image = Ifft2(ComplexMul(Fft2(z), filter));           // [..., h, w, 2]
//
// Numbers are f32 or f64. Complex numbers are pairs in a last dimension of size 2 (complex_numbers.h), and
// dimensions are counted without it: -1 is the one before it. Real numbers have no such dimension. Transforms
// of each sign may have any size of at least 1. Powers of 2, 3 and 5 are fastest. On CPUs one thread works on
// a transform, and threads share the others. On GPUs cuFFT computes them, which is opened when a plan is
// loaded.
#ifndef SINTER_FRONTEND_FOURIER_FOURIER_H_
#define SINTER_FRONTEND_FOURIER_FOURIER_H_

#include <optional>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// Scales of transforms of n numbers. kBackward: the inverse by 1 / n. kForward: the other one by 1 / n.
// kOrtho: both by 1 / sqrt(n).
enum class FftNorm { kBackward, kOrtho, kForward };

// n: the size of the dimension that is transformed. A smaller one is filled with zeros at its end, and a
// larger one cut off. Without n, that of the operand; for Irfft, 2 (size - 1).
struct FftOptions {
  std::optional<int64_t> n = std::nullopt;
  int64_t dim = -1;
  FftNorm norm = FftNorm::kBackward;
};
// Complex numbers to complex ones.
Tensor Fft(const Tensor& x, const FftOptions& options = {}, Where where = Where::current());
Tensor Ifft(const Tensor& x, const FftOptions& options = {}, Where where = Where::current());
// Real numbers to the n / 2 + 1 complex ones that are not the conjugates of others, and back. Irfft gives n
// numbers; it does not read the imaginary parts of number 0, and of number n / 2 if n is even.
Tensor Rfft(const Tensor& x, const FftOptions& options = {}, Where where = Where::current());
Tensor Irfft(const Tensor& x, const FftOptions& options = {}, Where where = Where::current());

// The same over several dimensions: `dims`, or all of them, or, with sizes, as many of the last ones. `sizes`
// has an n for each of them. Rfftn and Irfftn have half of the last one.
struct FftnOptions {
  Shape sizes = {};
  Shape dims = {};
  FftNorm norm = FftNorm::kBackward;
};
Tensor Fftn(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
Tensor Ifftn(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
Tensor Rfftn(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
Tensor Irfftn(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
// Over the last two dimensions, or two others.
Tensor Fft2(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
Tensor Ifft2(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
Tensor Rfft2(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());
Tensor Irfft2(const Tensor& x, const FftnOptions& options = {}, Where where = Where::current());

// Moves frequency 0 to the middle of the dimensions, all or those given; IfftShift moves it back. Real
// numbers, such as frequencies and powers, are given with is_real.
struct FftShiftOptions {
  Shape dims = {};
  bool is_real = false;
};
Tensor FftShift(const Tensor& x, const FftShiftOptions& options = {}, Where where = Where::current());
Tensor IfftShift(const Tensor& x, const FftShiftOptions& options = {}, Where where = Where::current());

// The frequency of each number of a transform of n samples that are `spacing` apart, [n]: 0, 1, 2, ..., -2,
// -1 divided by n * spacing; and of those of Rfft, [n / 2 + 1].
struct FftFreqOptions {
  double spacing = 1;
  DType dtype = F32;
};
Tensor FftFreq(Builder& b, int64_t n, const FftFreqOptions& options = {}, Where where = Where::current());
Tensor RfftFreq(Builder& b, int64_t n, const FftFreqOptions& options = {}, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_FOURIER_FOURIER_H_
