#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

std::string Numbers(const std::string& batch, int count) {
  return "tensor<" + batch + std::to_string(count) + "x$T>";
}
std::string ComplexNumbers(const std::string& batch, int count) {
  return "tensor<" + batch + std::to_string(count) + "x2x$T>";
}

// The transforms of n numbers for each of a batch. Operands of irfft have imaginary parts that it ignores.
void AddTransforms(std::vector<OpCase>& cases, const std::string& batch, int n, bool has_gradient) {
  const std::string name =
                        std::to_string(n) + (batch.empty() ? "" : "_of_" + batch.substr(0, batch.size() - 1)),
                    real = Numbers(batch, n), pairs = ComplexNumbers(batch, n),
                    half = ComplexNumbers(batch, n / 2 + 1);
  const auto add = [&](const std::string& title, const std::string& body, const std::string& operand,
                       const std::string& result) {
    cases.push_back({title + name,
                     OpClass::kGraph,
                     "%r = sinter." + body,
                     {{operand}},
                     {result},
                     "f64 f32",
                     has_gradient});
  };
  add("fft_", "fft %a : " + pairs, pairs, pairs);
  add("inverse_fft_", "fft %a {inverse} : " + pairs, pairs, pairs);
  add("rfft_", "rfft %a : " + real + " -> " + half, real, half);
  add("irfft_", "irfft %a : " + half + " -> " + real, half, real);
}

}  // namespace

std::vector<OpCase> FourierCases() {
  std::vector<OpCase> cases;
  // Each radix of the library, a prime, and products.
  for (const int n : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16}) {
    for (const char* batch : {"", "3x", "2x2x"}) AddTransforms(cases, batch, n, true);
  }
  // Primes above 50 go another way on CPUs, and 106 has one.
  for (const int n : {53, 106}) AddTransforms(cases, "2x", n, true);
  for (const int n : {128, 1000, 1009, 1024}) AddTransforms(cases, "3x", n, false);
  for (const int n : {1, 6, 7}) {
    AddTransforms(cases, "0x", n, false);
    AddTransforms(cases, "2x0x", n, false);
  }
  return cases;
}

}  // namespace sinter::numerics
