#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

std::string Matrices(const std::string& batch, int rows, int columns) {
  return "tensor<" + batch + std::to_string(rows) + "x" + std::to_string(columns) + "x$T>";
}
std::string Vectors(const std::string& batch, int size, const char* element = "$T") {
  return "tensor<" + batch + std::to_string(size) + "x" + element + ">";
}

// %p: positive definite matrices, products of wide random ones.
std::string Definite(const std::string& batch, int n) {
  const std::string wide = Matrices(batch, n, 2 * n), square = Matrices(batch, n, n);
  return "%p = sinter.matmul %a, %a {transpose_b} : (" + wide + ", " + wide + ") -> " + square + "\n  ";
}

struct Batch {
  const char *name, *sizes;
};
const Batch kBatches[] = {{"one", ""}, {"batch", "3x"}, {"batches", "2x2x"}};

void AddCholesky(std::vector<OpCase>& cases) {
  for (const Batch& b : kBatches) {
    for (const int n : {1, 2, 5}) {
      const std::string square = Matrices(b.sizes, n, n);
      cases.push_back({std::string("cholesky_") + b.name + "_" + std::to_string(n),
                       OpClass::kGraph,
                       Definite(b.sizes, n) + "%r = sinter.cholesky %p : " + square,
                       {{Matrices(b.sizes, n, 2 * n)}},
                       {square},
                       "f64 f32"});
    }
  }
  // Reads the lower triangle alone: most of these are not definite.
  cases.push_back({"cholesky_indefinite",
                   OpClass::kGraph,
                   "%r = sinter.cholesky %a : tensor<40x2x2x$T>",
                   {{"tensor<40x2x2x$T>"}},
                   {"tensor<40x2x2x$T>"},
                   "f64 f32",
                   false});
  cases.push_back({"cholesky_large",
                   OpClass::kGraph,
                   Definite("", 70) + "%r = sinter.cholesky %p : tensor<70x70x$T>",
                   {{"tensor<70x140x$T>"}},
                   {"tensor<70x70x$T>"},
                   "f64",
                   false});
  for (const char* type : {"tensor<0x0x$T>", "tensor<0x3x3x$T>", "tensor<2x0x0x$T>"}) {
    cases.push_back({std::string("cholesky_empty_") + type[7] + type[9],
                     OpClass::kExact,
                     std::string("%r = sinter.cholesky %a : ") + type,
                     {{type}},
                     {type},
                     "f64 f32",
                     false});
  }
}

void AddTriangularSolves(std::vector<OpCase>& cases) {
  for (int form = 0; form < 16; ++form) {
    const bool right = (form & 8) != 0;
    std::string flags, name;
    const char* const words[] = {"upper", "transpose", "unit_diagonal", "right"};
    for (int i = 0; i < 4; ++i) {
      if ((form >> i & 1) == 0) continue;
      flags += (flags.empty() ? "" : ", ") + std::string(words[i]);
      name += std::string("_") + words[i];
    }
    const Batch& batch = kBatches[form % 3];
    const std::string a = Matrices(batch.sizes, 4, 4),
                      b = right ? Matrices(batch.sizes, 3, 4) : Matrices(batch.sizes, 4, 3);
    cases.push_back({"triangular_solve" + name,
                     OpClass::kGraph,
                     "%r = sinter.triangular_solve %a, %b {" + flags + "} : " + a + ", " + b,
                     {{a, 0.5, 1.5}, {b}},
                     {b},
                     "f64 f32"});
    // Several groups of sides.
    const std::string sides = right ? "tensor<150x4x$T>" : "tensor<4x150x$T>";
    cases.push_back({"triangular_solve_many" + name,
                     OpClass::kGraph,
                     "%r = sinter.triangular_solve %a, %b {" + flags + "} : tensor<4x4x$T>, " + sides,
                     {{"tensor<4x4x$T>", 0.5, 1.5}, {sides}},
                     {sides},
                     "f64 f32",
                     false});
  }
  for (const auto& [a, b] : {std::pair{"tensor<0x0x$T>", "tensor<0x3x$T>"},
                             {"tensor<2x3x3x$T>", "tensor<2x3x0x$T>"},
                             {"tensor<0x3x3x$T>", "tensor<0x3x2x$T>"}}) {
    cases.push_back({std::string("triangular_solve_empty_") + a[7] + b[11],
                     OpClass::kExact,
                     std::string("%r = sinter.triangular_solve %a, %b {upper} : ") + a + ", " + b,
                     {{a}, {b}},
                     {b},
                     "f64 f32",
                     false});
  }
}

void AddQrs(std::vector<OpCase>& cases) {
  struct Sizes {
    int m, n;
  };
  for (const Batch& b : kBatches) {
    for (const Sizes& s : {Sizes{5, 3}, {3, 5}, {4, 4}, {1, 1}, {1, 4}, {4, 1}}) {
      const int k = std::min(s.m, s.n);
      const std::string a = Matrices(b.sizes, s.m, s.n),
                        name = std::string(b.name) + "_" + std::to_string(s.m) + "_" + std::to_string(s.n);
      const auto add = [&](const char* op, int columns, bool has_gradient) {
        const std::string q = Matrices(b.sizes, s.m, columns), r = Matrices(b.sizes, columns, s.n);
        cases.push_back({std::string(op) + "_" + name,
                         OpClass::kGraph,
                         std::string("%r:2 = sinter.") + op + " %a : " + a + " -> " + q + ", " + r,
                         {{a}},
                         {q, r},
                         "f64 f32",
                         has_gradient});
      };
      add("qr", k, true);
      add("qr_complete", s.m, false);
    }
  }
  for (const Sizes& s : {Sizes{0, 3}, {3, 0}}) {
    const std::string a = Matrices("", s.m, s.n), q = Matrices("", s.m, s.m), r = Matrices("", s.m, s.n);
    cases.push_back({"qr_complete_empty_" + std::to_string(s.m),
                     OpClass::kExact,
                     "%r:2 = sinter.qr_complete %a : " + a + " -> " + q + ", " + r,
                     {{a}},
                     {q, r},
                     "f64 f32",
                     false});
  }
}

