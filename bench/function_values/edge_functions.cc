// Calls at the edges of functions: infinities and NaN, zeros, ties, empty and long dimensions.
#include "sinter/bench/function_values/cases.h"

namespace sinter::bench {

namespace {

// Returns x where the code is above 4; else NaN, infinity, -infinity, 0 or 1 for the codes 0 to 4.
Tensor Special(const Tensor& x, const Tensor& code) {
  const Tensor zero = Cast(Equal(code, 99), F32);
  const Tensor infinity = Select(Equal(code, 1), 1.0, Select(Equal(code, 2), -1.0, zero)) / zero;
  return Select(code > 4, x, Select(code < 3, infinity, Cast(code - 3, F32)));
}

// Codes of Special, which has no gradient there.
FunctionInput Codes(Shape shape) { return Integers(std::move(shape), 0, 12); }

FunctionCase Specials(std::string name, std::function<Results(const Tensor&)> function) {
  return {std::move(name) + ".special", {Floats({6, 9}, -3, 3), Codes({6, 9})}, [function](const Call& x) {
            return function(StopGradient(Special(x[0], x[1])));
          }};
}

FunctionCase Specials(std::string name, std::function<Results(const Tensor&, const Tensor&)> function) {
  return {std::move(name) + ".special",
          {Floats({9, 9}, -3, 3), Codes({9, 9}), Floats({9, 9}, -3, 3), Codes({9, 9})},
          [function](const Call& x) {
            return function(StopGradient(Special(x[0], x[1])), StopGradient(Special(x[2], x[3])));
          }};
}

using One = std::function<Results(const Tensor&)>;
using Two = std::function<Results(const Tensor&, const Tensor&)>;

const FunctionCase kSpecials[] = {
    Specials("Unary", One([](const Tensor& x) {
               return Results{Exp(x),    Exp2(x),       Expm1(x), Log(x),   Log2(x),  Log10(x), Log1p(x),
                              Sqrt(x),   Rsqrt(x),      Sin(x),   Tanh(x),  Sinh(x),  Cosh(x),  Asinh(x),
                              Acosh(x),  Atanh(x),      Atan(x),  Erf(x),   Erfc(x),  Abs(x),   Sign(x),
                              Square(x), Reciprocal(x), Floor(x), Round(x), Trunc(x), Asin(x),  Acos(x)};
             })),
    Specials("Activations", One([](const Tensor& x) {
               return Results{Relu(x),     Relu6(x),      LeakyRelu(x),       Elu(x),      Selu(x),
                              Sigmoid(x),  LogSigmoid(x), Softplus(x),        HardTanh(x), HardSigmoid(x),
                              Softsign(x), Celu(x),       Clamp(x, -1.0, 1.0)};
             })),
    Specials("Binary", Two([](const Tensor& x, const Tensor& y) {
               return Results{x + y,         x - y,          x * y,       x / y,       Pow(Abs(x), y),
                              Maximum(x, y), Minimum(x, y),  Atan2(x, y), Hypot(x, y), LogAddExp(x, y),
                              Rem(x, y),     CopySign(x, y), Frac(x)};
             })),
    Specials("Comparison", Two([](const Tensor& x, const Tensor& y) {
               return Results{Equal(x, y), NotEqual(x, y), x<y, x <= y, x> y, x >= y,
                              IsNan(x),    IsInf(x),       IsFinite(x)};
             })),
    Specials("Reduction", One([](const Tensor& x) {
               return Results{Sum(x, {1}),  Mean(x, {1}), Max(x, {1}),  Min(x, {1}),
                              Prod(x, {1}), Norm(x, {1}), Max(x, {0}),  Min(x, {0}),
                              CumSum(x, 1), CumMax(x, 1), CumMin(x, 1), CumProd(x, 1)};
             })),
    Specials("Order", One([](const Tensor& x) {
               return Results{Sort(x).values, Sort(x).positions, ArgMax(x, 1),
                              ArgMin(x, 1),   TopK(x, 4).values, ArgSort(x, {.descending = true})};
             })),
    Specials("Casts", One([](const Tensor& x) {
               return Results{Cast(Cast(x, BF16), F32), Cast(Cast(x, F16), F32), Cast(Cast(x, F64), F32)};
             })),
};

// Zeros for some of the elements of x.
Tensor Sparse(const Tensor& x, const Tensor& code) { return Select(code < 3, 0.0, x); }

const FunctionCase kEdges[] = {
    {"Prod.zeros",
     {Floats({9, 4}), Codes({9, 4})},
     [](const Call& x) { return Prod(Sparse(x[0], x[1]), {1}); }},
    {"CumProd.zeros",
     {Floats({9, 6}), Codes({9, 6})},
     [](const Call& x) { return CumProd(Sparse(x[0], x[1]), 1); }},
    {"Scatter.mul.zeros",
     {Floats({4, 3}), Integers({9}, 0, 4), Floats({9, 3}), Codes({9, 3})},
     [](const Call& x) { return Scatter(x[0], x[1], Sparse(x[2], x[3]), 0, ScatterKind::kMul); }},
    {"Norm.zeros",
     {Floats({9, 2}), Codes({9, 2})},
     [](const Call& x) { return Norm(Sparse(x[0], x[1]), {1}); }},
    {"Abs.zeros",
     {Floats({9, 4}), Codes({9, 4})},
     [](const Call& x) {
       const Tensor y = Sparse(x[0], x[1]);
       return Results{Abs(y),      Relu(y), LeakyRelu(y, 0.2), Relu6(y), Elu(y),
                      Softsign(y), Sign(y), SoftShrink(y),     Square(y)};
     }},
    {"Pow.zeros",
     {Floats({9, 4}), Codes({9, 4})},
     [](const Call& x) { return Pow(Sparse(x[0], x[1]), 2.0); }},
    {"Pow.powers",
     {Floats({9, 9}, -3, 3), Integers({9}, -3, 5)},
     [](const Call& x) { return Pow(x[0], Cast(x[1], F32)); }},
    {"XLogY.zeros",
     {Floats({9, 4}), Codes({9, 4}), Floats({9, 4}, 0.3, 3)},
     [](const Call& x) { return XLogY(Sparse(x[0], x[1]), x[2]); }},
    {"Maximum.ties",
     {Floats({9, 9}), Floats({9, 9}), Codes({9, 9})},
     [](const Call& x) {
       const Tensor y = Select(x[2] < 4, x[0], x[1]);
       return Results{Maximum(x[0], y), Minimum(x[0], y)};
     }},
    {"LogAddExp.far",
     {Floats({9, 9}, -90, 90), Floats({9, 9}, -90, 90)},
     [](const Call& x) { return LogAddExp(x[0], x[1]); }},
    {"Saturated",
     {Floats({9, 9}, -99, 99)},
     [](const Call& x) {
       return Results{Sigmoid(x[0]), LogSigmoid(x[0]), Softplus(x[0]), Tanh(x[0]),
                      Silu(x[0]),    Mish(x[0]),       Gelu(x[0]),     GeluTanh(x[0])};
     }},
    {"Softmax.far",
     {Floats({5, 9}, -200, 200)},
     [](const Call& x) { return Results{Softmax(x[0]), LogSoftmax(x[0]), LogSumExp(x[0], {1})}; }},
    {"Softmax.infinite",
     {Floats({5, 9}), Codes({5, 9})},
     [](const Call& x) {
       const Tensor infinity = 1.0 / Cast(Equal(x[1], 99), F32);
       const Tensor y = Select(x[1] < 6, -infinity, x[0]);
       return Results{Softmax(y), LogSumExp(y, {1})};
     }},
    {"BceWithLogitsLoss.far",
     {Floats({5, 9}, -200, 200), Truths({5, 9})},
     [](const Call& x) { return BceWithLogitsLoss(x[0], Cast(x[1], F32)); }},
    {"SoftmaxCrossEntropy.far",
     {Floats({9, 5}, -200, 200), Integers({9}, 0, 5)},
     [](const Call& x) { return SoftmaxCrossEntropy(x[0], x[1]); }},
    {"Var.offset", {Floats({5, 99}, 99, 100)}, [](const Call& x) { return Var(x[0], {1}); }},
    {"LayerNorm.offset",
     {Floats({5, 99}, 99, 101), Floats({99}), Floats({99})},
     [](const Call& x) { return LayerNorm(x[0], x[1], x[2]); }},
    {"CosineSimilarity.zeros",
     {Floats({5, 3}), Floats({5, 3})},
     [](const Call& x) { return CosineSimilarity(x[0], StopGradient(x[1] * 0.0)); }},
    {"MaxPool2d.ties",
     {Integers({2, 3, 6, 6}, 0, 3)},
     [](const Call& x) { return MaxPool2d(Cast(x[0], F32), {2, 2}); }},
    {"Max.equal",
     {Floats({7}), Integers({4, 6}, 0, 3)},
     [](const Call& x) {
       const Tensor y = Gather(x[0], x[1], 0);
       return Results{Max(y, {1}), Min(y, {0}), CumMax(y, 1)};
     }},
    {"CtcLoss.empty",
     {Floats({4, 6, 5}), Integers({4, 3}, 1, 5), Integers({4}, 0, 2)},
     [](const Call& x) {
       return CtcLoss(x[0], x[1], {.label_lengths = x[2], .reduction = Reduction::kNone});
     }},
    {"Long",
     {Floats({3, 4099}), Floats({4099})},
     [](const Call& x) {
       return Results{Sum(x[0], {1}),
                      Mean(x[0], {0, 1}),
                      CumSum(x[0], 1),
                      LogSumExp(x[0], {1}),
                      Softmax(x[0]),
                      Var(x[0], {1}),
                      LayerNorm(x[0], x[1], x[1]),
                      RmsNorm(x[0], x[1]),
                      Sort(x[0]).values,
                      Max(x[0], {1})};
     }},
    {"Wide",
     {Floats({517, 67}), Floats({67, 131})},
     [](const Call& x) {
       return Results{Sum(x[0], {0}),   Max(x[0], {0}),     CumSum(x[0], 0),
                      Softmax(x[0], 0), MatMul(x[0], x[1]), Transpose(x[0], {1, 0})};
     }},
    {"Conv2d.wide",
     {Floats({3, 17, 33, 35}), Floats({34, 17, 3, 3})},
     [](const Call& x) { return Conv2d(x[0], x[1], {.padding = {1, 1, 1, 1}}); }},
    {"Conv2d.five",
     {Floats({2, 8, 33, 35}), Floats({16, 8, 5, 5})},
     [](const Call& x) { return Conv2d(x[0], x[1], {.strides = {2, 2}, .padding = {2, 2, 2, 2}}); }},
    {"Attention.wide",
     {Floats({2, 70, 4, 32}), Floats({2, 70, 4, 32}), Floats({2, 70, 4, 32})},
     [](const Call& x) { return Attention(x[0], x[1], x[2], {.causal = true}); }},
};

std::vector<FunctionCase> AllEdges() {
  std::vector<FunctionCase> all(std::begin(kSpecials), std::end(kSpecials));
  all.insert(all.end(), std::begin(kEdges), std::end(kEdges));
  return all;
}

}  // namespace

std::span<const FunctionCase> EdgeFunctions() {
  static const std::vector<FunctionCase> all = AllEdges();
  return all;
}

}  // namespace sinter::bench
