// Properties of ops for passes and codegen, which use these interfaces and never lists of op names.
#ifndef SINTER_IR_INTERFACES_TD
#define SINTER_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def PointwiseInterface : OpInterface<"PointwiseInterface"> {
  let description = "Results have the operands' shape and are computed element by element.";
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"The value of one element, in `arith` and `math` ops. bf16 and f16 operands arrive as f32.",
      "::sinter::ir::Scalar", "emitScalar",
      (ins "::sinter::ir::ScalarBuilder &":$s, "::llvm::ArrayRef<::sinter::ir::Scalar>":$operands)>
  ];
}

def FusibleInterface : OpInterface<"FusibleInterface"> {
  let description = [{
    Every element of a result can be computed on its own, at given coordinates, from elements of the operands: pointwise
    ops, index maps (broadcast, transpose, slice, ...), iota, gather, random numbers. Such ops fuse into loops.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<[{
      Builds the element of result number `result` at `coords`, one `index` value for each dimension of the result. Gets
      operand elements from `e`, at coordinates that must be in range for any `coords` (clamp first, select afterwards).
      The returned scalar is of the compute type: f32 for bf16 and f16.}],
      "::sinter::ir::Scalar", "emitElement",
      (ins "::sinter::ir::ElementBuilder &":$e, "::mlir::ValueRange":$coords, "unsigned":$result)>,
    InterfaceMethod<[{
      The affine map from result coordinates to the coordinates at which operand number `operand` is read. A null map
      if there is none: the op reads at data-dependent or conditional coordinates, or does not read the operand.}],
      "::mlir::AffineMap", "getOperandMap", (ins "unsigned":$operand)>,
    InterfaceMethod<"Returns the operands in which the op is linear: partial sums there give a partial sum.",
      "::sinter::ir::Linearity", "getLinearity", (ins), "", "return ::sinter::ir::Linearity::kNone;">
  ];
}

def ReductionInterface : OpInterface<"ReductionInterface"> {
  let description = [{
    Combines the elements along `dims` with an associative operation; the reduced dimensions are dropped. An accumulator
    is one or more scalars (argmax carries value and index).
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"The reduced dimensions of the operand, ascending.",
      "::llvm::ArrayRef<int64_t>", "getReducedDims">,
    InterfaceMethod<"The accumulator's start value.",
      "::llvm::SmallVector<::sinter::ir::Scalar>", "emitIdentity", (ins "::sinter::ir::ScalarBuilder &":$s)>,
    InterfaceMethod<"The accumulator of one element; `index` is its position along the (single) reduced dimension.",
      "::llvm::SmallVector<::sinter::ir::Scalar>", "emitLift",
      (ins "::sinter::ir::ScalarBuilder &":$s, "::sinter::ir::Scalar":$element, "::mlir::Value":$index)>,
    InterfaceMethod<"Combines two accumulators; `a` covers earlier elements than `b`.",
      "::llvm::SmallVector<::sinter::ir::Scalar>", "emitCombine",
      (ins "::sinter::ir::ScalarBuilder &":$s, "::llvm::ArrayRef<::sinter::ir::Scalar>":$a,
           "::llvm::ArrayRef<::sinter::ir::Scalar>":$b)>,
    InterfaceMethod<"The result element of a finished accumulator.",
      "::sinter::ir::Scalar", "emitFinish",
      (ins "::sinter::ir::ScalarBuilder &":$s, "::llvm::ArrayRef<::sinter::ir::Scalar>":$acc)>,
    InterfaceMethod<[{
      Returns how results of parts of the reduced dimensions combine; kWhole if a collective cannot combine them.}],
      "::sinter::ir::FactorKind", "getReducedKind", (ins), "", "return ::sinter::ir::FactorKind::kWhole;">
  ];
}

def DifferentiableInterface : OpInterface<"DifferentiableInterface"> {
  let description = "The op knows its reverse-mode gradient.";
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<[{
      Takes the gradient of the loss with respect to each result (a null Expr if it is zero; at least one is not null).
      Returns one Expr for each operand: the gradient with respect to it, of the operand's type, or null if it has
      none.}],
      "::llvm::SmallVector<::sinter::ir::Expr>", "buildGradient",
      (ins "::sinter::ir::GraphBuilder &":$b, "::llvm::ArrayRef<::sinter::ir::Expr>":$output_gradients)>
  ];
}

def CompositeInterface : OpInterface<"CompositeInterface"> {
  let description = [{
    The op is defined by simpler ops. Passes may match it whole before it is decomposed. A composite without
    DifferentiableInterface is decomposed before it is differentiated.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"Builds the simpler ops and returns one value for each result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::sinter::ir::GraphBuilder &":$b)>
  ];
}

def StepInterface : OpInterface<"StepInterface"> {
  let description = [{
    The op becomes a step of the plan of its own and is never part of a fused loop: its operands are in memory. An op implements
    this interface through the one that says which kind of step it is: LibraryInterface, MoveInterface or CollectiveInterface.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<[{
      Returns true if operand `operand` and result `result` may share memory when this op is the operand's last
      reader.}],
      "bool", "mayUpdateInPlace", (ins "unsigned":$operand, "unsigned":$result), "", "return false;">
  ];
}

def LibraryInterface : OpInterface<"LibraryInterface", [StepInterface]> {
  let description = "The op becomes a call of a library or of a catalog kernel, which reads and writes whole tensors.";
  let cppNamespace = "::sinter::ir";
}

def MoveInterface : OpInterface<"MoveInterface", [StepInterface]> {
  let description = "The op computes nothing: its result is its first operand in other memory, here or on another device.";
  let cppNamespace = "::sinter::ir";
}

def CollectiveInterface : OpInterface<"CollectiveInterface", [StepInterface]> {
  let description = [{
    The op is one member of an exchange between devices: see ir/program/collective_ops.td. ir::Collective
    (ir/program/collective.h) has the same facts with the devices as a list.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"Returns the members' devices in the order of their ranks.", "::mlir::ArrayAttr", "getGroup">,
    InterfaceMethod<"Returns the number that the members of one exchange share.", "int64_t", "getChannel">,
    InterfaceMethod<"Returns the name of the exchange in a plan: CollectiveName of runtime/plan/collective.h.",
      "::llvm::StringRef", "getExchange", (ins), "", "return $_op->getName().stripDialect();">,
    InterfaceMethod<"Returns those attributes in which collectives differ.",
      "::sinter::ir::CollectiveSettings", "getSettings", (ins), "", "return ::sinter::ir::SettingsOf($_op);">
  ];
}

def CollectiveGradientInterface : OpInterface<"CollectiveGradientInterface", [CollectiveInterface]> {
  let description = [{
    The gradient of the exchange is an exchange too, of the same devices. An exchange that combines elements has a gradient for
    a sum and a mean only.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<[{
      Builds this member's part of the gradient's exchange: its operands are the gradients of this member's results, its
      results are the gradients of this member's operands. Unless the new op takes a mean itself, the caller divides the
      gradient of a mean by the number of members.}],
      "::mlir::Operation *", "buildGradientMember",
      (ins "::sinter::ir::GraphBuilder &":$b, "::mlir::ValueRange":$gradients, "int64_t":$channel)>
  ];
}

def ImageOpInterface : OpInterface<"ImageOpInterface"> {
  let description = [{
    The op works on images of four dimensions and has a layout: a convolution, one of its gradients, or a pool. All operands and
    results that are neither weights nor of rank 1 are images in that layout.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"Returns the order of the images' dimensions.", "::sinter::ir::ImageLayout", "getLayout">,
    InterfaceMethod<"Sets the order, not the types of the images.", "void", "setLayout",
      (ins "::sinter::ir::ImageLayout":$layout)>,
    InterfaceMethod<[{
      Returns the weights, an operand or a result: [C_out, C_in / groups, kh, kw] in all layouts. Null if the op has
      none.}],
      "::mlir::Value", "getWeights", (ins), "", "return {};">,
    InterfaceMethod<"Returns the number of groups into which a convolution splits the channels.",
      "int64_t", "getGroups", (ins), "", "return 1;">
  ];
  let extraSharedClassDeclaration = [{
    // Returns the dimension of the images that counts the channels.
    int64_t getChannelDim() { return ::sinter::ir::ChannelDim($_op.getLayout()); }
  }];
}

def ContractionInterface : OpInterface<"ContractionInterface"> {
  let description = [{
    The op multiplies elements and sums the products, in f32 for operands of bf16 and f16: a matmul, a convolution, attention, and
    their gradients.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"Returns how products of f32 operands may be computed; other modes than ieee are the program's choice.",
      "::sinter::ir::MathMode", "getMath">
  ];
}

def EpilogueInterface : OpInterface<"EpilogueInterface"> {
  let description = "The op may apply an activation to its sums before it stores them, after adding a bias if it has one.";
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"Returns the activation, `none` if there is none.", "::sinter::ir::Activation", "getActivation">,
    InterfaceMethod<"Returns the dimension of the result along which a bias is added.", "int64_t", "getBiasDim">
  ];
}

def ShardableInterface : OpInterface<"ShardableInterface"> {
  let description = [{
    States how the op iterates (ir/dialect/factor_rule.h). Only for ops whose rule does not follow from
    FusibleInterface::getOperandMap or ReductionInterface::getReducedDims. Callers use ir::FactorsOf, which handles all ops.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<[{
      Returns the op's factors. Dimensions without factors are whole: FactorsOf gives each a factor of its own.}],
      "::sinter::ir::FactorRule", "getFactorRule">
  ];
}

def LocalFormInterface : OpInterface<"LocalFormInterface"> {
  let description = [{
    The op on a part of its factors differs from the whole op in more than types: an attribute holds a size, or elements depend
    on positions in the whole tensor. Callers use ir::BuildOnPart (ir/dialect/local_op.h), which handles all ops.
  }];
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<[{
      Builds the op on one part and returns one value for each result. `operands` are the operands' parts; `parts` has one entry
      for each factor of `rule`, the op's own rule.}],
      "::llvm::SmallVector<::mlir::Value>", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "const ::sinter::ir::FactorRule &":$rule,
           "::llvm::ArrayRef<::sinter::ir::FactorPart>":$parts)>
  ];
}

def PlacedInterface : OpInterface<"PlacedInterface"> {
  let description = "The op says where it is in a way of its own, not by the attribute `sinter.device`.";
  let cppNamespace = "::sinter::ir";
  let methods = [
    InterfaceMethod<"The device of the op; never null.", "::sinter::ir::DeviceAttr", "placedOn", (ins), "", [{
      auto device = $_op->template getAttrOfType<::sinter::ir::DeviceAttr>("device");
      return device ? device : ::sinter::ir::DeviceAttr::cpu($_op->getContext());
    }]>
  ];
}

#endif  // SINTER_IR_INTERFACES_TD
