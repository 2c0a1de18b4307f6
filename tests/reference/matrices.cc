// Factors of matrices by the plainest algorithms: Cholesky-Banachiewicz, Householder, Jacobi, Gauss.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> elements = std::vector<double>(static_cast<size_t>(rows * columns), 0.0);

  double& operator()(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * columns + j)]; }
  double operator()(int64_t i, int64_t j) const { return elements[static_cast<size_t>(i * columns + j)]; }
};

Matrix Identity(int64_t rows, int64_t columns) {
  Matrix one{rows, columns};
  for (int64_t i = 0; i < std::min(rows, columns); ++i) one(i, i) = 1;
  return one;
}

Matrix Transposed(const Matrix& a) {
  Matrix t{a.columns, a.rows};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  }
  return t;
}

int64_t BatchOf(const Value& x) {
  int64_t batch = 1;
  for (size_t d = 0; d + 2 < x.shape.size(); ++d) batch *= x.shape[d];
  return batch;
}

Matrix MatrixOf(const Value& x, int64_t index) {
  Matrix m{x.shape[x.shape.size() - 2], x.shape.back()};
  const int64_t size = m.rows * m.columns;
  std::copy_n(x.reals.begin() + index * size, size, m.elements.begin());
  return m;
}

void Store(Value& to, int64_t index, const std::vector<double>& elements) {
  std::copy(elements.begin(), elements.end(),
            to.reals.begin() + index * static_cast<int64_t>(elements.size()));
}

bool IsFinite(const Matrix& a) {
  return std::all_of(a.elements.begin(), a.elements.end(), [](double x) { return std::isfinite(x); });
}

std::vector<double> Nans(int64_t count) {
  return std::vector<double>(static_cast<size_t>(count), std::numeric_limits<double>::quiet_NaN());
}

// cholesky and triangular_solve ---------------------------------------------------------------------------

std::vector<Value> Cholesky(const Call& call) {
  Value result = call.Result();
  for (int64_t b = 0; b < BatchOf(call.in[0]); ++b) {
    const Matrix a = MatrixOf(call.in[0], b);
    const int64_t n = a.rows;
    Matrix l{n, n};
    bool exists = true;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double rest = a(i, j);
        for (int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
        if (i == j) exists = exists && rest > 0;
        l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
      }
    }
    Store(result, b, exists ? l.elements : Nans(n * n));
  }
  return {result};
}

// The triangle of A that a system has, as a whole matrix.
Matrix TriangleOf(const Matrix& a, bool upper, bool unit_diagonal) {
  Matrix t{a.rows, a.columns};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) {
      if (i == j) {
        t(i, j) = unit_diagonal ? 1 : a(i, j);
      } else if ((j > i) == upper) {
        t(i, j) = a(i, j);
      }
    }
  }
  return t;
}

// Solves T X = B for a lower or an upper triangular T.
Matrix SolveTriangle(const Matrix& t, const Matrix& b, bool upper) {
  Matrix x = b;
  for (int64_t step = 0; step < t.rows; ++step) {
    const int64_t i = upper ? t.rows - 1 - step : step;
    for (int64_t c = 0; c < b.columns; ++c) {
      for (int64_t k = upper ? i + 1 : 0; k < (upper ? t.rows : i); ++k) x(i, c) -= t(i, k) * x(k, c);
      x(i, c) /= t(i, i);
    }
  }
  return x;
}

std::vector<Value> TriangularSolve(const Call& call) {
  Value result = call.Result();
  bool upper = call.Flag("upper");
  const bool right = call.Flag("right");
  for (int64_t i = 0; i < BatchOf(call.in[0]); ++i) {
    Matrix t = TriangleOf(MatrixOf(call.in[0], i), upper, call.Flag("unit_diagonal"));
    Matrix b = MatrixOf(call.in[1], i);
    // X T = B is T^T X^T = B^T.
    const bool transposes = call.Flag("transpose") != right;
    if (transposes) t = Transposed(t);
    if (right) b = Transposed(b);
    const Matrix x = SolveTriangle(t, b, upper != transposes);
    Store(result, i, (right ? Transposed(x) : x).elements);
  }
  return {result};
}

// qr ------------------------------------------------------------------------------------------------------

// Applies I - tau v v^T to the rows of m.
void Reflect(Matrix& m, const std::vector<double>& v, double tau) {
  for (int64_t c = 0; c < m.columns; ++c) {
    double dot = 0;
    for (int64_t i = 0; i < m.rows; ++i) dot += v[static_cast<size_t>(i)] * m(i, c);
    for (int64_t i = 0; i < m.rows; ++i) m(i, c) -= tau * dot * v[static_cast<size_t>(i)];
  }
}

