// Fourier transforms by their definition: n^2 products.
#include <cmath>
#include <complex>
#include <numbers>

#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

using Pairs = std::vector<std::complex<double>>;

// Each number of the transform of x with this sign of the exponent.
Pairs Dft(const Pairs& x, double sign) {
  const size_t n = x.size();
  Pairs y(n), roots(n);
  for (size_t j = 0; j < n; ++j) {
    roots[j] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) y[k] += x[j] * roots[j * k % n];
  }
  return y;
}

// The pairs of transform number `index` of `count` numbers.
Pairs PairsAt(const Value& x, size_t index, size_t count) {
  Pairs pairs(count);
  for (size_t i = 0; i < count; ++i) {
    pairs[i] = {x.reals[2 * (index * count + i)], x.reals[2 * (index * count + i) + 1]};
  }
  return pairs;
}

void StorePairs(Value& to, size_t index, const Pairs& pairs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    to.reals[2 * (index * count + i)] = pairs[i].real();
    to.reals[2 * (index * count + i) + 1] = pairs[i].imag();
  }
}

std::vector<Value> Fft(const Call& call) {
  Value result = call.Result();
  const size_t n = static_cast<size_t>(result.shape[result.shape.size() - 2]);
  for (size_t i = 0; 2 * i * n < result.reals.size(); ++i) {
    StorePairs(result, i, Dft(PairsAt(call.in[0], i, n), call.Flag("inverse") ? 1 : -1), n);
  }
  return {result};
}

std::vector<Value> Rfft(const Call& call) {
  Value result = call.Result();
  const size_t n = static_cast<size_t>(call.in[0].shape.back());
  for (size_t i = 0; i * n < call.in[0].reals.size(); ++i) {
    Pairs x(n);
    for (size_t j = 0; j < n; ++j) x[j] = call.in[0].reals[i * n + j];
    StorePairs(result, i, Dft(x, -1), n / 2 + 1);
  }
  return {result};
}

std::vector<Value> Irfft(const Call& call) {
  Value result = call.Result();
  const size_t n = static_cast<size_t>(result.shape.back());
  for (size_t i = 0; i * n < result.reals.size(); ++i) {
    Pairs x = PairsAt(call.in[0], i, n / 2 + 1);
    x[0].imag(0);
    if (n % 2 == 0) x[n / 2].imag(0);
    x.resize(n);
    for (size_t k = n / 2 + 1; k < n; ++k) x[k] = std::conj(x[n - k]);
    const Pairs y = Dft(x, 1);
    for (size_t j = 0; j < n; ++j) result.reals[i * n + j] = y[j].real();
  }
  return {result};
}

}  // namespace

void AddFourierOps(OpTable& table) {
  table["sinter.fft"] = Fft;
  table["sinter.rfft"] = Rfft;
  table["sinter.irfft"] = Irfft;
}

}  // namespace sinter::reference
