// Factors of matrices by cuSOLVER and cuBLAS, against products of the factors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

// A batch of matrices, row-major.
struct Batch {
  int64_t batch, rows, columns;
  std::vector<double> values;

  double& operator()(int64_t matrix, int64_t row, int64_t column) {
    return values[static_cast<size_t>((matrix * rows + row) * columns + column)];
  }
  double operator()(int64_t matrix, int64_t row, int64_t column) const {
    return values[static_cast<size_t>((matrix * rows + row) * columns + column)];
  }
  std::vector<double> Matrix(int64_t matrix) const {
    const auto first = values.begin() + matrix * rows * columns;
    return {first, first + rows * columns};
  }
};

Batch Random(int64_t batch, int64_t rows, int64_t columns, int seed) {
  return {batch, rows, columns, FullValues(batch * rows * columns, seed)};
}

Batch Transposed(const Batch& a) {
  Batch turned = {a.batch, a.columns, a.rows, std::vector<double>(a.values.size())};
  for (int64_t b = 0; b < a.batch; ++b) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.columns; ++j) turned(b, j, i) = a(b, i, j);
    }
  }
  return turned;
}

Batch Product(const Batch& a, const Batch& b) {
  Batch product = {a.batch, a.rows, b.columns,
                   std::vector<double>(static_cast<size_t>(a.batch * a.rows * b.columns))};
  for (int64_t m = 0; m < a.batch; ++m) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t k = 0; k < a.columns; ++k) {
        const double x = a(m, i, k);
        for (int64_t j = 0; j < b.columns; ++j) product(m, i, j) += x * b(m, k, j);
      }
    }
  }
  return product;
}

// Symmetric, with different eigenvalues, and positive definite if `shift` is large.
Batch Symmetric(int64_t batch, int64_t n, double shift, int seed) {
  const Batch x = Random(batch, n, n, seed);
  Batch a = Transposed(x);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) a(b, i, j) += x(b, i, j);
      a(b, i, i) += shift * static_cast<double>(i % 7 + 1);
    }
  }
  return a;
}

class MatrixStepTest : public GpuTest, public ::testing::WithParamInterface<DType> {
 protected:
  int64_t number() const { return static_cast<int64_t>(GetParam()); }
  double unit() const { return GetParam() == DType::kF64 ? 2.3e-16 : 1.2e-7; }

  HostTensor TensorOf(const Batch& a) const {
    return MakeTensor(GetParam(), {a.batch, a.rows, a.columns}, a.values);
  }
  // As it is in the element type.
  Batch Rounded(Batch a) const {
    a.values = ToDoubles(TensorOf(a));
    return a;
  }

  // Runs a kernel, also captured if it can be.
  std::vector<Batch> Run(const char* kernel, std::vector<int64_t> parameters,
                         const std::vector<Batch>& inputs, const std::vector<Batch>& outputs) {
    fb::CatalogStepT step;
    step.kernel = kernel;
    step.parameters = {number()};
    step.parameters.insert(step.parameters.end(), parameters.begin(), parameters.end());
    std::vector<HostTensor> tensors;
    std::vector<const HostTensor*> pointers;
    for (const Batch& input : inputs) tensors.push_back(TensorOf(input));
    for (const HostTensor& tensor : tensors) pointers.push_back(&tensor);
    std::vector<TensorType> types;
    for (const Batch& output : outputs) {
      types.push_back({GetParam(), {output.batch, output.rows, output.columns}});
    }
    if (step.kernel == "lu") types.back().dtype = DType::kI32;
    const absl::StatusOr<std::vector<double>> values = TryOnGpu(
        MakeStepPlan(step, static_cast<uint32_t>(inputs.size()), static_cast<uint32_t>(types.size())),
        pointers, types);
    EXPECT_TRUE(values.ok()) << kernel << ": " << values.status();
    std::vector<Batch> results = outputs;
    auto from = values.ok() ? values->begin() : std::vector<double>::const_iterator();
    for (Batch& result : results) {
      const int64_t count = result.batch * result.rows * result.columns;
      result.values.assign(static_cast<size_t>(count), 0);
      if (values.ok()) std::copy_n(from, count, result.values.begin());
      from += values.ok() ? count : 0;
    }
    return results;
  }

