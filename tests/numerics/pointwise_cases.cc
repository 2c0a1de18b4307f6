#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

// Rank 0; no elements; one element; less than a vector; a matrix with a tail; more than one thread's share.
const char* const kShapes[] = {"", "0x3x", "1x", "7x", "33x17x", "100003x"};

struct Unary {
  const char* name;
  OpClass op_class;
  const char* dtypes;
  double low, high;
  const char* attributes = "";
};

const Unary kUnary[] = {
    {"neg", OpClass::kExact, kNumbers, -4, 4},
    {"abs", OpClass::kExact, kNumbers, -4, 4},
    {"sign", OpClass::kExact, kNumbers, -4, 4},
    {"floor", OpClass::kExact, kFloats, -4, 4},
    {"ceil", OpClass::kExact, kFloats, -4, 4},
    {"round", OpClass::kExact, kFloats, -4, 4},
    {"exp", OpClass::kTranscendental, kFloats, -5, 5},
    {"expm1", OpClass::kTranscendental, kFloats, -3, 3},
    {"log", OpClass::kTranscendental, kFloats, 0.05, 8},
    {"log1p", OpClass::kTranscendental, kFloats, -0.9, 5},
    {"sqrt", OpClass::kArithmetic, kFloats, 0.01, 9},
    {"rsqrt", OpClass::kArithmetic, kFloats, 0.05, 9},
    {"square", OpClass::kArithmetic, kNumbers, -13, 13},
    {"reciprocal", OpClass::kArithmetic, kFloats, 0.3, 4},
    {"sin", OpClass::kTranscendental, kFloats, -10, 10},
    {"cos", OpClass::kTranscendental, kFloats, -10, 10},
    {"tan", OpClass::kTranscendental, kFloats, -1.3, 1.3},
    {"tanh", OpClass::kTranscendental, kFloats, -4, 4},
    {"erf", OpClass::kTranscendental, kFloats, -3, 3},
    {"exp2", OpClass::kTranscendental, kFloats, -6, 6},
    {"log2", OpClass::kTranscendental, kFloats, 0.05, 8},
    {"log10", OpClass::kTranscendental, kFloats, 0.05, 8},
    {"asin", OpClass::kTranscendental, kFloats, -0.9, 0.9},
    {"acos", OpClass::kTranscendental, kFloats, -0.9, 0.9},
    {"atan", OpClass::kTranscendental, kFloats, -4, 4},
    {"sinh", OpClass::kTranscendental, kFloats, -4, 4},
    {"cosh", OpClass::kTranscendental, kFloats, -4, 4},
    {"asinh", OpClass::kTranscendental, kFloats, -6, 6},
    {"acosh", OpClass::kTranscendental, kFloats, 1.2, 6},
    {"atanh", OpClass::kTranscendental, kFloats, -0.9, 0.9},
    {"trunc", OpClass::kExact, kFloats, -4, 4},
    {"sigmoid", OpClass::kTranscendental, kFloats, -6, 6},
    {"relu", OpClass::kExact, kNumbers, -4, 4},
    {"silu", OpClass::kTranscendental, kFloats, -6, 6},
    {"softplus", OpClass::kTranscendental, kFloats, -6, 6},
    {"log_sigmoid", OpClass::kTranscendental, kFloats, -6, 6},
    {"gelu", OpClass::kTranscendental, kFloats, -4, 4},
    {"gelu_tanh", OpClass::kTranscendental, kFloats, -4, 4},
    {"leaky_relu", OpClass::kArithmetic, kFloats, -4, 4, " {alpha = 0.125 : f64}"},
    {"elu", OpClass::kTranscendental, kFloats, -4, 4, " {alpha = 0.75 : f64}"},
    {"clamp", OpClass::kExact, kNumbers, -4, 4, " {low = 0.0 : f64, high = 3.0 : f64}"},
    {"bitwise_not", OpClass::kExact, kIntegers, -100, 100},
    {"stop_gradient", OpClass::kExact, kMoved, -4, 4},
    {"gradient_point", OpClass::kExact, kMoved, -4, 4, " {id = 0 : i64}"},
};

struct Binary {
  const char* name;
  OpClass op_class;
  const char* dtypes;
  OperandCase a, b;
};

