// Discrete Fourier transforms of a batch, for kernels/cpu/catalog/fourier.cc. kissfft computes them.
//
//   TransformComplex<float>(parallel, 3, 8, /*inverse=*/false, x, y);    // x and y: 3 x 8 pairs [re, im].
//
// T is float or double. Complex numbers are pairs [re, im]; nothing is scaled, as in
// ir/library/fourier_ops.td. n is at least 1. All arithmetic is in f64: the library is as fast in f64 as in
// f32. A batch's transforms are shared among threads, and the bits do not depend on the number of threads.
// Memory is allocated for the work; without memory the program ends.
//
// A size with a prime factor above 50 goes by two transforms of a power of two (Bluestein, "A linear
// filtering approach to the computation of discrete Fourier transform", 1970): the library takes n p
// operations for a prime factor p.
#ifndef SINTER_KERNELS_CPU_FOURIER_FOURIER_TRANSFORMS_H_
#define SINTER_KERNELS_CPU_FOURIER_FOURIER_TRANSFORMS_H_

#include <cstdint>

#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

// y[batch, n, 2] of x[batch, n, 2], which may be the same memory.
template <typename T>
void TransformComplex(const Parallel& parallel, int64_t batch, int64_t n, bool inverse, const T* x, T* y);
// y[batch, n / 2 + 1, 2] of x[batch, n].
template <typename T>
void TransformReal(const Parallel& parallel, int64_t batch, int64_t n, const T* x, T* y);
// y[batch, n] of x[batch, n / 2 + 1, 2], of which the imaginary parts of number 0, and of number n / 2 if n
// is even, are not read.
template <typename T>
void TransformToReal(const Parallel& parallel, int64_t batch, int64_t n, const T* x, T* y);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_FOURIER_FOURIER_TRANSFORMS_H_
