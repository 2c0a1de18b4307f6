// The math mode of matmuls and convolutions, an attribute of several families. The linear family generates
// its C++.
#ifndef SINTER_IR_MATH_MODE_TD
#define SINTER_IR_MATH_MODE_TD

include "mlir/IR/EnumAttr.td"

def Sinter_MathMode : I32EnumAttr<"MathMode", "how products of f32 operands may be computed", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32", 1>, I32EnumAttrCase<"bf16x3", 2>]> {
  let cppNamespace = "::sinter::ir";
}

#endif  // SINTER_IR_MATH_MODE_TD
