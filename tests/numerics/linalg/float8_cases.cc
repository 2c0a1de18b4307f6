// Cases of the linear family with floats of 8 bits.
#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

// GPUs' library computes those with rows of a multiple of 16; others are decomposed.
void AddScaledMatmuls(std::vector<OpCase>& cases) {
  const auto make = [&](const std::string& name, int64_t m, int64_t n, int64_t k, const std::string& of_a,
                        const std::string& of_b, bool by_row, bool fast) {
    const std::string rows = std::to_string(m), columns = std::to_string(n), terms = std::to_string(k);
    const std::string a = "tensor<" + rows + "x" + terms + "x" + of_a + ">",
                      b = "tensor<" + columns + "x" + terms + "x" + of_b + ">",
                      scale_a = by_row ? "tensor<" + rows + "xf32>" : "tensor<f32>",
                      scale_b = by_row ? "tensor<" + columns + "xf32>" : "tensor<f32>",
                      result = "tensor<" + rows + "x" + columns + "x$T>";
    OpCase c = {"scaled_matmul_" + name,
                OpClass::kFloat8Matmul,
                "",
                {{a}, {b}, {scale_a, 0.1, 2}, {scale_b, 0.1, 2}},
                {result},
                "f32 bf16",
                false};
    c.body = "%r = sinter.scaled_matmul %a, %b scales %c, %d" + std::string(fast ? " {fast}" : "") + " : (" +
             a + ", " + b + ", " + scale_a + ", " + scale_b + ") -> " + result;
    cases.push_back(c);
  };
  make("numbers", 3, 32, 64, "f8E4M3FN", "f8E4M3FN", false, true);
  make("of_a_gradient", 48, 16, 96, "f8E5M2", "f8E4M3FN", false, false);
  make("rows", 17, 48, 112, "f8E4M3FN", "f8E4M3FN", true, false);
  make("odd", 5, 7, 9, "f8E4M3FN", "f8E5M2", true, true);
  make("two_gradients", 16, 32, 16, "f8E5M2", "f8E5M2", false, false);
  make("no_terms", 16, 32, 0, "f8E4M3FN", "f8E5M2", false, false);
}

// Every recipe, for the product of a layer and for both of its gradients.
void AddFloat8Matmuls(std::vector<OpCase>& cases) {
  for (const std::string recipe : {"tensorwise", "rowwise", "rowwise_with_bf16_weight_gradient"}) {
    const auto make = [&](const std::string& name, const std::string& a, const std::string& b,
                          const std::string& attributes) {
      const std::string of_a = "tensor<" + a + "x$T>", of_b = "tensor<" + b + "x$T>",
                        of_r = "tensor<32x48x$T>";
      OpCase c = {"float8_matmul_" + recipe + name,
                  OpClass::kFloat8Matmul,
                  "",
                  {{of_a}, {of_b}},
                  {of_r},
                  "bf16 f32",
                  false};
      c.body = "%r = sinter.float8_matmul %a, %b recipe " + recipe + attributes + " : (" + of_a + ", " +
               of_b + ") -> " + of_r;
      cases.push_back(c);
    };
    make("", "32x64", "64x48", "");
    make("_input_gradient", "32x64", "48x64", " {transpose_b, gradient = 0 : i64}");
    make("_weight_gradient", "64x32", "64x48", " {transpose_a, gradient = 1 : i64}");
  }
}

}  // namespace

void AddFloat8Products(std::vector<OpCase>& cases) {
  AddScaledMatmuls(cases);
  AddFloat8Matmuls(cases);
}

}  // namespace sinter::numerics
