// Linear algebra: factors of matrices, and systems of linear equations.
//
//   Tensor l = linalg::Cholesky(covariance);                          // [..., n, n]
//   Tensor white = linalg::TriangularSolve(l, x);                     // l^-1 x
//   auto [values, vectors] = linalg::Eigh(covariance);
//
// Matrices are f32 or f64 and in the last two dimensions; leading dimensions count them. Sizes may be 0.
// Names and results are those of torch.linalg and jax.numpy.linalg. Symmetric matrices are given by their
// lower triangle, and their gradients are symmetric. Where a factor does not exist or an iteration does not
// converge, all elements of the results of that matrix are NaN, on every device.
//
// Eigen computes them on CPUs, and cuSOLVER and cuBLAS on GPUs. Signs of eigenvectors and singular vectors
// may differ between devices.
#ifndef SINTER_FRONTEND_LINALG_LINALG_H_
#define SINTER_FRONTEND_LINALG_LINALG_H_

#include "sinter/frontend/graph/tensor.h"

namespace sinter::linalg {

// The lower triangular L with L L^T = a, for symmetric positive definite matrices [..., n, n].
Tensor Cholesky(const Tensor& a, Where where = Where::current());

// The x with a x = b for triangular matrices a [..., n, n] and b [..., n, k], of which leading dimensions
// broadcast. The other triangle of a is not read.
struct TriangularSolveOptions {
  bool upper = false;          // The upper triangle of a, instead of the lower one.
  bool transpose = false;      // The transpose of a in place of a.
  bool unit_diagonal = false;  // The diagonal of a counts as ones, and is not read.
  bool left = true;            // False: x a = b, for b [..., k, n].
};
Tensor TriangularSolve(const Tensor& a, const Tensor& b, TriangularSolveOptions options = {},
                       Where where = Where::current());

// q with orthonormal columns and upper triangular r with q r = a, for matrices [..., m, n]. kReduced: q is
// [..., m, k] and r [..., k, n] for k = min(m, n). kComplete: k is m; if m is greater than n, it has no
// gradient. Signs are as in LAPACK.
enum class QrMode { kReduced, kComplete };
struct QrResult {
  Tensor q, r;
};
QrResult Qr(const Tensor& a, QrMode mode = QrMode::kReduced, Where where = Where::current());

// Eigenvalues [..., n], ascending, and orthonormal eigenvectors, the columns of [..., n, n], of symmetric
// matrices. The signs of vectors are any. Gradients through vectors need different eigenvalues.
struct EighResult {
  Tensor values, vectors;
};
EighResult Eigh(const Tensor& a, Where where = Where::current());

// u [..., m, k], descending singular values s [..., k] and vh [..., k, n] with u diag(s) vh = a, for matrices
// [..., m, n] and k = min(m, n). The signs of u's columns are any. Gradients through u and vh need different
// singular values, and those of matrices that are not square also values other than 0.
struct SvdResult {
  Tensor u, s, vh;
};
SvdResult Svd(const Tensor& a, Where where = Where::current());

// The x with a x = b for matrices a [..., n, n] and b [..., n, k], of which leading dimensions broadcast; or
// for a vector b [n]. By LU with row pivots; of a singular matrix, elements are infinite or NaN.
Tensor Solve(const Tensor& a, const Tensor& b, Where where = Where::current());
// The inverse of matrices [..., n, n]. Solve is faster and more accurate than a product with it.
Tensor Inv(const Tensor& a, Where where = Where::current());

// The determinant of matrices [..., n, n], of shape [...]; and its sign (1, 0 or -1) with the logarithm of
// its absolute value, which does not overflow. A singular matrix has the determinant 0, or one that rounding
// errors make, and no gradient.
Tensor Det(const Tensor& a, Where where = Where::current());
struct SlogDetResult {
  Tensor sign, logabsdet;
};
SlogDetResult SlogDet(const Tensor& a, Where where = Where::current());

}  // namespace sinter::linalg

#endif  // SINTER_FRONTEND_LINALG_LINALG_H_
