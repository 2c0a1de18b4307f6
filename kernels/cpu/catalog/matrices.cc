// Factors of matrices, and triangular systems, of f32 or f64. A batch's matrices are shared among threads.
//
//   cholesky: input a[batch, size, size]; output l, of its shape
//     parameters dtype, batch, size
//   triangular_solve: inputs a[batch, size, size], b; output x of b's shape: [batch, size, sides], or
//     [batch, sides, size] if `right`
//     parameters dtype, batch, size, sides, and upper, transpose, unit_diagonal, right, which are 0 or 1
//   qr: input a[batch, rows, columns]; outputs q[batch, rows, k], r[batch, k, columns], where k is `rows` if
//     `complete` and min(rows, columns) otherwise
//     parameters dtype, batch, rows, columns, complete (0 or 1)
//   eigh: input a[batch, size, size]; outputs values[batch, size], vectors[batch, size, size]
//     parameters dtype, batch, size
//   svd: input a[batch, rows, columns]; outputs u[batch, rows, k], s[batch, k], vt[batch, k, columns], where
//     k is min(rows, columns)
//     parameters dtype, batch, rows, columns
//   lu: input a[batch, size, size]; outputs lu, of its shape, and permutation[batch, size] (i32)
//     parameters dtype, batch, size
//
// Their results are those of ir/library/matrix_ops.td. The outputs of cholesky and triangular_solve may be
// the inputs a and b. Unlike the other kernels, these allocate memory: see
// kernels/cpu/linalg/matrix_routines.h.
#include <algorithm>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/linalg/matrix_routines.h"

namespace sinter::kernels {
namespace {

enum MatrixParameter { kMatrixDType, kMatrixBatch, kMatrixRows, kMatrixColumns, kMatrixFlags };
constexpr std::string_view kSquareParameters[] = {"dtype", "batch", "size"};
constexpr std::string_view kTriangularSolveParameters[] = {"dtype", "batch",     "size",          "sides",
                                                           "upper", "transpose", "unit_diagonal", "right"};
constexpr std::string_view kQrParameters[] = {"dtype", "batch", "rows", "columns", "complete"};
constexpr std::string_view kSvdParameters[] = {"dtype", "batch", "rows", "columns"};

// Right-hand sides that are solved together. The bits of a side may depend on its place among them, so their
// number does not depend on the threads.
constexpr int64_t kSidesTogether = 64;

std::string CheckRealType(int64_t dtype) {
  return dtype == kF64 || dtype == kF32
             ? ""
             : "matrices are f32 or f64, not of element type number " + std::to_string(dtype);
}

// Checks that each operand has the parameters' element type and the product of its sizes as elements.
struct MatrixOperand {
  const char* what;
  std::initializer_list<int64_t> sizes;
  int64_t dtype;
};
std::string CheckMatrixOperands(std::span<const int64_t> p, std::span<const CatalogOperand> operands,
                                std::initializer_list<MatrixOperand> wanted) {
  std::string problem = CheckRealType(p[kMatrixDType]);
  const CatalogOperand* operand = operands.data();
  for (const MatrixOperand& want : wanted) {
    int64_t elements = 0;
    if (problem.empty()) problem = CheckSizes(want.sizes, &elements);
    if (problem.empty()) problem = CheckOperand(*operand, want.what, want.dtype, elements);
    ++operand;
  }
  return problem;
}

std::string CheckFlags(std::span<const int64_t> p, std::span<const std::string_view> names) {
  for (size_t i = kMatrixFlags; i < p.size(); ++i) {
    if (p[i] != 0 && p[i] != 1) {
      return std::string(names[i]) + " is " + std::to_string(p[i]) + ", not 0 or 1";
    }
  }
  return "";
}

int64_t NoWorkspace(std::span<const int64_t>) { return 0; }

// Calls function(T()) for the element type of the matrices.
template <typename F>
void WithReal(const CatalogCall& call, F&& function) {
  call.parameters[kMatrixDType] == kF64 ? function(double()) : function(float());
}

template <typename T>
const T* InputOf(const CatalogCall& call, int i, int64_t matrix, int64_t elements) {
  return static_cast<const T*>(call.buffers[i]) + matrix * elements;
}
template <typename T>
T* OutputOf(const CatalogCall& call, int i, int64_t matrix, int64_t elements) {
  return static_cast<T*>(call.buffers[i]) + matrix * elements;
}

// Calls function(matrix) for each matrix of the batch. Small matrices are taken several at a time.
template <typename F>
void ForEachMatrix(const CatalogCall& call, int64_t elements, F&& function) {
  constexpr int64_t kGrainElements = 1024;
  call.parallel.For(call.parameters[kMatrixBatch], 1 + kGrainElements / std::max<int64_t>(elements, 1),
                    [&](int64_t begin, int64_t end, int) {
                      for (int64_t i = begin; i < end; ++i) function(i);
                    });
}

// cholesky
// -----------------------------------------------------------------------------------------------------------

std::string CheckCholesky(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kMatrixBatch], n = p[kMatrixRows], dtype = p[kMatrixDType];
  return CheckMatrixOperands(p, operands, {{"a", {batch, n, n}, dtype}, {"l", {batch, n, n}, dtype}});
}

void RunCholesky(const CatalogCall& call) {
  const int64_t n = call.parameters[kMatrixRows];
  WithReal(call, [&](auto zero) {
    using T = decltype(zero);
    ForEachMatrix(call, n * n, [&](int64_t i) {
      FactorCholesky<T>(n, InputOf<T>(call, 0, i, n * n), OutputOf<T>(call, 1, i, n * n));
    });
  });
}

// triangular_solve
// -----------------------------------------------------------------------------------------------------------

std::string CheckTriangularSolve(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kMatrixBatch], n = p[kMatrixRows], sides = p[kMatrixColumns],
                dtype = p[kMatrixDType];
  if (std::string problem = CheckFlags(p, kTriangularSolveParameters); !problem.empty()) return problem;
  return CheckMatrixOperands(
      p, operands,
      {{"a", {batch, n, n}, dtype}, {"b", {batch, n, sides}, dtype}, {"x", {batch, n, sides}, dtype}});
}