// Q is m x m. The sign of a reflection is LAPACK's: the new diagonal has the other sign than the old one.
void Householder(const Matrix& a, Matrix& q, Matrix& r) {
  r = a;
  Matrix q_transposed = Identity(a.rows, a.rows);
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    double below = 0;
    for (int64_t i = j + 1; i < a.rows; ++i) below += r(i, j) * r(i, j);
    if (below == 0) continue;
    const double norm = std::sqrt(below + r(j, j) * r(j, j));
    std::vector<double> v(static_cast<size_t>(a.rows), 0.0);
    for (int64_t i = j; i < a.rows; ++i) v[static_cast<size_t>(i)] = r(i, j);
    v[static_cast<size_t>(j)] += r(j, j) >= 0 ? norm : -norm;
    double square = 0;
    for (double x : v) square += x * x;
    Reflect(r, v, 2 / square);
    Reflect(q_transposed, v, 2 / square);
  }
  q = Transposed(q_transposed);
}

std::vector<Value> Qr(const Call& call) {
  Value of_q = call.Result(0), of_r = call.Result(1);
  for (int64_t b = 0; b < BatchOf(call.in[0]); ++b) {
    Matrix whole_q, whole_r, q{of_q.shape[of_q.shape.size() - 2], of_q.shape.back()},
        r{of_r.shape[of_r.shape.size() - 2], of_r.shape.back()};
    Householder(MatrixOf(call.in[0], b), whole_q, whole_r);
    for (int64_t i = 0; i < q.rows; ++i) {
      for (int64_t j = 0; j < q.columns; ++j) q(i, j) = whole_q(i, j);
    }
    for (int64_t i = 0; i < r.rows; ++i) {
      for (int64_t j = i; j < r.columns; ++j) r(i, j) = whole_r(i, j);
    }
    Store(of_q, b, q.elements);
    Store(of_r, b, r.elements);
  }
  return {of_q, of_r};
}

// eigh and svd --------------------------------------------------------------------------------------------

std::vector<int64_t> OrderOf(const std::vector<double>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return descending ? x > y : x < y;
  });
  return order;
}

// Turns columns p and q of m by the angle with this cosine and sine.
void Turn(Matrix& m, int64_t p, int64_t q, double cosine, double sine) {
  for (int64_t i = 0; i < m.rows; ++i) {
    const double x = m(i, p), y = m(i, q);
    m(i, p) = cosine * x - sine * y;
    m(i, q) = sine * x + cosine * y;
  }
}

// The cosine and the sine that make the matrix (a c; c b) diagonal.
std::pair<double, double> Rotation(double a, double b, double c) {
  const double zeta = (b - a) / (2 * c);
  const double tangent = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  return {cosine, cosine * tangent};
}

constexpr int kSweeps = 60;

// Makes the columns of m orthogonal by one-sided Jacobi rotations, and applies these to v too.
void Orthogonalise(Matrix& m, Matrix& v) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int64_t p = 0; p < m.columns; ++p) {
      for (int64_t q = p + 1; q < m.columns; ++q) {
        double a = 0, b = 0, c = 0;
        for (int64_t i = 0; i < m.rows; ++i) {
          a += m(i, p) * m(i, p), b += m(i, q) * m(i, q), c += m(i, p) * m(i, q);
        }
        if (std::abs(c) <= 1e-17 * std::sqrt(a * b)) continue;
        const auto [cosine, sine] = Rotation(a, b, c);
        Turn(m, p, q, cosine, sine);
        Turn(v, p, q, cosine, sine);
      }
    }
  }
}

// Two-sided Jacobi rotations: `a` becomes diagonal, and the columns of v the eigenvectors.
void Diagonalise(Matrix& a, Matrix& v) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int64_t p = 0; p < a.rows; ++p) {
      for (int64_t q = p + 1; q < a.rows; ++q) {
        if (std::abs(a(p, q)) < 1e-300) continue;
        const auto [cosine, sine] = Rotation(a(p, p), a(q, q), a(p, q));
        Turn(a, p, q, cosine, sine);
        a = Transposed(a);
        Turn(a, p, q, cosine, sine);
        a = Transposed(a);
        Turn(v, p, q, cosine, sine);
      }
    }
  }
}

std::vector<Value> Eigh(const Call& call) {
  Value values = call.Result(0), vectors = call.Result(1);
  for (int64_t b = 0; b < BatchOf(call.in[0]); ++b) {
    Matrix a = MatrixOf(call.in[0], b);
    const int64_t n = a.rows;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) a(i, j) = a(j, i);
    }
    if (!IsFinite(a)) {
      Store(values, b, Nans(n));
      Store(vectors, b, Nans(n * n));
      continue;
    }
    Matrix v = Identity(n, n), sorted{n, n};
    Diagonalise(a, v);
    std::vector<double> diagonal;
    for (int64_t i = 0; i < n; ++i) diagonal.push_back(a(i, i));
    const std::vector<int64_t> order = OrderOf(diagonal, false);
    std::vector<double> ascending;
    for (int64_t j = 0; j < n; ++j) {
      ascending.push_back(diagonal[static_cast<size_t>(order[static_cast<size_t>(j)])]);
      for (int64_t i = 0; i < n; ++i) sorted(i, j) = v(i, order[static_cast<size_t>(j)]);
    }
    Store(values, b, ascending);
    Store(vectors, b, sorted.elements);
  }
  return {values, vectors};
}

