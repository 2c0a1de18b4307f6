// The `sinter` dialect and the base classes of its op records.
//
// `sinter` gives the computation: tensor values, static shapes, value semantics, no memory. An op is one
// record, and its other properties are derived from the record. Records are in families of about fifteen ops,
// one `<family>_ops.td` and one `<family>_ops.cc` each, because a large dialect in one file is slow to
// compile.
#ifndef SINTER_IR_DIALECT_TD
#define SINTER_IR_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "sinter/ir/dialect/interfaces.td"

def Sinter_Dialect : Dialect {
  let name = "sinter";
  let summary = "Tensor programs: what is computed, not how.";
  let description = [{
    Values are ranked tensors with static shapes: rank 0 to 8, at most 2^47 elements; dimensions of size 0 are legal. Element
    types are f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2; the last two are
    moved and cast only. Operands of pointwise ops have one shape: broadcasting is a separate op.
  }];
  let cppNamespace = "::sinter::ir";
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  // Let a family's source add its ops, and the attributes' source the attributes (MLIR's own functions are
  // protected).
  let extraClassDeclaration = [{
    template <typename... Ops> void addFamily() { addOperations<Ops...>(); }
    template <typename... Attrs> void addAttributeFamily() { addAttributes<Attrs...>(); }
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect"];
}

// Types -----------------------------------------------------------------------------------------------------

def Sinter_Float : AnyTypeOf<[F64, F32, BF16, F16], "f64, f32, bf16 or f16">;
def Sinter_Int : AnyTypeOf<[I64, I32, I16, I<8>, UI64, UI32, UI16, UI8], "i64, i32, i16, i8, ui64, ui32, ui16 or ui8">;
def Sinter_Computed : AnyTypeOf<[Sinter_Float, Sinter_Int, I1], "one of f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1">;
// The floats of 8 bits have no arithmetic.
def Sinter_Element : AnyTypeOf<[Sinter_Computed, F8E4M3FN, F8E5M2], "one of f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2">;

class Sinter_TensorOf<list<Type> elements, string what>
    : Type<And<[StaticShapeTensorOf<elements>.predicate,
                CPred<"::sinter::ir::ShapeFault(::llvm::cast<::mlir::ShapedType>($_self).getShape()).empty()">]>,
           "a static tensor of rank 0 to 8 of " # what # ", of at most 2^47 elements", "::mlir::RankedTensorType">;

def Sinter_Tensor : Sinter_TensorOf<[Sinter_Element], "f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1 f8E4M3FN f8E5M2">;
def Sinter_ComputedTensor : Sinter_TensorOf<[Sinter_Computed], "f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1">;
def Sinter_FloatTensor : Sinter_TensorOf<[Sinter_Float], "f64 f32 bf16 f16">;
def Sinter_IntTensor : Sinter_TensorOf<[Sinter_Int], "i64 i32 i16 i8 ui64 ui32 ui16 ui8">;
def Sinter_NumberTensor : Sinter_TensorOf<[Sinter_Float, Sinter_Int], "f64 f32 bf16 f16 i64 i32 i16 i8 ui64 ui32 ui16 ui8">;
def Sinter_BoolTensor : Sinter_TensorOf<[I1], "i1">;
def Sinter_IndexTensor : Sinter_TensorOf<[I64, I32], "i64 i32">;
// A position in a tensor of which an op makes a part: a number of the rank, known when the program runs.
def Sinter_Origin
    : Type<CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get($_self.getContext(), 64))">,
           "tensor<i64>", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getIntegerType(64))">;

// Op classes ------------------------------------------------------------------------------------------------

// Base of every op. `summary` is required: the op reference is generated from it, and a test checks it.
class Sinter_Op<string mnemonic, list<Trait> traits = []> : Op<Sinter_Dialect, mnemonic, traits>;

// Declares FusibleInterface::getLinearity; `linear` is a C++ expression.
class Sinter_LinearMethod<code linear> {
  code text = "::sinter::ir::Linearity getLinearity() { using enum ::sinter::ir::Linearity; return " # linear # "; }";
}