void RunTriangularSolve(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  const int64_t n = p[kMatrixRows], sides = p[kMatrixColumns];
  const TriangleForm form = {p[kMatrixFlags] != 0, p[kMatrixFlags + 1] != 0, p[kMatrixFlags + 2] != 0,
                             p[kMatrixFlags + 3] != 0};
  const int64_t groups = (sides + kSidesTogether - 1) / kSidesTogether;
  if (n == 0) return;
  WithReal(call, [&](auto zero) {
    using T = decltype(zero);
    call.parallel.For(p[kMatrixBatch] * groups, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t i = unit / groups, first = unit % groups * kSidesTogether;
        const int64_t count = std::min(kSidesTogether, sides - first);
        // A group's part of the matrix: rows of it if `right`, columns otherwise.
        const int64_t rows = form.right ? count : n, columns = form.right ? n : count;
        const int64_t stride = form.right ? n : sides, offset = form.right ? first * n : first;
        const T* const from = InputOf<T>(call, 1, i, n * sides) + offset;
        T* const to = OutputOf<T>(call, 2, i, n * sides) + offset;
        for (int64_t r = 0; from != to && r < rows; ++r) {
          std::copy_n(from + r * stride, columns, to + r * stride);
        }
        SolveTriangle<T>(form, n, InputOf<T>(call, 0, i, n * n), count, to, stride);
      }
    });
  });
}

// qr
// -----------------------------------------------------------------------------------------------------------

int64_t ColumnsOfQ(std::span<const int64_t> p) {
  return p[kMatrixFlags] != 0 ? p[kMatrixRows] : std::min(p[kMatrixRows], p[kMatrixColumns]);
}

std::string CheckQr(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kMatrixBatch], m = p[kMatrixRows], n = p[kMatrixColumns], k = ColumnsOfQ(p),
                dtype = p[kMatrixDType];
  if (std::string problem = CheckFlags(p, kQrParameters); !problem.empty()) return problem;
  return CheckMatrixOperands(
      p, operands, {{"a", {batch, m, n}, dtype}, {"q", {batch, m, k}, dtype}, {"r", {batch, k, n}, dtype}});
}