std::vector<Value> Svd(const Call& call) {
  Value of_u = call.Result(0), of_s = call.Result(1), of_vt = call.Result(2);
  for (int64_t b = 0; b < BatchOf(call.in[0]); ++b) {
    const Matrix a = MatrixOf(call.in[0], b);
    const int64_t k = std::min(a.rows, a.columns);
    if (!IsFinite(a)) {
      Store(of_u, b, Nans(a.rows * k));
      Store(of_s, b, Nans(k));
      Store(of_vt, b, Nans(k * a.columns));
      continue;
    }
    // A wide matrix is the transpose of a tall one, whose factors change places.
    const bool is_wide = a.rows < a.columns;
    Matrix m = is_wide ? Transposed(a) : a;
    Matrix v = Identity(k, k), left{m.rows, k}, right{k, k};
    Orthogonalise(m, v);
    std::vector<double> norms;
    for (int64_t j = 0; j < k; ++j) {
      double square = 0;
      for (int64_t i = 0; i < m.rows; ++i) square += m(i, j) * m(i, j);
      norms.push_back(std::sqrt(square));
    }
    const std::vector<int64_t> order = OrderOf(norms, true);
    std::vector<double> s;
    for (int64_t j = 0; j < k; ++j) {
      const int64_t from = order[static_cast<size_t>(j)];
      s.push_back(norms[static_cast<size_t>(from)]);
      for (int64_t i = 0; i < m.rows; ++i) left(i, j) = m(i, from) / s.back();
      for (int64_t i = 0; i < k; ++i) right(i, j) = v(i, from);
    }
    Store(of_s, b, s);
    Store(of_u, b, (is_wide ? right : left).elements);
    Store(of_vt, b, Transposed(is_wide ? left : right).elements);
  }
  return {of_u, of_s, of_vt};
}

// lu and solve --------------------------------------------------------------------------------------------

std::vector<int64_t> Gauss(Matrix& a) {
  std::vector<int64_t> rows(static_cast<size_t>(a.rows));
  std::iota(rows.begin(), rows.end(), 0);
  for (int64_t j = 0; j < a.rows; ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    }
    std::swap(rows[static_cast<size_t>(j)], rows[static_cast<size_t>(pivot)]);
    for (int64_t c = 0; c < a.columns; ++c) std::swap(a(j, c), a(pivot, c));
    if (a(j, j) == 0) continue;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      a(i, j) /= a(j, j);
      for (int64_t c = j + 1; c < a.columns; ++c) a(i, c) -= a(i, j) * a(j, c);
    }
  }
  return rows;
}

std::vector<Value> Lu(const Call& call) {
  Value lu = call.Result(0), permutation = call.Result(1);
  for (int64_t b = 0; b < BatchOf(call.in[0]); ++b) {
    Matrix a = MatrixOf(call.in[0], b);
    const std::vector<int64_t> rows = Gauss(a);
    Store(lu, b, a.elements);
    std::copy(rows.begin(), rows.end(), permutation.ints.begin() + b * a.rows);
  }
  return {lu, permutation};
}

std::vector<Value> Solve(const Call& call) {
  Value result = call.Result();
  for (int64_t index = 0; index < BatchOf(call.in[0]); ++index) {
    Matrix a = MatrixOf(call.in[0], index);
    if (call.Flag("transpose")) a = Transposed(a);
    const std::vector<int64_t> rows = Gauss(a);
    const Matrix b = MatrixOf(call.in[1], index);
    Matrix ordered = b;
    for (int64_t i = 0; i < b.rows; ++i) {
      for (int64_t j = 0; j < b.columns; ++j) ordered(i, j) = b(rows[static_cast<size_t>(i)], j);
    }
    const Matrix y = SolveTriangle(TriangleOf(a, false, true), ordered, false);
    Store(result, index, SolveTriangle(TriangleOf(a, true, false), y, true).elements);
  }
  return {result};
}

}  // namespace

void AddMatrixOps(OpTable& table) {
  table["sinter.cholesky"] = Cholesky;
  table["sinter.triangular_solve"] = TriangularSolve;
  table["sinter.qr"] = Qr;
  table["sinter.qr_complete"] = Qr;
  table["sinter.eigh"] = Eigh;
  table["sinter.svd"] = Svd;
  table["sinter.lu"] = Lu;
  table["sinter.solve"] = Solve;
}

}  // namespace sinter::reference