const Binary kBinary[] = {
    {"add", OpClass::kArithmetic, kNumbers, {"", -100, 100}, {"", -100, 100}},
    {"sub", OpClass::kArithmetic, kNumbers, {"", -100, 100}, {"", -100, 100}},
    {"mul", OpClass::kArithmetic, kNumbers, {"", -20, 20}, {"", -20, 20}},
    {"div", OpClass::kArithmetic, kFloats, {"", -4, 4}, {"", 0.5, 3}},
    {"div", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -5, 5}},
    {"rem", OpClass::kExact, kFloats, {"", -4, 4}, {"", 0.5, 3}},
    {"rem", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -5, 5}},
    {"mod", OpClass::kArithmetic, kFloats, {"", -4, 4}, {"", 0.5, 3}},
    {"mod", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -5, 5}},
    {"hypot", OpClass::kArithmetic, kFloats, {"", -4, 4}, {"", -4, 4}},
    {"log_add_exp", OpClass::kTranscendental, kFloats, {"", -4, 4}, {"", -4, 4}},
    {"x_log_y", OpClass::kTranscendental, kFloats, {"", -4, 4}, {"", 0.5, 4}},
    {"pow", OpClass::kTranscendental, kFloats, {"", 0.2, 3}, {"", -2, 2}},
    {"atan2", OpClass::kTranscendental, kFloats, {"", -3, 3}, {"", -3, 3}},
    {"maximum", OpClass::kExact, kNumbers, {"", -4, 4}, {"", -4, 4}},
    {"minimum", OpClass::kExact, kNumbers, {"", -4, 4}, {"", -4, 4}},
    {"bitwise_and", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -100, 100}},
    {"bitwise_or", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -100, 100}},
    {"bitwise_xor", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -100, 100}},
    {"shift_left", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -2, 70}},
    {"shift_right", OpClass::kExact, kIntegers, {"", -100, 100}, {"", -2, 70}},
    {"logical_and", OpClass::kExact, "i1", {"", 0, 1}, {"", 0, 1}},
    {"logical_or", OpClass::kExact, "i1", {"", 0, 1}, {"", 0, 1}},
    {"logical_xor", OpClass::kExact, "i1", {"", 0, 1}, {"", 0, 1}},
};

bool HasFloats(const std::string& dtypes) { return dtypes.find("f64") != std::string::npos; }

void AddUnary(std::vector<OpCase>& cases) {
  for (const Unary& u : kUnary) {
    auto make = [&](const std::string& shape, bool special) {
      std::string type = "tensor<" + shape + "$T>";
      std::string body = std::string("%r = sinter.") + u.name + " %a" + u.attributes + " : " + type;
      cases.push_back({std::string(u.name) + "_" + shape + (special ? "special" : ""),
                       u.op_class,
                       body,
                       {{type, u.low, u.high}},
                       {type},
                       u.dtypes,
                       HasFloats(u.dtypes) && !special,
                       special});
      const std::string name = u.name;
      if (name == "stop_gradient") cases.back().has_gradient = false;
      // f64 angles beyond 2^50 give NaN (kernels/cpu/math/vector_math.h), and the special values include
      // 1e30.
      if (special && (name == "sin" || name == "cos" || name == "tan")) cases.back().dtypes = "f32 bf16 f16";
    };
    for (const char* shape : kShapes) make(shape, false);
    make("97x", true);
  }
}

void AddBinary(std::vector<OpCase>& cases) {
  for (const Binary& b : kBinary) {
    auto make = [&](const std::string& shape, bool special) {
      std::string type = "tensor<" + shape + "$T>";
      std::string body = std::string("%r = sinter.") + b.name + " %a, %b : " + type;
      cases.push_back({std::string(b.name) + "_" + shape + (special ? "special" : ""),
                       b.op_class,
                       body,
                       {{type, b.a.low, b.a.high}, {type, b.b.low, b.b.high}},
                       {type},
                       b.dtypes,
                       HasFloats(b.dtypes) && !special,
                       special});
    };
    for (const char* shape : kShapes) make(shape, false);
    make("397x", true);
  }
}

