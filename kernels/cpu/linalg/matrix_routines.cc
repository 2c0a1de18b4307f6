#include "sinter/kernels/cpu/linalg/matrix_routines.h"

#include <algorithm>
#include <cmath>
#include <limits>

// The threads are those of the caller.
#define EIGEN_DONT_PARALLELIZE
// Only the parts under the Mozilla licence.
#define EIGEN_MPL2_ONLY
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace sinter::kernels {
namespace {

template <typename T, int kOrder = Eigen::RowMajor>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, kOrder>;
// A matrix in memory, row-major.
template <typename T>
using Rows = Eigen::Map<Dense<T>>;
template <typename T>
using ConstRows = Eigen::Map<const Dense<T>>;
// The order in which Eigen is fastest.
template <typename T>
using Working = Dense<T, Eigen::ColMajor>;
// Right-hand sides of which some columns are taken.
template <typename T, int kOrder>
using Sides = Eigen::Map<Dense<T, kOrder>, 0, Eigen::OuterStride<>>;

template <typename T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <unsigned kMode, int kOrder, typename T, typename B>
void SolveInPlace(int64_t n, const T* a, B& b) {
  const Eigen::Map<const Dense<T, kOrder>> triangle(a, n, n);
  triangle.template triangularView<kMode>().solveInPlace(b);
}

template <int kOrder, typename T, typename B>
void SolveOf(bool upper, bool unit_diagonal, int64_t n, const T* a, B& b) {
  if (upper) {
    unit_diagonal ? SolveInPlace<Eigen::UnitUpper, kOrder>(n, a, b)
                  : SolveInPlace<Eigen::Upper, kOrder>(n, a, b);
  } else {
    unit_diagonal ? SolveInPlace<Eigen::UnitLower, kOrder>(n, a, b)
                  : SolveInPlace<Eigen::Lower, kOrder>(n, a, b);
  }
}

// A transposed matrix is the same memory in the other order, and the other triangle.
template <typename T, typename B>
void SolveSides(bool upper, bool transpose, bool unit_diagonal, int64_t n, const T* a, B& b) {
  if (transpose) {
    SolveOf<Eigen::ColMajor>(!upper, unit_diagonal, n, a, b);
  } else {
    SolveOf<Eigen::RowMajor>(upper, unit_diagonal, n, a, b);
  }
}

}  // namespace

template <typename T>
void FactorCholesky(int64_t n, const T* a, T* l) {
  if (n == 0) return;
  if (l != a) std::copy_n(a, n * n, l);
  // The lower triangle of rows is the upper one of columns: U^T U = A in columns is L L^T = A in rows.
  Eigen::Map<Working<T>> columns(l, n, n);
  const Eigen::LLT<Eigen::Ref<Working<T>>, Eigen::Upper> factor(columns);
  // A NaN reaches all later elements of the diagonal.
  if (factor.info() != Eigen::Success || std::isnan(l[n * n - 1])) {
    std::fill_n(l, n * n, kNan<T>);
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::fill(l + i * n + i + 1, l + (i + 1) * n, T{0});
}

template <typename T>
void SolveTriangle(const TriangleForm& form, int64_t n, const T* a, int64_t sides, T* b, int64_t stride) {
  if (n == 0 || sides == 0) return;
  if (form.right) {
    // x a = b is a^T x^T = b^T, and b^T are the rows of b as columns.
    Sides<T, Eigen::ColMajor> columns(b, n, sides, Eigen::OuterStride<>(stride));
    SolveSides(form.upper, !form.transpose, form.unit_diagonal, n, a, columns);
  } else {
    Sides<T, Eigen::RowMajor> rows(b, n, sides, Eigen::OuterStride<>(stride));
    SolveSides(form.upper, form.transpose, form.unit_diagonal, n, a, rows);
  }
}

template <typename T>
void FactorQr(int64_t m, int64_t n, int64_t k, const T* a, T* q, T* r) {
  Rows<T> of_q(q, m, k), of_r(r, k, n);
  if (m == 0 || n == 0) {
    of_q.setIdentity();
    return;
  }
  const Eigen::HouseholderQR<Working<T>> factor(ConstRows<T>(a, m, n));
  Working<T> columns = Working<T>::Identity(m, k);
  columns.applyOnTheLeft(factor.householderQ());
  of_q = columns;
  of_r = factor.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
}

template <typename T>
void FindEigenvectors(int64_t n, const T* a, T* values, T* vectors) {
  if (n == 0) return;
  const Working<T> matrix = ConstRows<T>(a, n, n);
  bool is_found = matrix.template triangularView<Eigen::Lower>().toDenseMatrix().allFinite();
  if (is_found) {
    const Eigen::SelfAdjointEigenSolver<Working<T>> solver(matrix);
    is_found = solver.info() == Eigen::Success;
    std::copy_n(solver.eigenvalues().data(), n, values);
    if (is_found) Rows<T>(vectors, n, n) = solver.eigenvectors();
  }
  if (is_found) return;
  std::fill_n(values, n, kNan<T>);
  std::fill_n(vectors, n * n, kNan<T>);
}

template <typename T>
void FactorSvd(int64_t m, int64_t n, const T* a, T* u, T* s, T* vt) {
  const int64_t k = std::min(m, n);
  if (k == 0) return;
  const Working<T> matrix = ConstRows<T>(a, m, n);
  bool is_found = matrix.allFinite();
  if (is_found) {
    const Eigen::BDCSVD<Working<T>> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
    is_found = svd.info() == Eigen::Success;
    if (is_found) {
      Rows<T>(u, m, k) = svd.matrixU();
      std::copy_n(svd.singularValues().data(), k, s);
      Rows<T>(vt, k, n) = svd.matrixV().transpose();
    }
  }
  if (is_found) return;
  std::fill_n(u, m * k, kNan<T>);
  std::fill_n(s, k, kNan<T>);
  std::fill_n(vt, k * n, kNan<T>);
}

template <typename T>
void FactorLu(int64_t n, const T* a, T* lu, int32_t* permutation) {
  if (n == 0) return;
  const Eigen::PartialPivLU<Working<T>> factor(ConstRows<T>(a, n, n));
  Rows<T>(lu, n, n) = factor.matrixLU();
  // Row i of a is row indices[i] of L U.
  for (int64_t i = 0; i < n; ++i) {
    permutation[factor.permutationP().indices()[i]] = static_cast<int32_t>(i);
  }
}

#define SINTER_MATRIX_ROUTINES(T)                                                            \
  template void FactorCholesky(int64_t, const T*, T*);                                       \
  template void SolveTriangle(const TriangleForm&, int64_t, const T*, int64_t, T*, int64_t); \
  template void FactorQr(int64_t, int64_t, int64_t, const T*, T*, T*);                       \
  template void FindEigenvectors(int64_t, const T*, T*, T*);                                 \
  template void FactorSvd(int64_t, int64_t, const T*, T*, T*, T*);                           \
  template void FactorLu(int64_t, const T*, T*, int32_t*);
SINTER_MATRIX_ROUTINES(float)
SINTER_MATRIX_ROUTINES(double)
#undef SINTER_MATRIX_ROUTINES

}  // namespace sinter::kernels
