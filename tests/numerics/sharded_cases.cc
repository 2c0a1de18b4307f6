#include "sinter/tests/numerics/sharded_cases.h"

namespace sinter::numerics {
namespace {

OpCase Case(const std::string& name, const std::string& body, const std::vector<std::string>& operands,
            const std::string& result) {
  OpCase c{name, OpClass::kProduct, body, {}, {result}, "f64"};
  for (const std::string& type : operands) c.operands.push_back({type});
  return c;
}

}  // namespace

std::vector<OpCase> ShardedCases() {
  std::vector<OpCase> cases = AllOpCases();
  cases.push_back(
      Case("pad_columns",
           "%r = sinter.pad %a value 1.5 low [0, 1] high [0, 2] interior [0, 1] : tensor<5x3xf64> -> "
           "tensor<5x8xf64>",
           {"tensor<5x3xf64>"}, "tensor<5x8xf64>"));
  cases.push_back(
      Case("pad_with_zeros",
           "%r = sinter.pad %a value 0.0 low [0, 1] high [0, 2] interior [0, 0] : tensor<5x3xf64> -> "
           "tensor<5x6xf64>",
           {"tensor<5x3xf64>"}, "tensor<5x6xf64>"));
  for (const auto& [from, to] : {std::pair{"6x4", "4x6"},
                                 {"2x1x5x24", "2x5x3x2x4"},
                                 {"4x9x10", "8x45"},
                                 {"4x3x2", "12x2"},
                                 {"2x9x5", "3x6x5"}}) {
    const std::string x = std::string("tensor<") + from + "xf64>", y = std::string("tensor<") + to + "xf64>";
    cases.push_back(
        Case(std::string("reshape_") + from, "%r = sinter.reshape %a : " + x + " -> " + y, {x}, y));
  }
  cases.push_back(
      Case("slice_of_some_rows",
           "%r = sinter.slice %a [0, 1, 0] [3, 5, 4] [1, 2, 1] : tensor<5x5x4xf64> -> tensor<3x2x4xf64>",
           {"tensor<5x5x4xf64>"}, "tensor<3x2x4xf64>"));
  cases.push_back(
      Case("matmul_bias_addend_scale",
           "%r = sinter.matmul %a, %b bias %c addend %d scale %e {transpose_a} : (tensor<2x5x3xf64>, "
           "tensor<2x5x4xf64>, tensor<4xf64>, tensor<2x3x4xf64>, tensor<f64>) -> tensor<2x3x4xf64>",
           {"tensor<2x5x3xf64>", "tensor<2x5x4xf64>", "tensor<4xf64>", "tensor<2x3x4xf64>", "tensor<f64>"},
           "tensor<2x3x4xf64>"));
  cases.push_back(
      Case("attention_packed_heads",
           "%r = sinter.attention %a {scale = 0.5 : f64} : (tensor<2x3x3x4x5xf64>) -> tensor<2x3x4x5xf64>",
           {"tensor<2x3x3x4x5xf64>"}, "tensor<2x3x4x5xf64>"));
  cases.push_back(
      Case("all_reduce",
           "%r = sinter.all_reduce sum %a over [#sinter.device<cpu, 0>] channel 0 : (tensor<5x3xf64>) -> "
           "tensor<5x3xf64>",
           {"tensor<5x3xf64>"}, "tensor<5x3xf64>"));
  // An index that names no row of the table is clamped to its ends.
  cases.push_back(Case("gather_clamped",
                       "%r = sinter.gather %a [%b] dim 0 : tensor<5x3xf64>, tensor<7xi32> -> tensor<7x3xf64>",
                       {"tensor<5x3xf64>"}, "tensor<7x3xf64>"));
  cases.back().operands.push_back({"tensor<7xi32>", -4, 9});
  return cases;
}

}  // namespace sinter::numerics
