// User-defined kernels. The reference repeats exactly these bodies: see tests/reference/custom.cc.
#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {

namespace {

// Returns the text of an elementwise_kernel op. `parameters` looks like `"x", "z"`, `raw` like `false, true`.
std::string Op(const std::string& parameters, const std::string& raw, int n, const std::string& body,
               const std::string& more, const std::string& types) {
  return "%r = sinter.elementwise_kernel \"kernel\"(%a" + more + ") {parameters = [" + parameters +
         "], raw = array<i1: " + raw + ">, n = " + std::to_string(n) + " : i64, body = \"" + body +
         "\", types = {T = $T}} : " + types;
}

OpCase SquaredDifference(const std::string& dims, int n, const std::string& dtypes, bool has_gradient) {
  std::string type = "tensor<" + dims + "$T>", pair = type + ", " + type;
  std::string body = Op("\"x\", \"y\", \"z\"", "false, false, false", n, "z = (x - y) * (x - y)", ", %b",
                        "(" + pair + ") -> " + type);
  OpCase c{"kernel_squared_diff_" + dims,
           OpClass::kArithmetic,
           body,
           {{type}, {type}},
           {type},
           dtypes,
           has_gradient};
  if (!has_gradient) return c;
  c.body = Replace(c.body, "types = ", "gradient = @$F.gradient, types = ");
  c.functions = "func.func private @$F.gradient(%x: " + type + ", %y: " + type + ", %z: " + type +
                ", %g: " + type + ") -> (" + pair + ") {\n  %d = sinter.sub %x, %y : " + type +
                "\n  %h = sinter.mul %d, %g : " + type + "\n  %dx = sinter.add %h, %h : " + type +
                "\n  %dy = sinter.neg %dx : " + type + "\n  return %dx, %dy : " + pair + "\n}\n";
  return c;
}

}  // namespace

std::vector<OpCase> CustomCases() {
  std::string mixed =
      Op("\"x\", \"y\", \"c\", \"z\", \"w\"", "false, false, false, false, false", 21,
         "z = x * y + c; w = c > 0;", ", %b, %c",
         "(tensor<7x3x$T>, tensor<7x3xf32>, tensor<7x3xi32>) -> (tensor<7x3xf32>, tensor<7x3xi1>)");
  mixed.replace(0, 2, "%r:2");
  return {
      SquaredDifference("3x5x", 15, kFloats, /*has_gradient=*/true),
      SquaredDifference("100x101x", 10100, kIntegers, /*has_gradient=*/false),
      SquaredDifference("0x3x", 0, kFloats, /*has_gradient=*/false),
      {"kernel_pick",
       OpClass::kExact,
       Op("\"table\", \"at\", \"z\"", "true, false, false", 8, "z = table[at]", ", %b",
          "(tensor<6x$T>, tensor<4x2xi32>) -> tensor<4x2x$T>"),
       {{"tensor<6x$T>"}, {"tensor<4x2xi32>", 0, 5}},
       {"tensor<4x2x$T>"},
       kAnything,
       /*has_gradient=*/false},
      {"kernel_mixed",
       OpClass::kTranscendental,
       mixed,
       {{"tensor<7x3x$T>"}, {"tensor<7x3xf32>"}, {"tensor<7x3xi32>"}},
       {"tensor<7x3xf32>", "tensor<7x3xi1>"},
       kNumbers,
       /*has_gradient=*/false},
      {"kernel_math",
       OpClass::kTranscendental,
       Op("\"x\", \"z\"", "false, false", 1000,
          "z = exp(x) + log1p(fabs(x)) + max(sin(x), T(0)) + sqrt(abs(x));", "",
          "(tensor<1000x$T>) -> tensor<1000x$T>"),
       {{"tensor<1000x$T>"}},
       {"tensor<1000x$T>"},
       kFloats,
       /*has_gradient=*/false},
  };
}

}  // namespace sinter::numerics
