#include "sinter/kernels/cpu/fourier/fourier_transforms.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft.hh>
#include <numbers>
#include <optional>
#include <vector>

namespace sinter::kernels {
namespace {

using Complex = std::complex<double>;
using Numbers = std::vector<Complex>;

// The largest prime factor that the library's own loop is faster for than two transforms of a power of two.
constexpr int64_t kLargestFactor = 50;
// Work of a thread, in numbers: it repays the copy of the tables.
constexpr int64_t kGrainNumbers = 4096;

// exp(2 pi i part / whole) for |part| <= whole.
Complex RootOfOne(int64_t part, int64_t whole) {
  return std::polar(1.0, 2 * std::numbers::pi * (static_cast<double>(part) / static_cast<double>(whole)));
}

bool HasLargeFactor(int64_t n) {
  for (int64_t p = 2; p <= kLargestFactor; ++p) {
    while (n % p == 0) n /= p;
  }
  return n > 1;
}

size_t PowerOfTwo(size_t at_least) {
  size_t power = 1;
  while (power < at_least) power *= 2;
  return power;
}

// Bluestein's transform: with jk = (j^2 + k^2 - (k - j)^2) / 2, number k is w[k] times element k of the
// convolution of x[j] w[j] with the conjugates of w, where w[j] = exp(-+ pi i j^2 / n).
class ChirpTransform {
 public:
  ChirpTransform(int64_t n, bool inverse)
      : chirp_(static_cast<size_t>(n)),
        size_(PowerOfTwo(2 * static_cast<size_t>(n) - 1)),
        fft_(size_, false) {
    int64_t square = 0;  // j^2 modulo 2 n.
    for (int64_t j = 0; j < n; ++j) {
      chirp_[static_cast<size_t>(j)] = RootOfOne(inverse ? square : -square, 2 * n);
      square = (square + 2 * j + 1) % (2 * n);
    }
    Numbers filter(size_);
    for (size_t j = 0; j < chirp_.size(); ++j) {
      filter[j] = std::conj(chirp_[j]);
      if (j > 0) filter[size_ - j] = filter[j];
    }
    filter_.resize(size_);
    fft_.transform(filter.data(), filter_.data());
    padded_.resize(size_), transformed_.resize(size_);
  }

  void Run(const Complex* x, Complex* y) {
    for (size_t j = 0; j < chirp_.size(); ++j) padded_[j] = x[j] * chirp_[j];
    std::fill(padded_.begin() + static_cast<std::ptrdiff_t>(chirp_.size()), padded_.end(), Complex());
    fft_.transform(padded_.data(), transformed_.data());
    // The inverse transform is the conjugate of the transform of the conjugates.
    for (size_t k = 0; k < size_; ++k) transformed_[k] = std::conj(transformed_[k] * filter_[k]);
    fft_.transform(transformed_.data(), padded_.data());
    const double scale = 1.0 / static_cast<double>(size_);
    for (size_t k = 0; k < chirp_.size(); ++k) y[k] = std::conj(padded_[k]) * scale * chirp_[k];
  }

 private:
  Numbers chirp_;
  size_t size_;
  kissfft<double> fft_;
  Numbers filter_, padded_, transformed_;
};

// The transform of n numbers. It holds the tables, and memory for its work: each thread has a copy.
class Transform {
 public:
  Transform(int64_t n, bool inverse) {
    if (HasLargeFactor(n)) {
      chirp_.emplace(n, inverse);
    } else {
      direct_.emplace(static_cast<size_t>(n), inverse);
    }
  }
  // x and y have no memory in common.
  void Run(const Complex* x, Complex* y) {
    if (chirp_.has_value()) {
      chirp_->Run(x, y);
    } else {
      direct_->transform(x, y);
    }
  }