void RunQr(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  const int64_t m = p[kMatrixRows], n = p[kMatrixColumns], k = ColumnsOfQ(p);
  WithReal(call, [&](auto zero) {
    using T = decltype(zero);
    ForEachMatrix(call, m * n, [&](int64_t i) {
      FactorQr<T>(m, n, k, InputOf<T>(call, 0, i, m * n), OutputOf<T>(call, 1, i, m * k),
                  OutputOf<T>(call, 2, i, k * n));
    });
  });
}

// eigh
// -----------------------------------------------------------------------------------------------------------

std::string CheckEigh(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kMatrixBatch], n = p[kMatrixRows], dtype = p[kMatrixDType];
  return CheckMatrixOperands(p, operands,
                             {{"a", {batch, n, n}, dtype},
                              {"the eigenvalues", {batch, n}, dtype},
                              {"the eigenvectors", {batch, n, n}, dtype}});
}

void RunEigh(const CatalogCall& call) {
  const int64_t n = call.parameters[kMatrixRows];
  WithReal(call, [&](auto zero) {
    using T = decltype(zero);
    ForEachMatrix(call, n * n, [&](int64_t i) {
      FindEigenvectors<T>(n, InputOf<T>(call, 0, i, n * n), OutputOf<T>(call, 1, i, n),
                          OutputOf<T>(call, 2, i, n * n));
    });
  });
}

// svd
// -----------------------------------------------------------------------------------------------------------

std::string CheckSvd(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kMatrixBatch], m = p[kMatrixRows], n = p[kMatrixColumns], k = std::min(m, n),
                dtype = p[kMatrixDType];
  return CheckMatrixOperands(p, operands,
                             {{"a", {batch, m, n}, dtype},
                              {"u", {batch, m, k}, dtype},
                              {"the singular values", {batch, k}, dtype},
                              {"vt", {batch, k, n}, dtype}});
}

void RunSvd(const CatalogCall& call) {
  const int64_t m = call.parameters[kMatrixRows], n = call.parameters[kMatrixColumns], k = std::min(m, n);
  WithReal(call, [&](auto zero) {
    using T = decltype(zero);
    ForEachMatrix(call, m * n, [&](int64_t i) {
      FactorSvd<T>(m, n, InputOf<T>(call, 0, i, m * n), OutputOf<T>(call, 1, i, m * k),
                   OutputOf<T>(call, 2, i, k), OutputOf<T>(call, 3, i, k * n));
    });
  });
}

// lu
// -----------------------------------------------------------------------------------------------------------

std::string CheckLu(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kMatrixBatch], n = p[kMatrixRows], dtype = p[kMatrixDType];
  if (n >= int64_t{1} << 31) return "a matrix of " + std::to_string(n) + " rows exceeds i32";
  return CheckMatrixOperands(
      p, operands,
      {{"a", {batch, n, n}, dtype}, {"lu", {batch, n, n}, dtype}, {"the permutation", {batch, n}, kI32}});
}

void RunLu(const CatalogCall& call) {
  const int64_t n = call.parameters[kMatrixRows];
  WithReal(call, [&](auto zero) {
    using T = decltype(zero);
    ForEachMatrix(call, n * n, [&](int64_t i) {
      FactorLu<T>(n, InputOf<T>(call, 0, i, n * n), OutputOf<T>(call, 1, i, n * n),
                  OutputOf<int32_t>(call, 2, i, n));
    });
  });
}

}  // namespace

CatalogKernel CholeskyKernel() {
  return {"cholesky", 1, 1, kSquareParameters, CheckCholesky, NoWorkspace, RunCholesky};
}
CatalogKernel TriangularSolveKernel() {
  return {"triangular_solve", 2, 1, kTriangularSolveParameters, CheckTriangularSolve, NoWorkspace,
          RunTriangularSolve};
}
CatalogKernel QrKernel() { return {"qr", 1, 2, kQrParameters, CheckQr, NoWorkspace, RunQr}; }
CatalogKernel EighKernel() { return {"eigh", 1, 2, kSquareParameters, CheckEigh, NoWorkspace, RunEigh}; }
CatalogKernel SvdKernel() { return {"svd", 1, 3, kSvdParameters, CheckSvd, NoWorkspace, RunSvd}; }
CatalogKernel LuKernel() { return {"lu", 1, 2, kSquareParameters, CheckLu, NoWorkspace, RunLu}; }

}  // namespace sinter::kernels
