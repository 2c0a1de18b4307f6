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

def Exp2Op : Sinter_UnaryFloatOp<"exp2", "2 to the power x", [{ s.pow(s.constant(x, 2), x) }],
    [{ g * r * 0.69314718055994531 }]>;
def Log2Op : Sinter_UnaryFloatOp<"log2", "Logarithm to the base 2", [{ s.log(x) * 1.4426950408889634 }],
    [{ g * 1.4426950408889634 / x }]>;
def Log10Op : Sinter_UnaryFloatOp<"log10", "Logarithm to the base 10", [{ s.log(x) * 0.43429448190325182 }],
    [{ g * 0.43429448190325182 / x }]>;
def AsinOp : Sinter_UnaryFloatOp<"asin", "The angle in [-pi/2, pi/2] whose sine is x, as atan2(x, sqrt(1 - x*x))",
    [{ s.atan2(x, s.sqrt((1.0 - x) * (1.0 + x))) }], [{ g * b.rsqrt((1.0 - x) * (x + 1.0)) }]>;
def AcosOp : Sinter_UnaryFloatOp<"acos", "The angle in [0, pi] whose cosine is x, as atan2(sqrt(1 - x*x), x)",
    [{ s.atan2(s.sqrt((1.0 - x) * (1.0 + x)), x) }], [{ -(g * b.rsqrt((1.0 - x) * (x + 1.0))) }]>;
def AtanOp : Sinter_UnaryFloatOp<"atan", "The angle in [-pi/2, pi/2] whose tangent is x",
    [{ s.atan2(x, s.constant(x, 1)) }], [{ g / (x * x + 1.0) }]>;

def SinhOp : Sinter_UnaryFloatOp<"sinh", "Hyperbolic sine, as 2 h sqrt(1 + h*h) of h = (expm1(x/2) - expm1(-x/2)) / 2",
    [{ s.sinh(x) }], [{ g * b.sqrt(r * r + 1.0) }]>;
def CoshOp : Sinter_UnaryFloatOp<"cosh", "Hyperbolic cosine, as 1 + 2 h*h of h = (expm1(x/2) - expm1(-x/2)) / 2",
    [{ s.cosh(x) }], [{ g * (b.expm1(x) - b.expm1(-x)) * 0.5 }]>;
def AsinhOp : Sinter_UnaryFloatOp<"asinh",
    "The inverse of sinh: log1p(a + a*a / (1 + sqrt(1 + a*a))) of a = |x|, with the sign of x; log(2a) for large a",
    [{ s.asinh(x) }], [{ g * b.rsqrt(x * x + 1.0) }]>;
def AcoshOp : Sinter_UnaryFloatOp<"acosh",
    "The inverse of cosh: log1p(t + sqrt(t) sqrt(x + 1)) of t = x - 1, NaN below 1; log(2x) for large x",
    [{ s.select(s.gt(x, s.constant(x, 1e9)), s.log(x) + 0.69314718055994531,
                s.log1p(x - 1.0 + s.sqrt(x - 1.0) * s.sqrt(x + 1.0))) }],
    [{ g / (b.sqrt(x - 1.0) * b.sqrt(x + 1.0)) }]>;
def AtanhOp : Sinter_UnaryFloatOp<"atanh", "The inverse of tanh, as (log1p(x) - log1p(-x)) / 2",
    [{ (s.log1p(x) - s.log1p(-x)) * 0.5 }], [{ g / (1.0 - x * x) }]>;

#endif  // SINTER_IR_TRANSCENDENTAL_OPS_TD
