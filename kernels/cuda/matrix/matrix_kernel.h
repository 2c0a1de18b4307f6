// The kernels around cuSOLVER's and cuBLAS's calls: their parameters and PTX.
//
//   cudaLibraryLoadData(&library, MatrixPtx(), ...);
//   cudaLibraryGetKernel(&kernel, library, kMatrixCopyKernel);
//
// Sinter's matrices are row-major, and those libraries' are column-major: kMatrixCopyKernel transposes. It
// also fills the results of a matrix without a factor with NaN, and clears triangles. kMatrixCheckKernel
// marks the matrices with elements that are not finite, kMatrixPointersKernel lists the matrices of a batch,
// and kMatrixPermutationKernel turns interchanges of rows into a permutation. kMatrixQrKernel factors small
// matrices by Householder reflections, with the signs of LAPACK.
//
// All take a grid of any number of blocks in one dimension, of kMatrixThreads threads. Results do not depend
// on the number of blocks.
//
// Contract: constant data without dependencies. runtime/cuda/cusolver/matrix_kernels.h launches the kernels.
#ifndef SINTER_KERNELS_CUDA_MATRIX_MATRIX_KERNEL_H_
#define SINTER_KERNELS_CUDA_MATRIX_MATRIX_KERNEL_H_

#include <cstdint>

namespace sinter::kernels {

inline constexpr char kMatrixCheckKernel[] = "sinter_matrix_check";
inline constexpr char kMatrixCopyKernel[] = "sinter_matrix_copy";
inline constexpr char kMatrixPointersKernel[] = "sinter_matrix_pointers";
inline constexpr char kMatrixPermutationKernel[] = "sinter_matrix_permutation";
inline constexpr char kMatrixQrKernel[] = "sinter_matrix_qr";

inline constexpr uint32_t kMatrixThreads = 128;
// A copy has tiles of this many rows and columns.
inline constexpr uint32_t kMatrixTile = 32;
// The most rows and columns of kMatrixQrKernel.
inline constexpr uint64_t kMostQrKernelSize = 128;

// Marks matrices [batch, size] that have elements which are not finite. If `columns` is not 0, matrices have
// so many columns, and only their lower triangles count.
struct MatrixCheckParameters {
  const void* from;
  uint32_t* bad;  // [batch], which begins with zeros.
  uint64_t batch, size, columns;
  uint32_t is_f64;
};

enum class MatrixPart : uint32_t { kAll, kLower, kUpper };

// Writes dense matrices `to` [batch, rows, columns]. Unless transposed, `to` may be `from`.
struct MatrixCopyParameters {
  const void* from = nullptr;
  void* to = nullptr;
  // [batch]; null: none. A matrix has no factor if its element is not 0.
  const uint32_t* bad = nullptr;
  const int32_t* info = nullptr;
  uint64_t batch = 0, rows = 0, columns = 0;
  // Elements from one matrix of `from` to the next, and from one row of it to the next: from one column, if
  // it is transposed.
  uint64_t stride = 0, leading = 0;
  uint32_t is_f64 = 0, is_transposed = 0;
  MatrixPart part = MatrixPart::kAll;  // Elements outside of it are 0.
  // 1: a matrix without a factor becomes ones on the diagonal, not NaN: libraries may loop on NaN.
  uint32_t repairs = 0;
  // 1: a matrix has no factor either if its last element is NaN.
  uint32_t checks_last = 0;
};

// Lists where `count` matrices begin, for up to two operands.
struct MatrixPointersParameters {
  uint64_t* list[2];  // [count]; null: none.
  uint64_t first[2];
  uint64_t bytes[2];  // From one matrix to the next.
  uint64_t count;
};

// Row i was interchanged with row pivots[i] - 1, for i = 0, 1, ... A pivot out of range, as NaN may give, is
// taken for i.
struct MatrixPermutationParameters {
  const void* pivots;    // [batch, size] of i32, or of i64 if is_i64.
  int32_t* permutation;  // [batch, size].
  uint64_t batch, size;
  uint32_t is_i64;
};

// q [batch, rows, sides] r [batch, sides, columns] = a [batch, rows, columns]. `sides` is `rows`, or the
// smaller of `rows` and `columns`.
struct MatrixQrParameters {
  const void* a;
  void* work;  // As large as a.
  void *q, *r;
  uint64_t batch, rows, columns, sides;
  uint32_t is_f64;
};

// PTX of the kernels, with a terminating zero.
const char* MatrixPtx();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CUDA_MATRIX_MATRIX_KERNEL_H_
