#include "sinter/tests/numerics/op_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <sstream>

namespace sinter::numerics {

using reference::Shape;
using reference::Value;

std::vector<OpCase> AllOpCases() {
  std::vector<OpCase> all;
  for (auto family :
       {PointwiseCases, ShapeCases, ReduceCases, LinearCases, MatrixCases, FourierCases, RandomCases,
        CompositeCases, AttentionCases, PlacementCases, ControlCases, CustomCases}) {
    std::vector<OpCase> cases = family();
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

namespace {

OpCase CaseOfF64(const std::string& name, const std::string& body, const std::vector<std::string>& operands,
                 const std::string& result) {
  OpCase c{name, OpClass::kProduct, body, {}, {result}, "f64"};
  for (const std::string& type : operands) c.operands.push_back({type});
  return c;
}

}  // namespace

std::vector<OpCase> ShardedCases() {
  std::vector<OpCase> cases = AllOpCases();
  cases.push_back(
      CaseOfF64("pad_columns",
                "%r = sinter.pad %a value 1.5 low [0, 1] high [0, 2] interior [0, 1] : tensor<5x3xf64> -> "
                "tensor<5x8xf64>",
                {"tensor<5x3xf64>"}, "tensor<5x8xf64>"));
  cases.push_back(
      CaseOfF64("pad_with_zeros",
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
        CaseOfF64(std::string("reshape_") + from, "%r = sinter.reshape %a : " + x + " -> " + y, {x}, y));
  }
  cases.push_back(
      CaseOfF64("slice_of_some_rows",
                "%r = sinter.slice %a [0, 1, 0] [3, 5, 4] [1, 2, 1] : tensor<5x5x4xf64> -> tensor<3x2x4xf64>",
                {"tensor<5x5x4xf64>"}, "tensor<3x2x4xf64>"));
  cases.push_back(CaseOfF64(
      "matmul_bias_addend_scale",
      "%r = sinter.matmul %a, %b bias %c addend %d scale %e {transpose_a} : (tensor<2x5x3xf64>, "
      "tensor<2x5x4xf64>, tensor<4xf64>, tensor<2x3x4xf64>, tensor<f64>) -> tensor<2x3x4xf64>",
      {"tensor<2x5x3xf64>", "tensor<2x5x4xf64>", "tensor<4xf64>", "tensor<2x3x4xf64>", "tensor<f64>"},
      "tensor<2x3x4xf64>"));
  cases.push_back(CaseOfF64(
      "attention_packed_heads",
      "%r = sinter.attention %a {scale = 0.5 : f64} : (tensor<2x3x3x4x5xf64>) -> tensor<2x3x4x5xf64>",
      {"tensor<2x3x3x4x5xf64>"}, "tensor<2x3x4x5xf64>"));
  cases.push_back(CaseOfF64(
      "all_reduce",
      "%r = sinter.all_reduce sum %a over [#sinter.device<cpu, 0>] channel 0 : (tensor<5x3xf64>) -> "
      "tensor<5x3xf64>",
      {"tensor<5x3xf64>"}, "tensor<5x3xf64>"));
  // An index that names no row of the table is clamped to its ends.
  cases.push_back(
      CaseOfF64("gather_clamped",
                "%r = sinter.gather %a [%b] dim 0 : tensor<5x3xf64>, tensor<7xi32> -> tensor<7x3xf64>",
                {"tensor<5x3xf64>"}, "tensor<7x3xf64>"));
  cases.back().operands.push_back({"tensor<7xi32>", -4, 9});
  return cases;
}

std::vector<std::string> DTypesOf(const OpCase& c) {
  std::istringstream words(c.dtypes);
  std::vector<std::string> dtypes;
  for (std::string dtype; words >> dtype;) dtypes.push_back(dtype);
  return dtypes;
}

std::vector<std::string> DTypesInTurn(const OpCase& c, size_t number) {
  static const std::set<std::string> kTurns[] = {{"ui16", "ui32", "f8E5M2"}, {"i16", "ui64", "f8E4M3FN"}};
  std::vector<std::string> dtypes = DTypesOf(c);
  if (dtypes.size() > 1) {
    std::erase_if(dtypes, [&](const std::string& dtype) { return kTurns[number % 2].contains(dtype); });
  }
  return dtypes;
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

namespace {

// Returns the type of its name in programs: "ui8", "f8E4M3FN".
DType ElementOfText(const std::string& element) {
  if (element == "f8E4M3FN") return DType::kF8E4M3;
  if (element == "f8E5M2") return DType::kF8E5M2;
  return *ParseDType(element.starts_with("ui") ? "u" + element.substr(2) : element);
}

}  // namespace

Value ZerosOfText(const std::string& type) {
  std::string inside = type.substr(7, type.size() - 8);  // Between "tensor<" and ">".
  Shape shape;
  size_t at = 0;
  while (at < inside.size() && std::isdigit(static_cast<unsigned char>(inside[at]))) {
    size_t end = inside.find('x', at);
    shape.push_back(std::stoll(inside.substr(at, end - at)));
    at = end + 1;
  }
  std::string element = inside.substr(at);
  return Value::Zeros(ElementOfText(element), shape);
}

std::string ResultName(const OpCase& c, size_t i) {
  return c.results.size() == 1 ? "%r" : "%r#" + std::to_string(i);
}

std::string FunctionText(const OpCase& c, const std::string& dtype, const std::string& function) {
  std::string arguments, results, values, types;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    arguments += (i ? ", %" : "%") + OperandName(i) + ": " + c.operands[i].type + " {sinter.input = \"" +
                 OperandName(i) + "\"}";
  }
  for (size_t i = 0; i < c.results.size(); ++i) {
    results += (i ? ", " : "") + c.results[i] + " {sinter.output = \"r" + std::to_string(i) + "\"}";
    values += (i ? ", " : "") + ResultName(c, i);
    types += (i ? ", " : "") + c.results[i];
  }
  std::string text = Replace("func.func @" + function + "(" + arguments + ") -> (" + results + ") {\n  " +
                                 c.body + "\n  return " + values + " : " + types + "\n}\n" + c.functions,
                             "$T", dtype);
  return Replace(text, "$F", function);
}

namespace {

double SpecialReal(DType dtype, uint64_t i) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double values[] = {0.0,  -0.0, 1.0, -1.0,  kInfinity, -kInfinity, std::nan(""), 0.5,
                           -2.5, 3.0,  100, -1000, 1e-3,      -1e30,      1e30,         6e4};
  return reference::Round(dtype, values[i % std::size(values)]);
}

int64_t SpecialInt(DType dtype, uint64_t i) {
  const int64_t values[] = {0, 1, -1, reference::Lowest(dtype), reference::Highest(dtype), 2, -7, 100};
  return reference::Wrap(dtype, values[i % std::size(values)]);
}

}  // namespace

std::vector<Value> MakeOperands(const OpCase& c, const std::string& dtype, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Value> operands;
  for (const OperandCase& operand : c.operands) {
    Value value = ZerosOfText(Replace(operand.type, "$T", dtype));
    for (double& x : value.reals) {
      double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      x = c.special_values ? SpecialReal(value.dtype, random())
                           : reference::Round(value.dtype, operand.low + (operand.high - operand.low) * unit);
    }
    int64_t low = static_cast<int64_t>(std::ceil(operand.low)), high = static_cast<int64_t>(operand.high);
    low = std::max(low, reference::Lowest(value.dtype));
    const int64_t most = reference::Highest(value.dtype);
    high = std::max(low, most < 0 ? high : std::min(high, most));  // The largest u64 is -1, as bits.
    for (int64_t& x : value.ints) {
      x = c.special_values ? SpecialInt(value.dtype, random())
                           : low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    }
    operands.push_back(std::move(value));
  }
  return operands;
}

}  // namespace sinter::numerics
