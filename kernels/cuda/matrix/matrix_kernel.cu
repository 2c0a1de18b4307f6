// See matrix_kernel.h. Clang compiles this file without CUDA's headers; tests compile it for CPUs, with
// macros and functions of their own (tests/kernels/matrix_kernel_test.cc).
#include "sinter/kernels/cuda/matrix/matrix_kernel.h"

#ifndef SINTER_KERNEL
#define SINTER_KERNEL extern "C" __attribute__((global))
#define SINTER_DEVICE static inline __attribute__((device))
#define SINTER_SHARED __attribute__((shared))
#define SINTER_CALLED static __attribute__((device, noinline))
#define SINTER_ROLLED _Pragma("nounroll")

namespace sinter::kernels {
namespace {
SINTER_DEVICE uint32_t Thread() { return __nvvm_read_ptx_sreg_tid_x(); }
SINTER_DEVICE uint32_t Block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
SINTER_DEVICE uint32_t Blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
SINTER_DEVICE void Barrier() { __nvvm_bar0_or(0); }
SINTER_DEVICE float Root(float x) { return __nvvm_sqrt_rn_f(x); }
SINTER_DEVICE double Root(double x) { return __nvvm_sqrt_rn_d(x); }
}  // namespace
}  // namespace sinter::kernels
#endif

namespace sinter::kernels {
namespace {

constexpr uint32_t kThreads = kMatrixThreads;

template <typename T>
SINTER_DEVICE T Absolute(T x) {
  return x < 0 ? -x : x;
}

// Check
// -----------------------------------------------------------------------------------------------------------

template <typename T>
SINTER_DEVICE void Check(const MatrixCheckParameters& p) {
  const T* const from = static_cast<const T*>(p.from);
  const uint64_t step = uint64_t{Blocks()} * kThreads;
  for (uint64_t i = uint64_t{Block()} * kThreads + Thread(); i < p.batch * p.size; i += step) {
    const uint64_t matrix = i / p.size, at = i - matrix * p.size;
    if (p.columns != 0 && at % p.columns > at / p.columns) continue;
    const T x = from[i];
    // All threads write the same.
    if (!(x - x == 0)) p.bad[matrix] = 1;
  }
}

// Copy
// -----------------------------------------------------------------------------------------------------------

// The rows of a tile that its threads have at once.
constexpr uint32_t kRowsAtOnce = kThreads / kMatrixTile;

template <typename T>
SINTER_DEVICE T ElementOf(const MatrixCopyParameters& p, uint64_t row, uint64_t column, bool is_good,
                          T value) {
  if (!is_good && p.repairs != 0) return row == column ? T{1} : T{0};
  if (!is_good) return static_cast<T>(__builtin_nan(""));
  if (p.part == MatrixPart::kLower && column > row) return T{0};
  if (p.part == MatrixPart::kUpper && row > column) return T{0};
  return value;
}

template <typename T>
SINTER_DEVICE void CopyTile(const MatrixCopyParameters& p, uint64_t matrix, uint64_t row, uint64_t column,
                            T (*tile)[kMatrixTile + 1]) {
  const T* const from = static_cast<const T*>(p.from) + matrix * p.stride;
  T* const to = static_cast<T*>(p.to) + matrix * p.rows * p.columns;
  const uint32_t x = Thread() % kMatrixTile, y = Thread() / kMatrixTile;
  bool is_good = (p.bad == nullptr || p.bad[matrix] == 0) && (p.info == nullptr || p.info[matrix] == 0);
  if (p.checks_last != 0) {
    const T last = from[(p.rows - 1) * p.leading + p.columns - 1];
    is_good = is_good && last == last;
  }
  if (p.is_transposed != 0) {
    // Neighbours in a column of `to` are neighbours in memory of `from`.
    for (uint32_t i = y; i < kMatrixTile; i += kRowsAtOnce) {
      if (row + x < p.rows && column + i < p.columns) {
        tile[i][x] = from[(column + i) * p.leading + row + x];
      }
    }
    Barrier();
  }
  for (uint32_t i = y; i < kMatrixTile; i += kRowsAtOnce) {
    const uint64_t r = row + i, c = column + x;
    if (r >= p.rows || c >= p.columns) continue;
    const T value = p.is_transposed != 0 ? tile[x][i] : from[r * p.leading + c];
    to[r * p.columns + c] = ElementOf(p, r, c, is_good, value);
  }
  // Before the next tile.
  if (p.is_transposed != 0) Barrier();
}

template <typename T>
SINTER_DEVICE void Copy(const MatrixCopyParameters& p, T (*tile)[kMatrixTile + 1]) {
  const uint64_t down = (p.rows + kMatrixTile - 1) / kMatrixTile;
  const uint64_t across = (p.columns + kMatrixTile - 1) / kMatrixTile;
  for (uint64_t i = Block(); i < p.batch * down * across; i += Blocks()) {
    const uint64_t matrix = i / (down * across), at = i - matrix * down * across;
    CopyTile<T>(p, matrix, at / across * kMatrixTile, at % across * kMatrixTile, tile);
  }
}

// Permutation
// -----------------------------------------------------------------------------------------------------------

// The most rows of which the permutation is in shared memory while it is made.
constexpr uint32_t kMostSharedRows = 8192;
constexpr uint32_t kPivotsAtOnce = 1024;

SINTER_DEVICE void Interchange(int32_t* rows, const int32_t* pivots, uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const int32_t other = pivots[i], row = rows[first + i];
    rows[first + i] = rows[other];
    rows[other] = row;
  }
}

SINTER_DEVICE int32_t PivotAt(const MatrixPermutationParameters& p, uint64_t matrix, uint64_t row) {
  const uint64_t at = matrix * p.size + row;
  const int64_t pivot = p.is_i64 != 0 ? static_cast<const int64_t*>(p.pivots)[at]
                                      : int64_t{static_cast<const int32_t*>(p.pivots)[at]};
  const bool is_in_range = pivot > static_cast<int64_t>(row) && pivot <= static_cast<int64_t>(p.size);
  return static_cast<int32_t>(is_in_range ? pivot - 1 : static_cast<int64_t>(row));
}

// QR
// -----------------------------------------------------------------------------------------------------------

// The sum of the threads' values, in an order that is always the same.
template <typename T>
SINTER_DEVICE T SumOf(T* shared, T value) {
  shared[Thread()] = value;
  Barrier();
  SINTER_ROLLED
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (Thread() < half) shared[Thread()] += shared[Thread() + half];
    Barrier();
  }
  const T sum = shared[0];
  Barrier();
  return sum;
}
template <typename T>
SINTER_DEVICE T LargestOf(T* shared, T value) {
  shared[Thread()] = value;
  Barrier();
  SINTER_ROLLED
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (Thread() < half && shared[Thread() + half] > shared[Thread()]) {
      shared[Thread()] = shared[Thread() + half];
    }
    Barrier();
  }
  const T largest = shared[0];
  Barrier();
  return largest;
}

