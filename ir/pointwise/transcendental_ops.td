// Pointwise exponentials, logarithms, powers and angles.
#ifndef SINTER_IR_TRANSCENDENTAL_OPS_TD
#define SINTER_IR_TRANSCENDENTAL_OPS_TD

include "sinter/ir/dialect/dialect.td"

def ExpOp : Sinter_UnaryFloatOp<"exp", "e to the power x", [{ s.exp(x) }], [{ g * r }]>;
def Expm1Op : Sinter_UnaryFloatOp<"expm1", "exp(x) - 1, exact near 0", [{ s.expm1(x) }], [{ g * (r + 1.0) }]>;
def LogOp : Sinter_UnaryFloatOp<"log", "Natural logarithm", [{ s.log(x) }], [{ g / x }]>;
def Log1pOp : Sinter_UnaryFloatOp<"log1p", "log(1 + x), exact near 0", [{ s.log1p(x) }], [{ g / (x + 1.0) }]>;
def SqrtOp : Sinter_UnaryFloatOp<"sqrt", "Square root", [{ s.sqrt(x) }], [{ g * 0.5 / r }]>;
def RsqrtOp : Sinter_UnaryFloatOp<"rsqrt", "1 / sqrt(x)", [{ s.rsqrt(x) }], [{ g * -0.5 * r / x }]>;
def SquareOp : Sinter_UnaryNumberOp<"square", "x * x", [{ x * x }], [{ g * x * 2.0 }]>;
def ReciprocalOp : Sinter_UnaryFloatOp<"reciprocal", "1 / x", [{ 1.0 / x }], [{ -g * r * r }]>;
def SinOp : Sinter_UnaryFloatOp<"sin", "Sine of x in radians", [{ s.sin(x) }], [{ g * b.cos(x) }]>;
def CosOp : Sinter_UnaryFloatOp<"cos", "Cosine of x in radians", [{ s.cos(x) }], [{ -g * b.sin(x) }]>;
def TanOp : Sinter_UnaryFloatOp<"tan", "Tangent of x in radians", [{ s.tan(x) }], [{ g * (r * r + 1.0) }]>;
def TanhOp : Sinter_UnaryFloatOp<"tanh", "Hyperbolic tangent", [{ s.tanh(x) }], [{ g * (1.0 - r * r) }]>;
def ErfOp : Sinter_UnaryFloatOp<"erf", "Error function: 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x",
    [{ s.erf(x) }], [{ g * b.exp(-(x * x)) * 1.1283791670955126 }]>;

#endif  // SINTER_IR_TRANSCENDENTAL_OPS_TD