void AddLogic(std::vector<OpCase>& cases) {
  for (const char* predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    for (bool special : {false, true}) {
      cases.push_back(
          {std::string("compare_") + predicate + (special ? "_special" : ""),
           OpClass::kExact,
           std::string("%r = sinter.compare ") + predicate + " %a, %b : tensor<97x$T> -> tensor<97xi1>",
           {{"tensor<97x$T>", -3, 3}, {"tensor<97x$T>", -3, 3}},
           {"tensor<97xi1>"},
           kAnything,
           false,
           special});
    }
  }
  cases.push_back({"logical_not",
                   OpClass::kExact,
                   "%r = sinter.logical_not %a : tensor<33x17xi1>",
                   {{"tensor<33x17xi1>", 0, 1}},
                   {"tensor<33x17xi1>"},
                   "i1",
                   false});
  for (const char* test : {"is_nan", "is_finite", "is_inf"}) {
    cases.push_back({test,
                     OpClass::kExact,
                     std::string("%r = sinter.") + test + " %a : tensor<97x$T> -> tensor<97xi1>",
                     {{"tensor<97x$T>"}},
                     {"tensor<97xi1>"},
                     kFloats,
                     false,
                     true});
  }
  cases.push_back({"select",
                   OpClass::kExact,
                   "%r = sinter.select %a, %b, %c : tensor<7x5xi1>, tensor<7x5x$T>",
                   {{"tensor<7x5xi1>", 0, 1}, {"tensor<7x5x$T>"}, {"tensor<7x5x$T>"}},
                   {"tensor<7x5x$T>"},
                   kMoved});
  // Ops without a gradient, between ops that have one.
  cases.push_back({"masks",
                   OpClass::kArithmetic,
                   "%0 = sinter.compare lt %a, %b : tensor<7x$T> -> tensor<7xi1>\n"
                   "  %1 = sinter.is_finite %a : tensor<7x$T> -> tensor<7xi1>\n"
                   "  %2 = sinter.is_nan %b : tensor<7x$T> -> tensor<7xi1>\n"
                   "  %8 = sinter.is_inf %b : tensor<7x$T> -> tensor<7xi1>\n"
                   "  %9 = sinter.logical_or %2, %8 : tensor<7xi1>\n"
                   "  %3 = sinter.logical_not %9 : tensor<7xi1>\n"
                   "  %4 = sinter.logical_and %0, %1 : tensor<7xi1>\n"
                   "  %5 = sinter.logical_xor %4, %3 : tensor<7xi1>\n"
                   "  %6 = sinter.logical_or %5, %0 : tensor<7xi1>\n"
                   "  %7 = sinter.cast %6 : tensor<7xi1> -> tensor<7x$T>\n"
                   "  %r = sinter.mul %7, %a : tensor<7x$T>",
                   {{"tensor<7x$T>"}, {"tensor<7x$T>"}},
                   {"tensor<7x$T>"},
                   kFloats});
}

void AddCasts(std::vector<OpCase>& cases) {
  for (const char* from : {"f64", "f32", "bf16", "f16", "i64", "i32", "i8", "ui8", "i16", "ui16", "ui32",
                           "ui64", "i1", "f8E4M3FN", "f8E5M2"}) {
    for (bool special : {false, true}) {
      std::string operand = std::string("tensor<97x") + from + ">";
      cases.push_back({std::string("cast_from_") + from + (special ? "_special" : ""),
                       OpClass::kArithmetic,
                       "%r = sinter.cast %a : " + operand + " -> tensor<97x$T>",
                       {{operand, -200, 300}},
                       {"tensor<97x$T>"},
                       kMoved,
                       std::string(from) == "f64" && !special,
                       special});
    }
  }
}

void AddViews(std::vector<OpCase>& cases) {
  cases.push_back({"add_of_broadcast_and_transpose",
                   OpClass::kArithmetic,
                   "%0 = sinter.broadcast %a [1] : tensor<7x$T> -> tensor<5x7x$T>\n"
                   "  %1 = sinter.transpose %b [1, 0] : tensor<7x5x$T> -> tensor<5x7x$T>\n"
                   "  %r = sinter.sub %0, %1 : tensor<5x7x$T>",
                   {{"tensor<7x$T>"}, {"tensor<7x5x$T>"}},
                   {"tensor<5x7x$T>"},
                   kNumbers});
  cases.push_back({"mul_of_column_and_scalar",
                   OpClass::kArithmetic,
                   "%0 = sinter.broadcast %a [0, 1] : tensor<33x1x$T> -> tensor<33x17x$T>\n"
                   "  %1 = sinter.broadcast %b [] : tensor<$T> -> tensor<33x17x$T>\n"
                   "  %r = sinter.mul %0, %1 : tensor<33x17x$T>",
                   {{"tensor<33x1x$T>"}, {"tensor<$T>"}},
                   {"tensor<33x17x$T>"},
                   kNumbers});
}

}  // namespace

std::vector<OpCase> PointwiseCases() {
  std::vector<OpCase> cases;
  AddUnary(cases);
  AddBinary(cases);
  AddLogic(cases);
  AddCasts(cases);
  AddViews(cases);
  return cases;
}

}  // namespace sinter::numerics