  // Expects equal matrices, up to rounding errors of sums of as many terms as they have rows or columns.
  void ExpectClose(const Batch& got, const Batch& want, double terms, const std::string& what) const {
    ASSERT_EQ(got.values.size(), want.values.size()) << what;
    double largest = 0, error = 0;
    for (size_t i = 0; i < want.values.size(); ++i) {
      largest = std::max(largest, std::abs(want.values[i]));
      const double difference = std::abs(got.values[i] - want.values[i]);
      error = std::isnan(difference) ? difference : std::max(error, difference);
      if (std::isnan(difference)) break;
    }
    // Also false for NaN.
    EXPECT_TRUE(error <= 30 * unit() * std::max(4.0, terms) * largest)
        << what << ": an error of " << error << " where the largest element is " << largest;
  }

  // The columns of q are orthonormal.
  void ExpectOrthonormal(const Batch& q, const std::string& what) const {
    const Batch product = Product(Transposed(q), q);
    Batch one = product;
    for (int64_t b = 0; b < one.batch; ++b) {
      for (int64_t i = 0; i < one.rows; ++i) {
        for (int64_t j = 0; j < one.columns; ++j) one(b, i, j) = i == j ? 1 : 0;
      }
    }
    ExpectClose(product, one, static_cast<double>(q.rows), what + ", orthonormal");
  }

  static std::string Name(const char* what, int64_t batch, int64_t rows, int64_t columns) {
    return std::string(what) + " of " + std::to_string(batch) + "x" + std::to_string(rows) + "x" +
           std::to_string(columns);
  }

  void CheckQr(int64_t batch, int64_t m, int64_t n, bool is_complete);
  void CheckEigh(int64_t batch, int64_t n);
  void CheckSvd(const Batch& operand);
};

struct Sizes {
  int64_t batch, n;
};

TEST_P(MatrixStepTest, Cholesky) {
  for (const Sizes& s : {Sizes{1, 1}, {1, 2}, {3, 5}, {1, 65}, {4, 130}, {100, 16}, {1, 700}, {2, 1030}}) {
    Batch a = Rounded(Symmetric(s.batch, s.n, 2.0 * static_cast<double>(s.n), 1));
    const Batch want = a;
    // The upper triangle is not read.
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t i = 0; i < s.n; ++i) {
        for (int64_t j = i + 1; j < s.n; ++j) a(b, i, j) = std::nan("");
      }
    }
    const Batch l = Run("cholesky", {s.batch, s.n}, {a}, {a})[0];
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t i = 0; i < s.n; ++i) {
        for (int64_t j = i + 1; j < s.n; ++j) ASSERT_EQ(l(b, i, j), 0);
      }
    }
    ExpectClose(Product(l, Transposed(l)), want, static_cast<double>(s.n),
                Name("cholesky", s.batch, s.n, s.n));
  }
}

// The matrices without a factor are NaN, and the others are not.
TEST_P(MatrixStepTest, CholeskyOfIndefiniteMatricesIsNan) {
  for (const Sizes& s : {Sizes{1, 1}, {1, 3}, {5, 3}, {5, 40}, {1, 400}, {2, 1030}}) {
    Batch a = Rounded(Symmetric(s.batch, s.n, 2.0 * static_cast<double>(s.n), 2));
    for (int64_t b = 0; b < s.batch; ++b) {
      if (b % 2 == 0) a(b, s.n - 1, s.n - 1) = b % 4 == 0 ? -1 : std::nan("");
    }
    const Batch l = Run("cholesky", {s.batch, s.n}, {a}, {a})[0];
    for (int64_t b = 0; b < s.batch; ++b) {
      if (b % 2 == 0) {
        EXPECT_THAT(l.Matrix(b), Each(IsNan())) << Name("cholesky", s.batch, s.n, s.n) << ", " << b;
      } else {
        EXPECT_FALSE(std::isnan(l(b, s.n - 1, s.n - 1)));
      }
    }
  }
}