 private:
  std::optional<kissfft<double>> direct_;
  std::optional<ChirpTransform> chirp_;
};

// Calls function(own, i) for each of the batch, where `own` is a thread's copy of `work`.
template <typename Work, typename F>
void ForEachTransform(const Parallel& parallel, int64_t batch, int64_t n, const Work& work, F&& function) {
  parallel.For(batch, 1 + kGrainNumbers / n, [&](int64_t begin, int64_t end, int) {
    Work own = work;
    for (int64_t i = begin; i < end; ++i) function(own, i);
  });
}

struct ComplexWork {
  Transform transform;
  Numbers in, out;
};

template <typename T>
Complex LoadPair(const T* pairs, int64_t i) {
  return {static_cast<double>(pairs[2 * i]), static_cast<double>(pairs[2 * i + 1])};
}
template <typename T>
void StorePair(Complex number, T* pairs, int64_t i) {
  pairs[2 * i] = static_cast<T>(number.real());
  pairs[2 * i + 1] = static_cast<T>(number.imag());
}

// An even number of real numbers goes by the transform of half as many pairs of them: with Z that of
// x[2j] + i x[2j+1], E = (Z[k] + conj Z[-k]) / 2 and O = (Z[k] - conj Z[-k]) / 2i are those of the numbers
// with even and with odd places, and number k is E + exp(-2 pi i k / n) O.
struct RealWork {
  Transform transform;
  Numbers in, out, roots;  // Root k is exp(2 pi i k / n); only for an even n.
};

RealWork MakeRealWork(int64_t n, bool inverse) {
  const int64_t count = n % 2 == 0 ? n / 2 : n;
  RealWork work{Transform(count, inverse),
                Numbers(static_cast<size_t>(count)),
                Numbers(static_cast<size_t>(count)),
                {}};
  for (int64_t k = 0; n % 2 == 0 && k < count; ++k) work.roots.push_back(RootOfOne(k, n));
  return work;
}

template <typename T>
void EvenReal(RealWork& work, int64_t half, const T* x, T* y) {
  for (int64_t j = 0; j < half; ++j) work.in[static_cast<size_t>(j)] = LoadPair(x, j);
  work.transform.Run(work.in.data(), work.out.data());
  const Complex first = work.out[0];
  StorePair({first.real() + first.imag(), 0}, y, 0);
  for (int64_t k = 1; k < half; ++k) {
    const Complex z = work.out[static_cast<size_t>(k)],
                  mirrored = std::conj(work.out[static_cast<size_t>(half - k)]);
    const Complex difference = z - mirrored;
    const Complex odd =
        Complex(difference.imag(), -difference.real()) * std::conj(work.roots[static_cast<size_t>(k)]);
    StorePair((z + mirrored + odd) * 0.5, y, k);
  }
  StorePair({first.real() - first.imag(), 0}, y, half);
}

template <typename T>
void OddReal(RealWork& work, int64_t n, const T* x, T* y) {
  for (int64_t j = 0; j < n; ++j) work.in[static_cast<size_t>(j)] = static_cast<double>(x[j]);
  work.transform.Run(work.in.data(), work.out.data());
  StorePair({work.out[0].real(), 0}, y, 0);
  for (int64_t k = 1; k <= n / 2; ++k) StorePair(work.out[static_cast<size_t>(k)], y, k);
}

// Inverts EvenReal, times n.
template <typename T>
void ToEvenReal(RealWork& work, int64_t half, const T* x, T* y) {
  const auto load = [&](int64_t k) {
    return k == 0 || k == half ? Complex(static_cast<double>(x[2 * k])) : LoadPair(x, k);
  };
  for (int64_t k = 0; k < half; ++k) {
    const Complex number = load(k), mirrored = std::conj(load(half - k));
    const Complex odd = (number - mirrored) * work.roots[static_cast<size_t>(k)];
    work.in[static_cast<size_t>(k)] = number + mirrored + Complex(-odd.imag(), odd.real());
  }
  work.transform.Run(work.in.data(), work.out.data());
  for (int64_t j = 0; j < half; ++j) StorePair(work.out[static_cast<size_t>(j)], y, j);
}

template <typename T>
void ToOddReal(RealWork& work, int64_t n, const T* x, T* y) {
  work.in[0] = static_cast<double>(x[0]);
  for (int64_t k = 1; k <= n / 2; ++k) {
    work.in[static_cast<size_t>(k)] = LoadPair(x, k);
    work.in[static_cast<size_t>(n - k)] = std::conj(LoadPair(x, k));
  }
  work.transform.Run(work.in.data(), work.out.data());
  for (int64_t j = 0; j < n; ++j) y[j] = static_cast<T>(work.out[static_cast<size_t>(j)].real());
}

}  // namespace

template <typename T>
void TransformComplex(const Parallel& parallel, int64_t batch, int64_t n, bool inverse, const T* x, T* y) {
  const ComplexWork work{Transform(n, inverse), Numbers(static_cast<size_t>(n)),
                         Numbers(static_cast<size_t>(n))};
  ForEachTransform(parallel, batch, n, work, [&](ComplexWork& own, int64_t i) {
    const T* const from = x + i * n * 2;
    T* const to = y + i * n * 2;
    for (int64_t j = 0; j < n; ++j) own.in[static_cast<size_t>(j)] = LoadPair(from, j);
    own.transform.Run(own.in.data(), own.out.data());
    for (int64_t k = 0; k < n; ++k) StorePair(own.out[static_cast<size_t>(k)], to, k);
  });
}

template <typename T>
void TransformReal(const Parallel& parallel, int64_t batch, int64_t n, const T* x, T* y) {
  ForEachTransform(parallel, batch, n, MakeRealWork(n, false), [&](RealWork& own, int64_t i) {
    const T* const from = x + i * n;
    T* const to = y + i * (n / 2 + 1) * 2;
    n % 2 == 0 ? EvenReal(own, n / 2, from, to) : OddReal(own, n, from, to);
  });
}

template <typename T>
void TransformToReal(const Parallel& parallel, int64_t batch, int64_t n, const T* x, T* y) {
  ForEachTransform(parallel, batch, n, MakeRealWork(n, true), [&](RealWork& own, int64_t i) {
    const T* const from = x + i * (n / 2 + 1) * 2;
    T* const to = y + i * n;
    n % 2 == 0 ? ToEvenReal(own, n / 2, from, to) : ToOddReal(own, n, from, to);
  });
}

template void TransformComplex<float>(const Parallel&, int64_t, int64_t, bool, const float*, float*);
template void TransformComplex<double>(const Parallel&, int64_t, int64_t, bool, const double*, double*);
template void TransformReal<float>(const Parallel&, int64_t, int64_t, const float*, float*);
template void TransformReal<double>(const Parallel&, int64_t, int64_t, const double*, double*);
template void TransformToReal<float>(const Parallel&, int64_t, int64_t, const float*, float*);
template void TransformToReal<double>(const Parallel&, int64_t, int64_t, const double*, double*);

}  // namespace sinter::kernels
