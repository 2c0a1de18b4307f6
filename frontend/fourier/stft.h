// Short-time Fourier transforms of signals, and windows for them, with the results of torch.stft.
//
//   const StftOptions options = {.n_fft = 512, .hop = 160};
//   const Tensor window = HannWindow(b, 400);
//   Tensor spectrum = Stft(signal, window, options);                  // [..., t] -> [..., 257, frames, 2]
//   Tensor same = Istft(spectrum, window, {.n_fft = 512, .hop = 160, .length = signal.dim(-1)});
#ifndef SINTER_FRONTEND_FOURIER_STFT_H_
#define SINTER_FRONTEND_FOURIER_STFT_H_

#include <optional>

#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// Frames of n_fft samples begin `hop` samples apart. With `center`, frame i has its middle at sample i * hop:
// the signal is mirrored at its ends, without the end samples, and must be longer than n_fft / 2.
// `normalized` scales by 1 / sqrt(n_fft). One-sided spectra have n_fft / 2 + 1 numbers of each frame, others
// n_fft.
struct StftOptions {
  int64_t n_fft = 0;                // At least 1.
  std::optional<int64_t> hop = {};  // n_fft / 4.
  bool center = true;
  bool normalized = false;
  bool onesided = true;
};
// Each frame of a real signal [..., t], times the window, transformed: [..., n, frames, 2]. The window has
// n_fft samples or fewer, and is filled with zeros on both sides.
Tensor Stft(const Tensor& x, const Tensor& window, const StftOptions& options,
            Where where = Where::current());

// The signal of a spectrum [..., n, frames, 2]: the frames times the window, added where they overlap, and
// divided by the sum of the squares of the windows. Where no window reaches, this is 0 / 0, NaN. The signal
// has `length` samples, or as many as the frames reach, without those that `center` mirrored.
struct IstftOptions {
  int64_t n_fft = 0;
  std::optional<int64_t> hop = {};
  bool center = true;
  bool normalized = false;
  bool onesided = true;
  std::optional<int64_t> length = {};
};
Tensor Istft(const Tensor& x, const Tensor& window, const IstftOptions& options,
             Where where = Where::current());

// Windows [n]: of a period of n samples, or, if not periodic, symmetric ones, of a period of n - 1.
// Hann: 0.5 - 0.5 cos. Hamming: 0.54 - 0.46 cos. Blackman: 0.42 - 0.5 cos + 0.08 cos of twice the angle.
struct WindowOptions {
  bool periodic = true;
  DType dtype = F32;
};
Tensor HannWindow(Builder& b, int64_t n, const WindowOptions& options = {}, Where where = Where::current());
Tensor HammingWindow(Builder& b, int64_t n, const WindowOptions& options = {},
                     Where where = Where::current());
Tensor BlackmanWindow(Builder& b, int64_t n, const WindowOptions& options = {},
                      Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_FOURIER_STFT_H_