TEST_P(MatrixStepTest, TriangularSolve) {
  for (const Sizes& s : {Sizes{1, 1}, {1, 4}, {3, 4}, {40, 33}, {1, 300}, {2, 1030}}) {
    for (int form = 0; form < 16; ++form) {
      const bool upper = form & 1, transpose = form & 2, unit_diagonal = form & 4, right = form & 8;
      const int64_t sides = s.n == 1 ? 1 : 7;
      Batch a = Rounded(Random(s.batch, s.n, s.n, 3));
      Batch triangle = a;
      for (int64_t b = 0; b < s.batch; ++b) {
        for (int64_t i = 0; i < s.n; ++i) {
          for (int64_t j = 0; j < s.n; ++j) {
            const bool is_in = upper ? i < j : i > j;
            // Far from singular.
            triangle(b, i, j) = a(b, i, j) = is_in ? a(b, i, j) / static_cast<double>(s.n) : 0;
          }
          triangle(b, i, i) = unit_diagonal ? 1 : 1.5 + 0.1 * static_cast<double>(i % 5);
          // The step does not read these.
          a(b, i, i) = unit_diagonal ? std::nan("") : triangle(b, i, i);
          for (int64_t j = 0; j < s.n; ++j) {
            if (upper ? i > j : i < j) a(b, i, j) = std::nan("");
          }
        }
      }
      const Batch x = right ? Random(s.batch, sides, s.n, 4) : Random(s.batch, s.n, sides, 4);
      const Batch b = Run("triangular_solve", {s.batch, s.n, sides, upper, transpose, unit_diagonal, right},
                          {a, x}, {x})[0];
      const Batch of = transpose ? Transposed(Rounded(triangle)) : Rounded(triangle);
      ExpectClose(right ? Product(b, of) : Product(of, b), Rounded(x), static_cast<double>(s.n),
                  Name("triangular_solve", s.batch, s.n, sides) + ", form " + std::to_string(form));
    }
  }
}

TEST_P(MatrixStepTest, Lu) {
  for (const Sizes& s : {Sizes{1, 1}, {1, 2}, {3, 5}, {100, 16}, {40, 130}, {1, 700}, {2, 300}, {2, 1030}}) {
    const Batch a = Rounded(Random(s.batch, s.n, s.n, 5));
    const std::vector<Batch> results = Run("lu", {s.batch, s.n}, {a}, {a, {s.batch, 1, s.n, {}}});
    const Batch &lu = results[0], &permutation = results[1];
    Batch l = lu, u = lu, permuted = a;
    for (int64_t b = 0; b < s.batch; ++b) {
      std::vector<bool> is_taken(static_cast<size_t>(s.n));
      for (int64_t i = 0; i < s.n; ++i) {
        const auto row = static_cast<int64_t>(permutation(b, 0, i));
        ASSERT_TRUE(row >= 0 && row < s.n && !is_taken[static_cast<size_t>(row)]);
        is_taken[static_cast<size_t>(row)] = true;
        for (int64_t j = 0; j < s.n; ++j) {
          permuted(b, i, j) = a(b, row, j);
          if (j >= i) l(b, i, j) = i == j ? 1 : 0;
          if (j < i) u(b, i, j) = 0;
          // Pivots are the largest of their column.
          if (j < i) {
            ASSERT_LE(std::abs(l(b, i, j)), 1 + 4 * unit());
          }
        }
      }
    }
    ExpectClose(Product(l, u), permuted, static_cast<double>(s.n), Name("lu", s.batch, s.n, s.n));
  }
}

// A singular matrix has factors, with a 0 on the diagonal of U. One with NaN has a permutation all the same.
TEST_P(MatrixStepTest, LuOfSingularMatrices) {
  for (const int64_t batch : {1, 3}) {
    Batch a = {batch, 2, 2, {}};
    for (int64_t b = 0; b < batch; ++b) a.values.insert(a.values.end(), {1, 2, 2, 4});
    const std::vector<Batch> results = Run("lu", {batch, 2}, {a}, {a, {batch, 1, 2, {}}});
    EXPECT_THAT(results[0].Matrix(0), ElementsAre(2, 4, 0.5, 0));
    EXPECT_THAT(results[1].Matrix(0), ElementsAre(1, 0));
    a.values.assign(a.values.size(), std::nan(""));
    const Batch permutation = Run("lu", {batch, 2}, {a}, {a, {batch, 1, 2, {}}})[1];
    for (int64_t b = 0; b < batch; ++b) EXPECT_EQ(permutation(b, 0, 0) + permutation(b, 0, 1), 1);
  }
}