// Replaces column j of w [rows, columns], from row j on, by the reflection's vector, whose first element is 1
// and not stored, and by the element of R in its place. Returns tau: the reflection is I - tau v v^T. As
// LAPACK's larfg, it reflects nothing if the elements below are 0.
template <typename T>
SINTER_DEVICE T Reflect(T* w, uint64_t rows, uint64_t columns, uint64_t j, T* shared) {
  const T first = w[j * columns + j];
  T largest = 0, sum = 0;
  SINTER_ROLLED
  for (uint64_t i = j + 1 + Thread(); i < rows; i += kThreads) {
    const T x = Absolute(w[i * columns + j]);
    if (x > largest) largest = x;
  }
  largest = LargestOf(shared, largest);
  if (Absolute(first) > largest) largest = Absolute(first);
  const T unit = largest > 0 ? largest : T{1};
  SINTER_ROLLED
  for (uint64_t i = j + 1 + Thread(); i < rows; i += kThreads) {
    const T x = w[i * columns + j] / unit;
    sum += x * x;
  }
  sum = SumOf(shared, sum);
  if (sum == 0) return T{0};
  const T ratio = first / unit, length = unit * Root(ratio * ratio + sum);
  const T beta = first < 0 ? length : -length;
  SINTER_ROLLED
  for (uint64_t i = j + 1 + Thread(); i < rows; i += kThreads) w[i * columns + j] /= first - beta;
  if (Thread() == 0) w[j * columns + j] = beta;
  Barrier();
  return (beta - first) / beta;
}

// Applies reflection j of w to columns `begin` and later of x [rows, width]. A function of its own, because
// the driver compiles the kernels when a plan is loaded.
template <typename T>
SINTER_CALLED void Apply(const T* w, uint64_t rows, uint64_t columns, uint64_t j, T tau, T* x, uint64_t width,
                         uint64_t begin) {
  SINTER_ROLLED
  for (uint64_t c = begin + Thread(); c < width; c += kThreads) {
    T sum = x[j * width + c];
    for (uint64_t i = j + 1; i < rows; ++i) sum += w[i * columns + j] * x[i * width + c];
    sum *= tau;
    x[j * width + c] -= sum;
    for (uint64_t i = j + 1; i < rows; ++i) x[i * width + c] -= sum * w[i * columns + j];
  }
  Barrier();
}

