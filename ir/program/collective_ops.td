// Values exchanged by several devices that run the same program.
//
// A collective is one op a device: the ops of one `channel` are its members. Each is on the device that its `sinter.device`
// says and names all of them in `group`, in the order that gives them their ranks. The members of a channel lie next to each
// other, in the order of the group, so that every device meets the same collectives in the same order.
//
// The sums of floating-point numbers are taken in the order of the ranks, whatever the backend can promise of it
// (runtime/cpu/collective.h): all members receive the same bits.
#ifndef SINTER_IR_COLLECTIVE_OPS_TD
#define SINTER_IR_COLLECTIVE_OPS_TD

include "sinter/ir/dialect/device_attr.td"

def Sinter_Group : TypedArrayAttrBase<Sinter_Device, "devices, each once">;

// Not Pure: a member must neither go away nor move alone. One without a group of several devices folds to its operand.
class Sinter_CollectiveOp<string mnemonic, string text, dag operands, dag attributes = (ins)>
    : Sinter_Op<mnemonic, [DeclareOpInterfaceMethods<LibraryInterface, ["mayUpdateInPlace"]>]> {
  let summary = text;
  let arguments = !con(operands, (ins Sinter_Group:$group, I64Attr:$channel), attributes);
  let hasVerifier = 1;
}
def AllReduceOp : Sinter_CollectiveOp<"all_reduce",
    "The members' operands combined element by element, the same result on all; several tensors travel as one",
    (ins Variadic<Sinter_NumberTensor>:$xs), (ins Sinter_Combine:$combine)> {
  let results = (outs Variadic<Sinter_NumberTensor>:$combined);
  let assemblyFormat = "$combine $xs `over` $group `channel` $channel attr-dict `:` functional-type($xs, $combined)";
  let hasFolder = 1;
}
def ReduceOp : Sinter_CollectiveOp<"reduce",
    "The members' operands combined element by element, on the member of rank `root` alone: the others have no results",
    (ins Variadic<Sinter_NumberTensor>:$xs), (ins Sinter_Combine:$combine, I64Attr:$root)> {
  let results = (outs Variadic<Sinter_NumberTensor>:$combined);
  let assemblyFormat = "$combine $xs `to` $root `over` $group `channel` $channel attr-dict `:` functional-type($xs, $combined)";
}
def BroadcastFromOp : Sinter_CollectiveOp<"broadcast_from",
    "The operands of the member of rank `root`, on all: the others have no operands",
    (ins Variadic<Sinter_Tensor>:$xs), (ins I64Attr:$root)> {
  let results = (outs Variadic<Sinter_Tensor>:$received);
  let assemblyFormat = "$xs `root` $root `over` $group `channel` $channel attr-dict `:` functional-type($xs, $received)";
}
def AllGatherOp : Sinter_CollectiveOp<"all_gather",
    "The members' operands one after the other along dimension 0, in the order of the ranks, on all; `sizes` are theirs "
    "along it",
    (ins Sinter_Tensor:$x), (ins DenseI64ArrayAttr:$sizes)> {
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `sizes` $sizes `over` $group `channel` $channel attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def ReduceScatterOp : Sinter_CollectiveOp<"reduce_scatter",
    "The members' operands combined element by element, of which each receives its part along dimension 0; `sizes` are the "
    "parts'",
    (ins Sinter_NumberTensor:$x), (ins Sinter_Combine:$combine, DenseI64ArrayAttr:$sizes)> {
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$combine $x `sizes` $sizes `over` $group `channel` $channel attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def AllToAllOp : Sinter_CollectiveOp<"all_to_all",
    "Each operand cut in equal parts along dimension 0, part i for rank i; the parts that a member receives lie in the order "
    "of the ranks",
    (ins Sinter_Tensor:$x)> {
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `over` $group `channel` $channel attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def SendOp : Sinter_CollectiveOp<"send", "Gives x to the other member, whose op is a `recv`: the group is sender, receiver",
    (ins Sinter_Tensor:$x)> {
  let assemblyFormat = "$x `over` $group `channel` $channel attr-dict `:` type($x)";
}
def RecvOp : Sinter_CollectiveOp<"recv", "What the other member, whose op is a `send`, gives: the group is sender, receiver",
    (ins)> {
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "`over` $group `channel` $channel attr-dict `:` type($result)";
}

#endif  // SINTER_IR_COLLECTIVE_OPS_TD
