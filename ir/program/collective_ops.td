// Values exchanged by several devices that run the same program.
//
// A collective is one op for each device: the ops of one `channel` are its members. The attribute
// `sinter.device` gives each member's device; `group` lists all members' devices in the order of their ranks.
// In a program that all ranks of a mesh run, a collective is one op, and `group` names axes: the members are
// the ranks that differ in the coordinates of these axes alone.
// The members of a channel are adjacent, in the order of the group, so that every device meets the same
// collectives in the same order.
//
// Sums of floating-point numbers are taken in the order of the ranks, as far as the backend can promise it
// (runtime/plan/collective.h). All members receive the same bits.
#ifndef SINTER_IR_COLLECTIVE_OPS_TD
#define SINTER_IR_COLLECTIVE_OPS_TD

include "sinter/ir/dialect/device_attr.td"

def Sinter_Group
    : TypedArrayAttrBase<AnyAttrOf<[Sinter_Device, StrAttr]>, "devices, each once, or axes of the mesh, each once">;

// Not Pure: a member must neither be erased nor move alone. An op whose group is one device folds to its
// operand.
class Sinter_CollectiveOp<string mnemonic, string text, dag operands, dag attributes = (ins), list<Trait> traits = []>
    : Sinter_Op<mnemonic, traits # [CollectiveInterface, DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>,
                                    DeclareOpInterfaceMethods<ShardableInterface>]> {
  let summary = text;
  let arguments = !con(operands, (ins Sinter_Group:$group, I64Attr:$channel), attributes);
  let hasVerifier = 1;
}
class Sinter_DifferentiableCollectiveOp<string mnemonic, string text, dag operands, dag attributes = (ins)>
    : Sinter_CollectiveOp<mnemonic, text, operands, attributes, [DeclareOpInterfaceMethods<CollectiveGradientInterface>]>;

def AllReduceOp : Sinter_DifferentiableCollectiveOp<"all_reduce",
    "The members' operands combined element by element, the same result on all; several tensors travel as one",
    (ins Variadic<Sinter_NumberTensor>:$xs), (ins Sinter_ReduceKind:$combine)> {
  let results = (outs Variadic<Sinter_NumberTensor>:$combined);
  let assemblyFormat = "$combine $xs `over` $group `channel` $channel attr-dict `:` functional-type($xs, $combined)";
  let hasFolder = 1;
}
def ReduceOp : Sinter_DifferentiableCollectiveOp<"reduce",
    "The members' operands combined element by element, on the member of rank `root` alone: the others have no results",
    (ins Variadic<Sinter_NumberTensor>:$xs), (ins Sinter_ReduceKind:$combine, I64Attr:$root)> {
  let results = (outs Variadic<Sinter_NumberTensor>:$combined);
  let assemblyFormat = "$combine $xs `to` $root `over` $group `channel` $channel attr-dict `:` functional-type($xs, $combined)";
}
def BroadcastFromOp : Sinter_DifferentiableCollectiveOp<"broadcast_from",
    "The operands of the member of rank `root`, on all: the others have no operands",
    (ins Variadic<Sinter_Tensor>:$xs), (ins I64Attr:$root)> {
  let results = (outs Variadic<Sinter_Tensor>:$received);
  let assemblyFormat = "$xs `root` $root `over` $group `channel` $channel attr-dict `:` functional-type($xs, $received)";
  let extraClassDeclaration = "llvm::StringRef getExchange() { return \"broadcast\"; }";
}
def AllGatherOp : Sinter_DifferentiableCollectiveOp<"all_gather",
    "The members' operands concatenated along dimension 0 in the order of the ranks, on all members; `sizes` are the operands' "
    "sizes along dimension 0",
    (ins Sinter_Tensor:$x), (ins DenseI64ArrayAttr:$sizes)> {
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `sizes` $sizes `over` $group `channel` $channel attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def ReduceScatterOp : Sinter_DifferentiableCollectiveOp<"reduce_scatter",
    "The members' operands combined element by element; each member receives its part along dimension 0. `sizes` are the "
    "parts'",
    (ins Sinter_NumberTensor:$x), (ins Sinter_ReduceKind:$combine, DenseI64ArrayAttr:$sizes)> {
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$combine $x `sizes` $sizes `over` $group `channel` $channel attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def AllToAllOp : Sinter_DifferentiableCollectiveOp<"all_to_all",
    "Cuts each operand in equal parts along dimension 0 and sends part i to rank i; the received parts are in the order of "
    "the ranks",
    (ins Sinter_Tensor:$x)> {
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `over` $group `channel` $channel attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def RingShiftOp : Sinter_DifferentiableCollectiveOp<"ring_shift",
    "Sends each member's operands to the member of rank (rank + by) mod n of n members; several tensors travel as one",
    (ins Variadic<Sinter_Tensor>:$xs), (ins I64Attr:$by)> {
  let results = (outs Variadic<Sinter_Tensor>:$shifted);
  let assemblyFormat = "$xs `by` $by `over` $group `channel` $channel attr-dict `:` functional-type($xs, $shifted)";
  let hasFolder = 1;
  // In a plan the root is the member that rank 0 sends to.
  let extraClassDeclaration = "uint64_t getRoot() { return getBy(); }";
}
def SendOp : Sinter_CollectiveOp<"send", "Sends x to the other member, whose op is a `recv`; the group is sender, receiver",
    (ins Sinter_Tensor:$x)> {
  let assemblyFormat = "$x `over` $group `channel` $channel attr-dict `:` type($x)";
  let extraClassDeclaration = "llvm::StringRef getExchange() { return \"send_recv\"; }";
}
def RecvOp : Sinter_CollectiveOp<"recv", "Receives the value of the other member, whose op is a `send`; the group is sender, receiver",
    (ins)> {
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "`over` $group `channel` $channel attr-dict `:` type($result)";
  let extraClassDeclaration = "llvm::StringRef getExchange() { return \"send_recv\"; }";
}

#endif  // SINTER_IR_COLLECTIVE_OPS_TD