// Signs of vectors are any, so cases compare magnitudes, and a product in which the signs cancel.
void AddEighs(std::vector<OpCase>& cases) {
  for (const Batch& b : kBatches) {
    for (const int n : {1, 2, 5}) {
      const std::string square = Matrices(b.sizes, n, n), values = Vectors(b.sizes, n);
      const std::string name = std::string(b.name) + "_" + std::to_string(n);
      const std::string eigh = Definite(b.sizes, n) + "%e:2 = sinter.eigh %p : " + square + " -> " + values +
                               ", " + square + "\n  ";
      cases.push_back({"eigh_values_" + name,
                       OpClass::kGraph,
                       eigh + "%r = sinter.sqrt %e#0 : " + values,
                       {{Matrices(b.sizes, n, 2 * n)}},
                       {values},
                       "f64 f32"});
      cases.push_back({"eigh_vectors_" + name,
                       OpClass::kGraph,
                       eigh + "%r = sinter.abs %e#1 : " + square,
                       {{Matrices(b.sizes, n, 2 * n)}},
                       {square},
                       "f64 f32"});
    }
  }
  cases.push_back({"eigh_empty",
                   OpClass::kExact,
                   "%r:2 = sinter.eigh %a : tensor<2x0x0x$T> -> tensor<2x0x$T>, tensor<2x0x0x$T>",
                   {{"tensor<2x0x0x$T>"}},
                   {"tensor<2x0x$T>", "tensor<2x0x0x$T>"},
                   "f64 f32",
                   false});
}

void AddSvds(std::vector<OpCase>& cases) {
  struct Sizes {
    int m, n;
  };
  for (const Batch& b : kBatches) {
    for (const Sizes& s : {Sizes{5, 3}, {3, 5}, {4, 4}, {1, 1}, {1, 4}}) {
      const int k = std::min(s.m, s.n);
      const std::string a = Matrices(b.sizes, s.m, s.n), u = Matrices(b.sizes, s.m, k),
                        vt = Matrices(b.sizes, k, s.n), values = Vectors(b.sizes, k);
      const std::string name = std::string(b.name) + "_" + std::to_string(s.m) + "_" + std::to_string(s.n);
      const std::string svd = "%e:3 = sinter.svd %a : " + a + " -> " + u + ", " + values + ", " + vt + "\n  ";
      cases.push_back(
          {"svd_u_" + name, OpClass::kGraph, svd + "%r = sinter.abs %e#0 : " + u, {{a}}, {u}, "f64 f32"});
      cases.push_back(
          {"svd_vt_" + name, OpClass::kGraph, svd + "%r = sinter.abs %e#2 : " + vt, {{a}}, {vt}, "f64 f32"});
      // U V^T has no signs, and depends on both.
      cases.push_back({"svd_both_" + name,
                       OpClass::kGraph,
                       svd + "%r = sinter.matmul %e#0, %e#2 : (" + u + ", " + vt + ") -> " + a,
                       {{a}},
                       {a},
                       "f64 f32"});
      cases.push_back({"svd_values_" + name,
                       OpClass::kGraph,
                       svd + "%r = sinter.square %e#1 : " + values,
                       {{a}},
                       {values},
                       "f64 f32"});
    }
  }
}

void AddLus(std::vector<OpCase>& cases) {
  for (const Batch& b : kBatches) {
    for (const int n : {1, 2, 5}) {
      const std::string square = Matrices(b.sizes, n, n), rows = Vectors(b.sizes, n, "i32"),
                        sides = Matrices(b.sizes, n, 3), name = std::string(b.name) + "_" + std::to_string(n);
      cases.push_back({"lu_" + name,
                       OpClass::kGraph,
                       "%r:2 = sinter.lu %a : " + square + " -> " + square + ", " + rows,
                       {{square}},
                       {square, rows},
                       "f64 f32"});
      for (const char* flag : {"", "transpose"}) {
        cases.push_back({"solve_" + name + flag,
                         OpClass::kGraph,
                         std::string("%r = sinter.solve %a, %b {") + flag + "} : " + square + ", " + sides,
                         {{square}, {sides}},
                         {sides},
                         "f64 f32"});
      }
    }
  }
  cases.push_back({"solve_empty",
                   OpClass::kExact,
                   "%r = sinter.solve %a, %b : tensor<0x0x$T>, tensor<0x2x$T>",
                   {{"tensor<0x0x$T>"}, {"tensor<0x2x$T>"}},
                   {"tensor<0x2x$T>"},
                   "f64 f32",
                   false});
}

}  // namespace

std::vector<OpCase> MatrixCases() {
  std::vector<OpCase> cases;
  AddCholesky(cases);
  AddTriangularSolves(cases);
  AddQrs(cases);
  AddEighs(cases);
  AddSvds(cases);
  AddLus(cases);
  return cases;
}

}  // namespace sinter::numerics
