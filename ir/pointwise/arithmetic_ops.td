// Pointwise arithmetic: two numbers in, one out; rounding and sign.
#ifndef SINTER_IR_ARITHMETIC_OPS_TD
#define SINTER_IR_ARITHMETIC_OPS_TD

include "sinter/ir/dialect/dialect.td"

def AddOp : Sinter_BinaryNumberOp<"add", "x + y", [{ x + y }], [{ g, g }], [Commutative]> {
  let hasFolder = 1;
  let linear = "kAll";
}
def SubOp : Sinter_BinaryNumberOp<"sub", "x - y", [{ x - y }], [{ g, -g }]> {
  let hasFolder = 1;
  let linear = "kAll";
}
def MulOp : Sinter_BinaryNumberOp<"mul", "x * y", [{ x * y }], [{ g * y, g * x }], [Commutative]> {
  let hasFolder = 1;
  let linear = "kEach";
}
def DivOp : Sinter_BinaryNumberOp<"div", "x / y; integers round towards zero, and x / 0 is 0 for them",
    [{ x / y }], [{ g / y, -(g * r) / y }]> {
  let hasFolder = 1;
  // Integer division rounds.
  let linear = "::llvm::isa<::mlir::FloatType>(getType().getElementType()) ? kFirst : kNone";
}
def PowOp : Sinter_BinaryFloatOp<"pow", "x to the power y (C pow); the gradient towards x is 0 where y is 0, towards y "
    "0 where x <= 0", [{ s.pow(x, y) }],
    [{ b.select(b.eq(y, b.zeros(y)), b.zeros(x), g * y * b.pow(x, y - 1.0)),
       b.select(b.gt(x, b.zeros(x)), g * r * b.log(b.select(b.gt(x, b.zeros(x)), x, b.ones(x))), b.zeros(x)) }]>;
def MaximumOp : Sinter_BinaryNumberOp<"maximum",
    "The larger of x and y; NaN if either is; a tie splits the gradient evenly", [{ s.maximum(x, y) }],
    [{ b.select(b.eq(x, y), g * 0.5, b.select(b.gt(x, y), g, b.zeros(g))),
       b.select(b.eq(x, y), g * 0.5, b.select(b.gt(x, y), b.zeros(g), g)) }], [Commutative]>;
def MinimumOp : Sinter_BinaryNumberOp<"minimum",
    "The smaller of x and y; NaN if either is; a tie splits the gradient evenly", [{ s.minimum(x, y) }],
    [{ b.select(b.eq(x, y), g * 0.5, b.select(b.lt(x, y), g, b.zeros(g))),
       b.select(b.eq(x, y), g * 0.5, b.select(b.lt(x, y), b.zeros(g), g)) }], [Commutative]>;
def RemOp : Sinter_BinaryNumberOp<"rem", "Remainder with the sign of x (C fmod); x rem 0 is NaN, and 0 for integers",
    [{ s.rem(x, y) }], [{ g, -g * b.trunc(x / y) }]>;
def Atan2Op : Sinter_BinaryFloatOp<"atan2", "Angle of the point (y, x): atan2(x, y) of C with x the ordinate",
    [{ s.atan2(x, y) }], [{ g * y / (x * x + y * y), -(g * x) / (x * x + y * y) }]>;
def NegOp : Sinter_UnaryNumberOp<"neg", "-x", [{ -x }], [{ -g }]> {
  let hasFolder = 1;
  let linear = "kFirst";
}
def AbsOp : Sinter_UnaryNumberOp<"abs", "|x|", [{ s.abs(x) }], [{ g * b.sign(x) }]>;
def SignOp : Sinter_UnaryNumberOp<"sign", "-1, 0 or 1; NaN stays NaN", [{ s.sign(x) }], [{ none }]>;
def FloorOp : Sinter_UnaryFloatOp<"floor", "The largest integer not above x", [{ s.floor(x) }], [{ none }]>;
def CeilOp : Sinter_UnaryFloatOp<"ceil", "The smallest integer not below x", [{ s.ceil(x) }], [{ none }]>;
def RoundOp : Sinter_UnaryFloatOp<"round", "The nearest integer, ties to even", [{ s.round(x) }], [{ none }]>;

def TruncOp : Sinter_UnaryFloatOp<"trunc", "The nearest integer that is not further from 0",
    [{ s.select(s.lt(x, s.zero(x)), s.ceil(x), s.floor(x)) }], [{ none }]>;
def ModOp : Sinter_BinaryNumberOp<"mod", "Remainder with the sign of y (Python's %); x mod 0 is NaN, and 0 for integers",
    [{ s.mod(x, y) }], [{ g, -g * b.floor(x / y) }]>;
def HypotOp : Sinter_BinaryFloatOp<"hypot",
    "sqrt(x*x + y*y) that does not overflow before the result; NaN if either is; the gradient is 0 where both are 0",
    [{ s.hypot(x, y) }],
    [{ b.select(b.gt(r, b.zeros(r)), g * (x / r), b.zeros(g)), b.select(b.gt(r, b.zeros(r)), g * (y / r), b.zeros(g)) }],
    [Commutative]>;
def LogAddExpOp : Sinter_BinaryFloatOp<"log_add_exp",
    "log(exp(x) + exp(y)), as max(x, y) + log1p(exp(-|x - y|)), which never overflows",
    [{ s.select(s.eq(x, y), x + 0.69314718055994531, s.maximum(x, y) + s.log1p(s.exp(-s.abs(x - y)))) }],
    [{ g * b.sigmoid(x - y), g * b.sigmoid(y - x) }], [Commutative]>;
def XLogYOp : Sinter_BinaryFloatOp<"x_log_y", "x * log(y), and 0 where x is 0 and y is not NaN; so is the gradient towards x "
    "where also y <= 0",
    [{ s.select(s.logicalAnd(s.eq(x, s.zero(x)), s.eq(y, y)), s.zero(x), x * s.log(y)) }],
    [{ b.select(b.logicalAnd(b.eq(x, b.zeros(x)), b.le(y, b.zeros(y))), b.zeros(g),
                g * b.log(b.select(b.logicalAnd(b.eq(x, b.zeros(x)), b.le(y, b.zeros(y))), b.ones(y), y))),
       g * x / y }]>;

#endif  // SINTER_IR_ARITHMETIC_OPS_TD