void MatrixStepTest::CheckQr(int64_t batch, int64_t m, int64_t n, bool is_complete) {
  const std::string name = Name(is_complete ? "complete qr" : "qr", batch, m, n);
  const int64_t k = is_complete ? m : std::min(m, n);
  const Batch a = Rounded(Random(batch, m, n, 6));
  const std::vector<Batch> results =
      Run("qr", {batch, m, n, is_complete}, {a}, {{batch, m, k, {}}, {batch, k, n, {}}});
  const Batch &q = results[0], &r = results[1];
  ExpectClose(Product(q, r), a, static_cast<double>(m), name);
  ExpectOrthonormal(q, name);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < std::min(i, n); ++j) ASSERT_EQ(r(b, i, j), 0) << name;
    }
    // LAPACK's signs: the first element of R has the sign that the first of A has not.
    if (m > 1) {
      EXPECT_EQ(std::signbit(r(b, 0, 0)), !std::signbit(a(b, 0, 0))) << name;
    }
    // A last row is not reflected.
    if (m == 1) {
      EXPECT_EQ(r(b, 0, 0), a(b, 0, 0)) << name;
    }
  }
}

TEST_P(MatrixStepTest, Qr) {
  struct Shape {
    int64_t batch, m, n;
  };
  for (const Shape& s : {Shape{1, 1, 1},
                         {3, 5, 3},
                         {3, 3, 5},
                         {1, 1, 4},
                         {1, 4, 1},
                         {50, 32, 32},
                         {1, 128, 128},
                         {2, 129, 40},
                         {1, 40, 200},
                         {1, 300, 300},
                         {1, 600, 20}}) {
    CheckQr(s.batch, s.m, s.n, false);
    CheckQr(s.batch, s.m, s.n, true);
  }
}

// The last reflection of a square matrix is none: the last element of R has the sign of what is left. The
// kernel and cuSOLVER agree, so that signs do not depend on the size.
TEST_P(MatrixStepTest, QrOfTheIdentityHasItsSigns) {
  for (const int64_t n : {3, 150}) {
    Batch a = {1, n, n, std::vector<double>(static_cast<size_t>(n * n))};
    for (int64_t i = 0; i < n; ++i) a(0, i, i) = i % 2 == 0 ? 1 : -1;
    const Batch r = Run("qr", {1, n, n, 0}, {a}, {a, a})[1];
    EXPECT_EQ(r.values, a.values) << n;
  }
}

TEST_P(MatrixStepTest, QrWithoutColumns) {
  const Batch q = Run("qr", {2, 150, 0, 1}, {{2, 150, 0, {}}}, {{2, 150, 150, {}}, {2, 150, 0, {}}})[0];
  for (int64_t i = 0; i < 150; ++i) {
    for (int64_t j = 0; j < 150; ++j) ASSERT_EQ(q(1, i, j), i == j ? 1 : 0);
  }
}

void MatrixStepTest::CheckEigh(int64_t batch, int64_t n) {
  const std::string name = Name("eigh", batch, n, n);
  Batch a = Rounded(Symmetric(batch, n, 0.7, 7));
  const Batch whole = a;
  const int64_t bad = batch > 2 ? 1 : -1;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) a(b, i, j) = std::nan("");
    }
  }
  if (bad >= 0) a(bad, n - 1, 0) = std::numeric_limits<double>::infinity();
  const std::vector<Batch> results = Run("eigh", {batch, n}, {a}, {{batch, 1, n, {}}, {batch, n, n, {}}});
  Batch values = results[0], vectors = results[1], want = whole;
  if (bad >= 0) {
    EXPECT_THAT(values.Matrix(bad), Each(IsNan())) << name;
    EXPECT_THAT(vectors.Matrix(bad), Each(IsNan())) << name;
    // The values of a matrix of zeros, which fit.
    for (int64_t i = 0; i < n; ++i) {
      values(bad, 0, i) = 0;
      for (int64_t j = 0; j < n; ++j) vectors(bad, i, j) = i == j ? 1 : 0, want(bad, i, j) = 0;
    }
  }
  Batch scaled = vectors;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t j = 0; j < n; ++j) {
      if (j > 0) {
        EXPECT_LE(values(b, 0, j - 1), values(b, 0, j)) << name;
      }
      for (int64_t i = 0; i < n; ++i) scaled(b, i, j) *= values(b, 0, j);
    }
  }
  ExpectClose(Product(scaled, Transposed(vectors)), want, static_cast<double>(n), name);
  ExpectOrthonormal(vectors, name);
}

