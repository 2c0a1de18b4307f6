// Pointwise comparisons, logic, selection and conversion.
#ifndef SINTER_IR_LOGIC_OPS_TD
#define SINTER_IR_LOGIC_OPS_TD

include "sinter/ir/dialect/dialect.td"

def Sinter_Comparison : I32EnumAttr<"Comparison", "how two numbers are compared", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
    I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::sinter::ir";
}

def CompareOp : Sinter_PointwiseOp<"compare",
    "x eq, ne, lt, le, gt or ge y; with a NaN only ne holds", [{ s.compare(getPredicate(), x, y) }], [{ none, none }],
    [SameTypeOperands]> {
  let arguments = (ins Sinter_Comparison:$predicate, Sinter_ComputedTensor:$x, Sinter_ComputedTensor:$y);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$predicate $x `,` $y attr-dict `:` type($x) `->` type($result)";
}

class Sinter_LogicalOp<string mnemonic, string text, code scalar>
    : Sinter_PointwiseOp<mnemonic, text, scalar, [{ none, none }], [SameOperandsAndResultType, Commutative]> {
  let arguments = (ins Sinter_BoolTensor:$x, Sinter_BoolTensor:$y);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($result)";
}
def LogicalAndOp : Sinter_LogicalOp<"logical_and", "x and y", [{ s.logicalAnd(x, y) }]>;
def LogicalOrOp : Sinter_LogicalOp<"logical_or", "x or y", [{ s.logicalOr(x, y) }]>;
def LogicalXorOp : Sinter_LogicalOp<"logical_xor", "x or y, not both", [{ s.logicalXor(x, y) }]>;
def LogicalNotOp : Sinter_PointwiseOp<"logical_not", "not x", [{ s.logicalNot(x) }], [{ none }],
    [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_BoolTensor:$x);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

class Sinter_BitwiseOp<string mnemonic, string text, code scalar, list<Trait> traits = []>
    : Sinter_PointwiseOp<mnemonic, text, scalar, [{ none, none }], traits # [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_IntTensor:$x, Sinter_IntTensor:$y);
  let results = (outs Sinter_IntTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($result)";
}
def BitwiseAndOp : Sinter_BitwiseOp<"bitwise_and", "The bits that x and y have", [{ s.bitAnd(x, y) }], [Commutative]>;
def BitwiseOrOp : Sinter_BitwiseOp<"bitwise_or", "The bits that x or y has", [{ s.bitOr(x, y) }], [Commutative]>;
def BitwiseXorOp : Sinter_BitwiseOp<"bitwise_xor", "The bits that only one of x and y has", [{ s.bitXor(x, y) }], [Commutative]>;
def ShiftLeftOp : Sinter_BitwiseOp<"shift_left",
    "The bits of x, y places higher; 0 if y is negative or at least the number of bits", [{ s.shiftLeft(x, y) }]>;
def ShiftRightOp : Sinter_BitwiseOp<"shift_right",
    "The bits of x, y places lower, behind copies of the sign (0 for unsigned integers), which alone are left if y is negative or at "
    "least the number of bits", [{ s.shiftRight(x, y) }]>;
def BitwiseNotOp : Sinter_PointwiseOp<"bitwise_not", "The bits that x does not have", [{ s.bitNot(x) }], [{ none }],
    [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_IntTensor:$x);
  let results = (outs Sinter_IntTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

class Sinter_FloatTestOp<string mnemonic, string text, code scalar>
    : Sinter_PointwiseOp<mnemonic, text, scalar, [{ none }]> {
  let arguments = (ins Sinter_FloatTensor:$x);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}
def IsNanOp : Sinter_FloatTestOp<"is_nan", "True if x is NaN", [{ s.isNan(x) }]>;
def IsFiniteOp : Sinter_FloatTestOp<"is_finite", "True if x is neither infinite nor NaN", [{ s.isFinite(x) }]>;
def IsInfOp : Sinter_FloatTestOp<"is_inf", "True if x is infinite",
    [{ s.logicalNot(s.logicalOr(s.isNan(x), s.isFinite(x))) }]>;

def SelectOp : Sinter_PointwiseOp<"select", "on_true where the condition holds, else on_false", [{ s.select(x, y, z) }],
    [{ none, b.select(x, g, b.zeros(g)), b.select(x, b.zeros(g), g) }], [AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let arguments = (ins Sinter_BoolTensor:$condition, Sinter_Tensor:$on_true, Sinter_Tensor:$on_false);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasFolder = 1;
  let linear = "kAllButFirst";
}

def ClampOp : Sinter_PointwiseOp<"clamp", "x limited to [low, high]; the gradient is 0 outside",
    [{ s.minimum(s.maximum(x, s.constant(x, getLow().convertToDouble())), s.constant(x, getHigh().convertToDouble())) }],
    [{ b.select(b.logicalAnd(b.ge(x, b.fill(x, getLow().convertToDouble())),
                             b.le(x, b.fill(x, getHigh().convertToDouble()))), g, b.zeros(g)) }],
    [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_NumberTensor:$x, F64Attr:$low, F64Attr:$high);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def CastOp : Sinter_PointwiseOp<"cast",
    "Converts the element type. Floats round to nearest even; float to integer truncates and saturates (NaN becomes 0); "
    "conversion to i1 is true if the value is not 0; too large values become NaN in f8E4M3FN, infinite in f8E5M2",
    [{ s.cast(x, getResult().getType().getElementType()) }], [{ b.castGradient(g, x) }]> {
  let arguments = (ins Sinter_Tensor:$x);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
  let linear = "::sinter::ir::IsWideningCast(getX().getType(), getType()) ? kFirst : kNone";
}

#endif  // SINTER_IR_LOGIC_OPS_TD
