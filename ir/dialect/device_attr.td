// `#sinter.device<gpu, 1>`: where something lives or runs; why something is copied; how the values of several devices are
// combined.
//
// On ops of functions, on function arguments and results and on `sinter.variable` it is the attribute `sinter.device`; ops of
// the `plan` dialect have it as their own, `on <gpu, 1>`. C++: ir/dialect/device_attr.h.
#ifndef SINTER_IR_DEVICE_ATTR_TD
#define SINTER_IR_DEVICE_ATTR_TD

include "mlir/IR/AttrTypeBase.td"
include "sinter/ir/dialect/dialect.td"

// The numbers are those of the plan file.
def Sinter_DeviceKind : I32EnumAttr<"DeviceKind", "cpu or gpu", [
    I32EnumAttrCase<"cpu", 0>, I32EnumAttrCase<"gpu", 1>]> {
  let cppNamespace = "::sinter::ir";
  let genSpecializedAttr = 0;
}
def Sinter_Device : AttrDef<Sinter_Dialect, "Device"> {
  let mnemonic = "device";
  let summary = "One device: a CPU, of which cpu:0 is all cores, or a GPU";
  let parameters = (ins EnumParameter<Sinter_DeviceKind>:$kind, "int32_t":$index);
  let assemblyFormat = "`<` $kind `,` $index `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static DeviceAttr cpu(::mlir::MLIRContext *context, int32_t index = 0);
    static DeviceAttr gpu(::mlir::MLIRContext *context, int32_t index = 0);
    // Reads "cpu:0"; null for what is no such text.
    static DeviceAttr parse(::mlir::MLIRContext *context, ::llvm::StringRef text);
    // "gpu:1", as users write it.
    std::string text() const;
    // Every CPU before every GPU, then by index.
    bool before(DeviceAttr other) const;
  }];
}

def Sinter_CopyCause : I32EnumAttr<"CopyCause", "why a value is copied", [
    // The user did; it is the gradient of another copy; nothing places the rank-0 value, or the input; the user asked for
    // copies wherever they are needed.
    I32EnumAttrCase<"asked", 0>, I32EnumAttrCase<"gradient", 1>, I32EnumAttrCase<"scalar", 2>,
    I32EnumAttrCase<"input", 3>, I32EnumAttrCase<"automatic", 4>]> {
  let cppNamespace = "::sinter::ir";
}

// The numbers are those of the plan file.
def Sinter_Combine : I32EnumAttr<"Combine", "how a collective combines the members' elements", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::sinter::ir";
}

#endif  // SINTER_IR_DEVICE_ATTR_TD
