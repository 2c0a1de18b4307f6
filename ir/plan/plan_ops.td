// The `plan` dialect: how a program runs. Buffers with offsets, calls in order, copies. It maps one to one
// onto the plan file (runtime/plan/plan.fbs), so that memory plans and schedules are readable text.
#ifndef SINTER_IR_PLAN_OPS_TD
#define SINTER_IR_PLAN_OPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "sinter/ir/dialect/device_attr.td"
include "sinter/ir/dialect/mesh_attr.td"
include "sinter/ir/dialect/interfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let summary = "Buffers, calls and their order: how a program runs.";
  let description = [{
    Buffers and steps name their device, `on <gpu, 0>`; the default is cpu:0. A view and an output are on the device of
    their buffer.
  }];
  let cppNamespace = "::sinter::plan_ir";
  let dependentDialects = ["::sinter::ir::SinterDialect"];
  let useDefaultTypePrinterParser = 1;
}

def Plan_Buffer : TypeDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Memory of a tensor, dense and row-major";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
  let extraClassDeclaration = [{
    // Bytes of the tensor; an i1 element takes one.
    int64_t getBytes() const;
  }];
}

class Plan_Op<string mnemonic, list<Trait> traits = [], Trait placed = PlacedInterface>
    : Op<Plan_Dialect, mnemonic, !listconcat(traits, [placed])>;
// Is where its operand is.
defvar Plan_PlacedByOperand = DeclareOpInterfaceMethods<PlacedInterface, ["placedOn"]>;

def Plan_Devices : TypedArrayAttrBase<Sinter_Device, "devices">;

def FunctionOp : Plan_Op<"function", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "One function of the program: buffers, then calls and copies in the order in which they run";
  let description = [{
    `on` names the devices, every CPU before every GPU, then by index; the default is cpu:0 alone. Each device has one arena,
    whose bytes are set once memory is laid out: `arena` is the first device's, `and` has those of the further devices.
    `ranks` and `variant_of` are ir::kRanksAttr and ir::kVariantOfAttr (ir/dialect/mesh.h).
    A `fragment` is the body of a loop. Its inputs and variables are the loop's operands and results of a trip, by the names of
    ir::kParameterAttr, and its arena lies in the workspace of the call that runs it.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$arena_bytes,
                   OptionalAttr<DenseI64ArrayAttr>:$more_arena_bytes, OptionalAttr<Plan_Devices>:$devices,
                   OptionalAttr<StrAttr>:$variant_of, OptionalAttr<DenseI64ArrayAttr>:$ranks,
                   UnitAttr:$fragment);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`fragment` $fragment^)? (`variant_of` $variant_of^)? (`ranks` $ranks^)? (`on` $devices^)? (`arena` $arena_bytes^)? (`and` $more_arena_bytes^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    // In order; cpu:0 if the function names none.
    ::llvm::SmallVector<::sinter::ir::DeviceAttr> deviceList();
    // The name of the function in the plan file.
    ::llvm::StringRef planName() { return getVariantOf().value_or(getSymName()); }
    // True for a fragment that sinter-plan-fragments has laid out.
    bool isLaidOutFragment() { return getFragment() && getArenaBytes(); }
    // nullopt before memory is laid out, and for a device that the function does not name.
    std::optional<int64_t> arenaBytesOf(::sinter::ir::DeviceAttr device);
  }];
}
def InputOp : Plan_Op<"input"> {
  let summary = "The caller's tensor with this name, or the part of it that a rank reads; one input may be on several devices";
  let arguments = (ins StrAttr:$name, OptionalAttr<Sinter_Device>:$device, OptionalAttr<Sinter_Part>:$part);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$name (`on` $device^)? (`part` `(` $part^ `)`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def RankValueOp : Plan_Op<"rank_value"> {
  let summary = "A number that differs between ranks: `constant` + the sum over the mesh's axes of coordinate * stride";
  let arguments = (ins I64Attr:$constant, DenseI64ArrayAttr:$strides, OptionalAttr<Sinter_Device>:$device);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$constant `by` $strides (`on` $device^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def VariableOp : Plan_Op<"variable"> {
  let summary = "The memory of a `sinter.variable`";
  let arguments = (ins FlatSymbolRefAttr:$variable, OptionalAttr<Sinter_Device>:$device);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$variable (`on` $device^)? attr-dict `:` type($buffer)";
}
def ConstantOp : Plan_Op<"constant"> {
  let summary = "Read-only values stored in the plan";
  let arguments = (ins ElementsAttr:$value, OptionalAttr<Sinter_Device>:$device);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$value (`on` $device^)? attr-dict `:` type($buffer)";
}
def AllocOp : Plan_Op<"alloc"> {
  let summary = "Memory in the device's arena; `offset`, in bytes, is set when memory is laid out";
  let arguments = (ins OptionalAttr<I64Attr>:$offset, OptionalAttr<Sinter_Device>:$device);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "(`at` $offset^)? (`on` $device^)? attr-dict `:` type($buffer)";
}
def ViewOp : Plan_Op<"view", [], Plan_PlacedByOperand> {
  let summary = "The bytes of another buffer, starting at `offset`, as another tensor: a reshape or a contiguous slice";
  let arguments = (ins Plan_Buffer:$source, I64Attr:$offset);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$source `at` $offset attr-dict `:` type($source) `->` type($buffer)";
  let hasVerifier = 1;
}
def CallOp : Plan_Op<"call", [AttrSizedOperandSegments, IsolatedFromAbove]> {
  let summary = "Runs one kernel or library call: the ops of the region";
  let description = [{
    The region's arguments are the tensors in `ins`; its `sinter.yield` names the values stored to `outs`. The region holds
    either one library op or the body of a fused group. `workspace_bytes` of scratch memory are live only during the call,
    at `workspace_offset` of its device's arena. `in_place` lists pairs (ins index, outs index) that may share memory.
    `by` names the back end that computes the call; the pass select-kernels writes it.
  }];
  let arguments = (ins Variadic<Plan_Buffer>:$ins, Variadic<Plan_Buffer>:$outs, StrAttr:$name,
                   DefaultValuedAttr<I64Attr, "0">:$workspace_bytes, OptionalAttr<I64Attr>:$workspace_offset,
                   OptionalAttr<DenseI64ArrayAttr>:$in_place, OptionalAttr<Sinter_Device>:$device,
                   OptionalAttr<StrAttr>:$backend);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    // The library op that the region holds; null for a fused group.
    ::mlir::Operation* libraryOp();
  }];
}
def CopyOp : Plan_Op<"copy", [AllTypesMatch<["source", "target"]>]> {
  let summary = "Copies all bytes of one buffer to another of the same type, which may be on another device; its device is its "
                "target's";
  let arguments = (ins Plan_Buffer:$source, Plan_Buffer:$target, OptionalAttr<Sinter_Device>:$device);
  let assemblyFormat = "$source `to` $target (`on` $device^)? attr-dict `:` type($source)";
}
def OutputOp : Plan_Op<"output", [], Plan_PlacedByOperand> {
  let summary = "Returns a buffer to the caller under this name; it stays valid until the function's next run";
  let arguments = (ins StrAttr:$name, Plan_Buffer:$buffer);
  let assemblyFormat = "$name $buffer attr-dict `:` type($buffer)";
}

#endif  // SINTER_IR_PLAN_OPS_TD
