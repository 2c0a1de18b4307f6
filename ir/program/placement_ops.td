// Copies of values to another device, to separate memory, or between the ranks of a mesh.
#ifndef SINTER_IR_PLACEMENT_OPS_TD
#define SINTER_IR_PLACEMENT_OPS_TD

include "sinter/ir/dialect/device_attr.td"
include "sinter/ir/dialect/mesh_attr.td"

// Neither an index map nor arithmetic: a separate step.
class Sinter_PlacementOp<string mnemonic, list<Trait> traits>
    : Sinter_Op<mnemonic, traits # [AllTypesMatch<["x", "result"]>, MoveInterface, DeclareOpInterfaceMethods<ShardableInterface>,
                                    DeclareOpInterfaceMethods<DifferentiableInterface>]>;

def CopyOp : Sinter_PlacementOp<"copy", [Pure]> {
  let summary = "Copies x to the device `to`, or to the device of another value, `like`; its gradient is copied back";
  let description = [{
    If x is already on that device, the result is x. A copy of a constant is a constant. A copy that the user did not ask
    for gives its cause: `because` gradient, scalar, input or automatic.
  }];
  let arguments = (ins Sinter_Tensor:$x, Optional<Sinter_Tensor>:$like, OptionalAttr<Sinter_Device>:$device,
                   DefaultValuedAttr<Sinter_CopyCause, "::sinter::ir::CopyCause::asked">:$cause);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = [{
    $x (`to` $device^)? (`like` $like^ `of` type($like))? (`because` $cause^)? attr-dict `:` type($result)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}
def CloneOp : Sinter_PlacementOp<"clone", []> {
  let summary = "Copies x to separate memory on x's device; no other value shares the buffer of a clone";
  let arguments = (ins Sinter_Tensor:$x);
  // MemAlloc keeps two clones of one value distinct; a clone without readers is still erased.
  let results = (outs Res<Sinter_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

def ReshardOp : Sinter_Op<"reshard", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The same value in other parts, each rank having the part that `to` says";
  let description = "Between the passes `shard`, which inserts it, and `localise`, which replaces it by exchanges.";
  let arguments = (ins Sinter_Tensor:$x, Sinter_ShardingAttr:$to);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$x `to` $to attr-dict `:` type($result)";
}

#endif  // SINTER_IR_PLACEMENT_OPS_TD