template <typename T>
SINTER_DEVICE void Qr(const MatrixQrParameters& p, T* shared, T* taus) {
  const uint64_t m = p.rows, n = p.columns, k = p.sides, reflections = m < n ? m : n;
  SINTER_ROLLED
  for (uint64_t matrix = Block(); matrix < p.batch; matrix += Blocks()) {
    const T* const a = static_cast<const T*>(p.a) + matrix * m * n;
    T* const w = static_cast<T*>(p.work) + matrix * m * n;
    T* const q = static_cast<T*>(p.q) + matrix * m * k;
    T* const r = static_cast<T*>(p.r) + matrix * k * n;
    SINTER_ROLLED
    for (uint64_t i = Thread(); i < m * n; i += kThreads) w[i] = a[i];
    Barrier();
    SINTER_ROLLED
    for (uint64_t j = 0; j < reflections; ++j) {
      const T tau = Reflect(w, m, n, j, shared);
      if (Thread() == 0) taus[j] = tau;
      Apply(w, m, n, j, tau, w, n, j + 1);
    }
    SINTER_ROLLED
    for (uint64_t i = 0; i < k; ++i) {
      SINTER_ROLLED
      for (uint64_t c = Thread(); c < n; c += kThreads) r[i * n + c] = i > c ? T{0} : w[i * n + c];
    }
    SINTER_ROLLED
    for (uint64_t i = 0; i < m; ++i) {
      SINTER_ROLLED
      for (uint64_t c = Thread(); c < k; c += kThreads) q[i * k + c] = i == c ? T{1} : T{0};
    }
    Barrier();
    SINTER_ROLLED
    for (uint64_t j = reflections; j-- > 0;) Apply(w, m, n, j, taus[j], q, k, j);
  }
}

}  // namespace

SINTER_KERNEL void sinter_matrix_check(MatrixCheckParameters p) {
  p.is_f64 != 0 ? Check<double>(p) : Check<float>(p);
}

SINTER_KERNEL void sinter_matrix_copy(MatrixCopyParameters p) {
  SINTER_SHARED static double tile[kMatrixTile][kMatrixTile + 1];
  if (p.is_f64 != 0) {
    Copy<double>(p, tile);
  } else {
    Copy<float>(p, reinterpret_cast<float(*)[kMatrixTile + 1]>(tile));
  }
}

SINTER_KERNEL void sinter_matrix_pointers(MatrixPointersParameters p) {
  const uint64_t step = uint64_t{Blocks()} * kThreads;
  for (uint64_t i = uint64_t{Block()} * kThreads + Thread(); i < p.count; i += step) {
    for (int k = 0; k < 2; ++k) {
      if (p.list[k] != nullptr) p.list[k][i] = p.first[k] + i * p.bytes[k];
    }
  }
}

SINTER_KERNEL void sinter_matrix_permutation(MatrixPermutationParameters p) {
  SINTER_SHARED static int32_t shared[kMostSharedRows], pivots[kPivotsAtOnce];
  for (uint64_t matrix = Block(); matrix < p.batch; matrix += Blocks()) {
    int32_t* const result = p.permutation + matrix * p.size;
    int32_t* const rows = p.size <= kMostSharedRows ? shared : result;
    for (uint64_t i = Thread(); i < p.size; i += kThreads) rows[i] = static_cast<int32_t>(i);
    for (uint64_t first = 0; first < p.size; first += kPivotsAtOnce) {
      const uint64_t count = p.size - first < kPivotsAtOnce ? p.size - first : kPivotsAtOnce;
      for (uint64_t i = Thread(); i < count; i += kThreads) pivots[i] = PivotAt(p, matrix, first + i);
      Barrier();
      if (Thread() == 0) Interchange(rows, pivots, first, count);
      Barrier();
    }
    for (uint64_t i = Thread(); rows != result && i < p.size; i += kThreads) result[i] = rows[i];
    Barrier();
  }
}

SINTER_KERNEL void sinter_matrix_qr(MatrixQrParameters p) {
  SINTER_SHARED static double shared[kThreads], taus[kMostQrKernelSize];
  if (p.is_f64 != 0) {
    Qr<double>(p, shared, taus);
  } else {
    Qr<float>(p, reinterpret_cast<float*>(shared), reinterpret_cast<float*>(taus));
  }
}

}  // namespace sinter::kernels
