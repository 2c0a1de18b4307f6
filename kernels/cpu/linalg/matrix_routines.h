// Factors of one matrix, and triangular systems, for kernels/cpu/catalog/matrices.cc. Eigen computes them.
//
//   FactorCholesky(3, a, l);      // a and l: 9 numbers each, row-major
//
// T is float or double. Matrices are dense and row-major. If a factor does not exist or an iteration does not
// converge, all elements of the results are NaN. The bits do not depend on the thread that calls. Eigen
// allocates memory for the work on a matrix; without memory it ends the program.
#ifndef SINTER_KERNELS_CPU_LINALG_MATRIX_ROUTINES_H_
#define SINTER_KERNELS_CPU_LINALG_MATRIX_ROUTINES_H_

#include <cstdint>

namespace sinter::kernels {

// The form of a triangular system, as in sinter.triangular_solve.
struct TriangleForm {
  bool upper = false, transpose = false, unit_diagonal = false, right = false;
};

// l l^T = a [n, n], of which the lower triangle is read. The matrices may be the same.
template <typename T>
void FactorCholesky(int64_t n, const T* a, T* l);
// Solves a x = b in place for `sides` columns of b [n, ...], whose rows are `stride` elements apart; or
// x a = b for `sides` rows of b [..., n].
template <typename T>
void SolveTriangle(const TriangleForm& form, int64_t n, const T* a, int64_t sides, T* b, int64_t stride);
// q r = a [m, n], with q [m, k] and r [k, n]. k is min(m, n) or m.
template <typename T>
void FactorQr(int64_t m, int64_t n, int64_t k, const T* a, T* q, T* r);
// a [n, n], of which the lower triangle is read: eigenvalues [n], ascending; eigenvectors in columns [n, n].
template <typename T>
void FindEigenvectors(int64_t n, const T* a, T* values, T* vectors);
// u [m, k] diag(s [k]) vt [k, n] = a [m, n], with k = min(m, n) and descending s.
template <typename T>
void FactorSvd(int64_t m, int64_t n, const T* a, T* u, T* s, T* vt);
// Rows `permutation` of a [n, n] are l u, which are in one matrix.
template <typename T>
void FactorLu(int64_t n, const T* a, T* lu, int32_t* permutation);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_LINALG_MATRIX_ROUTINES_H_