// A pointwise op: results have the operands' shape and are computed element by element.
//   scalar:   C++ expression for the value of one element, over `s` (ScalarBuilder) and the operands `x`,
//             `y`, `z` of type Scalar; it builds `arith` and `math` ops. bf16 and f16 operands arrive as f32.
//   gradient: C++ expressions separated by commas, one for each operand, over `b` (GraphBuilder), the
//             operands `x`, `y`, `z`, the result `r` and its gradient `g`, all of type Expr. `none`: no
//             gradient.
//   linear:   Linearity (ir/dialect/factor_rule.h), as a C++ expression: kNone unless a record says more.
class Sinter_PointwiseOp<string mnemonic, string text, code scalar, code gradient, list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [Pure, SameOperandsAndResultShape,
        DeclareOpInterfaceMethods<PointwiseInterface>, DeclareOpInterfaceMethods<FusibleInterface>,
        DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = text;
  code linear = "kNone";
  let extraClassDeclaration = Sinter_LinearMethod<linear>.text;
  let extraClassDefinition = [{
    ::sinter::ir::Scalar $cppClass::emitScalar(::sinter::ir::ScalarBuilder &s,
                                               ::llvm::ArrayRef<::sinter::ir::Scalar> in) {
      [[maybe_unused]] ::sinter::ir::Scalar x = in[0];
      [[maybe_unused]] ::sinter::ir::Scalar y = in.size() > 1 ? in[1] : x;
      [[maybe_unused]] ::sinter::ir::Scalar z = in.size() > 2 ? in[2] : x;
      return }] # scalar # [{;
    }
    ::sinter::ir::Scalar $cppClass::emitElement(::sinter::ir::ElementBuilder &e, ::mlir::ValueRange coords,
                                                unsigned result) {
      return ::sinter::ir::EmitPointwiseElement(*this, e, coords);
    }
    ::mlir::AffineMap $cppClass::getOperandMap(unsigned operand) {
      return ::sinter::ir::IdentityOperandMap(*this);
    }
    ::llvm::SmallVector<::sinter::ir::Expr> $cppClass::buildGradient(
        ::sinter::ir::GraphBuilder &b, ::llvm::ArrayRef<::sinter::ir::Expr> output_gradients) {
      [[maybe_unused]] ::sinter::ir::Expr none, g = output_gradients[0], r = b.wrap((*this)->getResult(0));
      [[maybe_unused]] ::sinter::ir::Expr x = b.wrap((*this)->getOperand(0));
      [[maybe_unused]] ::sinter::ir::Expr y = (*this)->getNumOperands() > 1 ? b.wrap((*this)->getOperand(1)) : none;
      [[maybe_unused]] ::sinter::ir::Expr z = (*this)->getNumOperands() > 2 ? b.wrap((*this)->getOperand(2)) : none;
      return }] # "{" # gradient # "};" # [{
    }
  }];
}

// One floating-point operand and a result of the same type.
class Sinter_UnaryFloatOp<string mnemonic, string text, code scalar, code gradient>
    : Sinter_PointwiseOp<mnemonic, text, scalar, gradient, [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_FloatTensor:$x);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

// One operand of any numeric type and a result of the same type.
class Sinter_UnaryNumberOp<string mnemonic, string text, code scalar, code gradient>
    : Sinter_PointwiseOp<mnemonic, text, scalar, gradient, [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_NumberTensor:$x);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

// Two operands of any numeric type and a result of the same type.
class Sinter_BinaryNumberOp<string mnemonic, string text, code scalar, code gradient, list<Trait> traits = []>
    : Sinter_PointwiseOp<mnemonic, text, scalar, gradient, traits # [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_NumberTensor:$x, Sinter_NumberTensor:$y);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($result)";
}

class Sinter_BinaryFloatOp<string mnemonic, string text, code scalar, code gradient, list<Trait> traits = []>
    : Sinter_PointwiseOp<mnemonic, text, scalar, gradient, traits # [SameOperandsAndResultType]> {
  let arguments = (ins Sinter_FloatTensor:$x, Sinter_FloatTensor:$y);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($result)";
}

#endif  // SINTER_IR_DIALECT_TD