TEST_P(MatrixStepTest, Eigh) {
  for (const Sizes& s :
       {Sizes{1, 1}, {1, 2}, {4, 5}, {1, 32}, {200, 32}, {1, 33}, {5, 65}, {1, 512}, {3, 520}}) {
    CheckEigh(s.batch, s.n);
  }
}

void MatrixStepTest::CheckSvd(const Batch& operand) {
  const int64_t batch = operand.batch, m = operand.rows, n = operand.columns, k = std::min(m, n);
  const std::string name = Name("svd", batch, m, n);
  Batch a = Rounded(operand);
  const Batch whole = a;
  const int64_t bad = batch > 2 ? 1 : -1;
  if (bad >= 0) a(bad, m - 1, 0) = std::nan("");
  const std::vector<Batch> results =
      Run("svd", {batch, m, n}, {a}, {{batch, m, k, {}}, {batch, 1, k, {}}, {batch, k, n, {}}});
  Batch u = results[0], s = results[1], vt = results[2], want = whole;
  if (bad >= 0) {
    for (const Batch& result : results) EXPECT_THAT(result.Matrix(bad), Each(IsNan())) << name;
    for (int64_t i = 0; i < k; ++i) {
      s(bad, 0, i) = 0;
      for (int64_t j = 0; j < m; ++j) u(bad, j, i) = i == j ? 1 : 0;
      for (int64_t j = 0; j < n; ++j) vt(bad, i, j) = i == j ? 1 : 0;
    }
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) want(bad, i, j) = 0;
    }
  }
  Batch scaled = u;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t j = 0; j < k; ++j) {
      EXPECT_GE(s(b, 0, j), 0) << name;
      if (j > 0) {
        EXPECT_GE(s(b, 0, j - 1), s(b, 0, j)) << name;
      }
      for (int64_t i = 0; i < m; ++i) scaled(b, i, j) *= s(b, 0, j);
    }
  }
  ExpectClose(Product(scaled, vt), want, static_cast<double>(std::max(m, n)), name);
  ExpectOrthonormal(u, name + ", u");
  ExpectOrthonormal(Transposed(vt), name + ", v");
}

TEST_P(MatrixStepTest, Svd) {
  struct Shape {
    int64_t batch, m, n;
  };
  for (const Shape& s : {Shape{1, 1, 1},
                         {4, 5, 3},
                         {4, 3, 5},
                         {1, 1, 4},
                         {1, 4, 1},
                         {100, 32, 32},
                         {3, 40, 23},
                         {3, 23, 40},
                         {1, 200, 200},
                         {1, 500, 3},
                         {1, 300, 280},
                         {1, 270, 400}}) {
    CheckSvd(Random(s.batch, s.m, s.n, 8));
  }
}

// Singular matrices, for each of the routines: rank 1, and zeros.
TEST_P(MatrixStepTest, SvdOfSingularMatrices) {
  for (const int64_t n : {4, 50, 300}) {
    Batch ones = {1, n, n, std::vector<double>(static_cast<size_t>(n * n), 1)};
    CheckSvd(ones);
    ones.values.assign(ones.values.size(), 0);
    CheckSvd(ones);
  }
}

TEST_P(MatrixStepTest, EmptyMatrices) {
  const Batch none = {0, 3, 3, {}}, small = {2, 0, 0, {}};
  for (const Batch& a : {none, small}) {
    const int64_t b = a.batch, n = a.rows;
    EXPECT_TRUE(Run("cholesky", {b, n}, {a}, {a})[0].values.empty());
    EXPECT_TRUE(Run("triangular_solve", {b, n, n, 0, 0, 0, 0}, {a, a}, {a})[0].values.empty());
    EXPECT_TRUE(Run("lu", {b, n}, {a}, {a, {b, 1, n, {}}})[0].values.empty());
    EXPECT_TRUE(Run("qr", {b, n, n, 0}, {a}, {a, a})[0].values.empty());
    EXPECT_TRUE(Run("eigh", {b, n}, {a}, {{b, 1, n, {}}, a})[1].values.empty());
    EXPECT_TRUE(Run("svd", {b, n, n}, {a}, {a, {b, 1, n, {}}, a})[0].values.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatrixStepTest, ::testing::Values(DType::kF32, DType::kF64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace sinter
