// Functions of each element, comparisons and activations.
#include "sinter/bench/function_values/cases.h"

namespace sinter::bench {

namespace {

using UnaryFunction = Tensor (*)(const Tensor&, Where);
using BinaryFunction = Tensor (*)(Operand, Operand);

FunctionCase Unary(std::string name, UnaryFunction function, double low = -2, double high = 2) {
  return {std::move(name), {Floats({3, 7}, low, high)}, [function](const Call& x) {
            return function(x[0], Where::current());
          }};
}

// The second operand broadcasts.
FunctionCase Binary(std::string name, BinaryFunction function, double low = -2, double high = 2) {
  return {std::move(name),
          {Floats({4, 3, 5}, low, high), Floats({3, 1}, low, high)},
          [function](const Call& x) { return function(x[0], x[1]); }};
}

// A comparison chooses between its operands.
FunctionCase Comparison(std::string name, BinaryFunction function) {
  return {std::move(name),
          {Integers({4, 6}, 0, 3), Integers({6}, 0, 3), Floats({4, 6}), Floats({4, 6})},
          [function](const Call& x) {
            const Tensor truth = function(x[0], x[1]);
            return Results{truth, Select(truth, x[2], x[3])};
          }};
}

const FunctionCase kPointwise[] = {
    Binary("operator+", &operator+),
    Binary("operator-", static_cast<BinaryFunction>(&operator-)),
    Binary("operator*", &operator*),
    Binary("operator/", &operator/, 0.5, 2),
    {"operator/.integers",
     {Integers({5, 7}, -20, 20), Integers({5, 7}, 1, 6)},
     [](const Call& x) { return x[0] / x[1]; }},
    {"Negate", {Floats({5})}, [](const Call& x) { return -x[0]; }},
    Binary("Rem", &Rem, 0.3, 4),
    {"Rem.signs",
     {Floats({4, 5}, -5, 5), Floats({4, 5}, 0.7, 2)},
     [](const Call& x) { return Rem(x[0], -x[1]); }},
    Binary("Mod", &Mod, 0.3, 4),
    {"Mod.signs",
     {Floats({4, 5}, -5, 5), Floats({4, 5}, 0.7, 2)},
     [](const Call& x) { return Mod(x[0], -x[1]); }},
    {"Mod.integers",
     {Integers({5, 7}, -20, 20), Integers({5, 7}, 1, 6)},
     [](const Call& x) {
       return Results{Mod(x[0], x[1]), Mod(x[0], -x[1]), Rem(x[0], x[1]), FloorDivide(x[0], x[1])};
     }},
    Binary("Pow", &Pow, 0.3, 3),
    {"Pow.number", {Floats({4, 5})}, [](const Call& x) { return Pow(x[0], 3.0); }},
    Binary("Maximum", &Maximum),
    Binary("Minimum", &Minimum),
    Unary("Abs", &Abs),
    Unary("Square", &Square),
    Unary("Sign", &Sign),
    Unary("Exp", &Exp),
    Unary("Exp2", &Exp2),
    Unary("Expm1", &Expm1, -1e-2, 1e-2),
    Unary("Log", &Log, 0.1, 5),
    Unary("Log2", &Log2, 0.1, 5),
    Unary("Log10", &Log10, 0.1, 5),
    Unary("Log1p", &Log1p, -1e-2, 1e-2),
    Unary("Sqrt", &Sqrt, 0.1, 5),
    Unary("Rsqrt", &Rsqrt, 0.1, 5),
    Unary("Reciprocal", &Reciprocal, 0.3, 5),
    Unary("Sin", &Sin, -10, 10),
    Unary("Cos", &Cos, -10, 10),
    Unary("Tan", &Tan, -1.2, 1.2),
    Unary("Asin", &Asin, -0.9, 0.9),
    Unary("Acos", &Acos, -0.9, 0.9),
    Unary("Atan", &Atan),
    Unary("Sinh", &Sinh),
    Unary("Cosh", &Cosh),
    Unary("Tanh", &Tanh),
    Unary("Asinh", &Asinh),
    Unary("Acosh", &Acosh, 1.2, 5),
    Unary("Atanh", &Atanh, -0.9, 0.9),
    Binary("Atan2", &Atan2),
    Binary("Hypot", &Hypot),
    Binary("LogAddExp", &LogAddExp, -5, 5),
    Binary("XLogY", &XLogY, 0.1, 3),
    Unary("Erf", &Erf),
    Unary("Erfc", &Erfc, -2, 5),
    Unary("ErfInv", &ErfInv, -0.95, 0.95),
    Unary("LogGamma", &LogGamma, 0.1, 12),
    Unary("LogGamma.negative", &LogGamma, -2.9, -2.1),
    Unary("Digamma", &Digamma, 0.1, 12),
    Unary("Digamma.negative", &Digamma, -2.8, -2.2),
    {"LogBeta",
     {Floats({3, 7}, 0.2, 6), Floats({3, 7}, 0.2, 6)},
     [](const Call& x) { return LogBeta(x[0], x[1]); }},
    {"FloorDivide",
     {Floats({4, 5}, -5, 5), Floats({4, 5}, 0.7, 2)},
     [](const Call& x) { return FloorDivide(x[0], x[1]); }},
    Unary("Frac", &Frac, -5, 5),
    {"Lerp",
     {Floats({4, 5}), Floats({4, 5}), Floats({5}, 0, 1)},
     [](const Call& x) { return Lerp(x[0], x[1], x[2]); }},
    Unary("Cbrt", &Cbrt, 0.2, 9),
    {"CopySign",
     {Floats({4, 5}), Floats({4, 5})},
     [](const Call& x) { return CopySign(x[0], StopGradient(x[1])); }},
    {"NanToNum",
     {Floats({6, 5}), Integers({6, 5}, -1, 4)},
     [](const Call& x) {
       const Tensor infinite = Cast(Select(x[1] < 2, x[1], 0), F32) / 0.0;
       const Tensor values = Select(Equal(x[1], 3), x[0], infinite);
       const NanToNumOptions options = {.nan = 0.5, .infinity = 7, .negative_infinity = -8};
       return Results{NanToNum(values, options), NanToNum(infinite)};
     }},
    Unary("Floor", &Floor, -5, 5),
    Unary("Ceil", &Ceil, -5, 5),
    Unary("Trunc", &Trunc, -5, 5),
    Unary("Round", &Round, -5, 5),
    {"Round.ties", {Integers({9}, -6, 6)}, [](const Call& x) { return Round(Cast(x[0], F32) / 2.0); }},
    {"Clamp", {Floats({4, 5})}, [](const Call& x) { return Clamp(x[0], -0.5, 0.75); }},
    {"Cast", {Floats({4, 5}, -9, 9)}, [](const Call& x) { return Cast(x[0], I32); }},
    {"Cast.bf16", {Floats({4, 5}, -9, 9)}, [](const Call& x) { return Cast(Cast(x[0], BF16), F32); }},
    {"StopGradient", {Floats({4, 5})}, [](const Call& x) { return x[0] * StopGradient(x[0]); }},
};

const FunctionCase kActivations[] = {
    Unary("Relu", &Relu),
    Unary("Relu6", &Relu6, -3, 9),
    {"LeakyRelu", {Floats({4, 5})}, [](const Call& x) { return LeakyRelu(x[0], 0.1); }},
    {"PRelu",
     {Floats({2, 3, 4, 5}), Floats({3}, 0, 1)},
     [](const Call& x) { return PRelu(x[0], Reshape(x[1], {3, 1, 1})); }},
    {"Elu", {Floats({4, 5})}, [](const Call& x) { return Elu(x[0], 1.3); }},
    Unary("Selu", &Selu),
    {"Celu", {Floats({4, 5})}, [](const Call& x) { return Celu(x[0], 0.7); }},
    Unary("Gelu", &Gelu, -4, 4),
    Unary("GeluTanh", &GeluTanh, -4, 4),
    Unary("Sigmoid", &Sigmoid, -8, 8),
    Unary("LogSigmoid", &LogSigmoid, -20, 20),
    Unary("Silu", &Silu, -8, 8),
    Unary("Mish", &Mish, -8, 8),
    Unary("Softplus", &Softplus, -15, 15),
    Unary("Softsign", &Softsign),
    {"HardTanh", {Floats({4, 5})}, [](const Call& x) { return HardTanh(x[0], -0.5, 1.5); }},
    Unary("HardSigmoid", &HardSigmoid, -5, 5),
    Unary("HardSwish", &HardSwish, -5, 5),
    Unary("TanhShrink", &TanhShrink),
    {"SoftShrink", {Floats({4, 5})}, [](const Call& x) { return SoftShrink(x[0], 0.6); }},
    {"HardShrink", {Floats({4, 5})}, [](const Call& x) { return HardShrink(x[0], 0.6); }},
    {"Threshold", {Floats({4, 5})}, [](const Call& x) { return Threshold(x[0], 0.4, -3); }},
    {"Glu", {Floats({4, 6, 5})}, [](const Call& x) { return Glu(x[0], 1); }},
    {"SwiGlu", {Floats({4, 6})}, [](const Call& x) { return SwiGlu(x[0]); }},
};

const FunctionCase kLogic[] = {
    Comparison("Equal", &Equal),
    Comparison("NotEqual", &NotEqual),
    Comparison("operator<", &operator<),
    Comparison("operator<=", &operator<=),
    Comparison("operator>", &operator>),
    Comparison("operator>=", &operator>=),
    {"operator&&", {Truths({4, 6}), Truths({6})}, [](const Call& x) { return x[0] && x[1]; }},
    {"operator||", {Truths({4, 6}), Truths({6})}, [](const Call& x) { return x[0] || x[1]; }},
    {"operator!", {Truths({4, 6})}, [](const Call& x) { return !x[0]; }},
    {"LogicalXor", {Truths({4, 6}), Truths({6})}, [](const Call& x) { return LogicalXor(x[0], x[1]); }},
    {"Bits",
     {Integers({4, 6}, -99, 99), Integers({6}, -99, 99)},
     [](const Call& x) { return Results{x[0] & x[1], x[0] | x[1], x[0] ^ x[1], ~x[0]}; }},
    {"Shifts",
     {Integers({4, 6}, -99, 99), Integers({6}, 0, 9)},
     [](const Call& x) { return Results{ShiftLeft(x[0], x[1]), ShiftRight(x[0], x[1])}; }},
    {"Select",
     {Truths({4, 1}), Floats({4, 5}), Floats({5})},
     [](const Call& x) { return Select(x[0], x[1], x[2]); }},
    {"IsFinite",
     {Integers({4, 6}, -2, 2)},
     [](const Call& x) {
       const Tensor values = Cast(x[0], F32) / Cast(x[0] + 1, F32) * Cast(x[0], F32);
       const Tensor roots = Sqrt(values) / Cast(x[0] + 1, F32);
       return Results{IsNan(roots), IsInf(roots), IsFinite(roots)};
     }},
};

std::vector<FunctionCase> All() {
  std::vector<FunctionCase> all(std::begin(kPointwise), std::end(kPointwise));
  all.insert(all.end(), std::begin(kActivations), std::end(kActivations));
  all.insert(all.end(), std::begin(kLogic), std::end(kLogic));
  return all;
}

}  // namespace

std::span<const FunctionCase> PointwiseFunctions() {
  static const std::vector<FunctionCase> all = All();
  return all;
}

}  // namespace sinter::bench
