// `#sinter.device<gpu, 1>`: the device of a value or an op; the cause of a copy; the operation of a
// collective.
//
// Ops of functions, function arguments and results and `sinter.variable` have it as the attribute
// `sinter.device`; ops of the `plan` dialect have it as their own attribute, `on <gpu, 1>`. C++:
// ir/dialect/device_attr.h.
#ifndef SINTER_IR_DEVICE_ATTR_TD
#define SINTER_IR_DEVICE_ATTR_TD

include "mlir/IR/AttrTypeBase.td"
include "sinter/ir/dialect/dialect.td"

// The name of a row of the kinds of devices (ir/dialect/device_kind.h).
def Sinter_DeviceKindParameter : AttrParameter<"::sinter::ir::DeviceKind", "a kind of devices"> {
  let parser = "::sinter::ir::ParseDeviceKind($_parser)";
  let printer = "$_printer << ::sinter::ir::stringifyDeviceKind($_self)";
}
def Sinter_Device : AttrDef<Sinter_Dialect, "Device"> {
  let mnemonic = "device";
  let summary = "One device: a CPU (cpu:0 has all cores), a GPU, or one of a registered kind";
  let parameters = (ins Sinter_DeviceKindParameter:$kind, "int32_t":$index);
  let assemblyFormat = "`<` $kind `,` $index `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static DeviceAttr cpu(::mlir::MLIRContext *context, int32_t index = 0);
    static DeviceAttr gpu(::mlir::MLIRContext *context, int32_t index = 0);
    // Parses "cpu:0"; null if the text is no device.
    static DeviceAttr parse(::mlir::MLIRContext *context, ::llvm::StringRef text);
    // "gpu:1", as users write it.
    std::string text() const;
    // Orders by kind, CPUs before GPUs before others, then by index.
    bool before(DeviceAttr other) const;
  }];
}

def Sinter_CopyCause : I32EnumAttr<"CopyCause", "why a value is copied", [
    // In this order: the user asked for it; gradient of another copy; a rank-0 value without a device; an
    // input without a device; the user allowed automatic copies.
    I32EnumAttrCase<"asked", 0>, I32EnumAttrCase<"gradient", 1>, I32EnumAttrCase<"scalar", 2>,
    I32EnumAttrCase<"input", 3>, I32EnumAttrCase<"automatic", 4>]> {
  let cppNamespace = "::sinter::ir";
}

// The numbers are those of the plan file.
def Sinter_ReduceKind : I32EnumAttr<"ReduceKind", "how a collective combines the members' elements", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::sinter::ir";
}

#endif  // SINTER_IR_DEVICE_ATTR_TD
