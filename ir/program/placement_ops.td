// Values that go from one device to another, or to memory of their own.
#ifndef SINTER_IR_PLACEMENT_OPS_TD
#define SINTER_IR_PLACEMENT_OPS_TD

include "sinter/ir/dialect/device_attr.td"

// No index map and no arithmetic: a step of its own.
class Sinter_PlacementOp<string mnemonic, list<Trait> traits>
    : Sinter_Op<mnemonic, traits # [AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<LibraryInterface>,
                                    DeclareOpInterfaceMethods<DifferentiableInterface>]>;

def CopyOp : Sinter_PlacementOp<"copy", [Pure]> {
  let summary = "x on the device `to`, or on that of another value, `like`; its gradient is copied back";
  let description = [{
    Where x is on that device already there is no copy: the result is x. Copies of constants are constants. Copies that the
    user did not ask for say why they are there: `because` gradient, scalar, input or automatic.
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
  let summary = "x in memory of its own, on x's device: every clone is a buffer that nothing else shares";
  let arguments = (ins Sinter_Tensor:$x);
  // Allocating keeps two clones of one value two; one that nobody reads still goes away.
  let results = (outs Res<Sinter_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

#endif  // SINTER_IR_PLACEMENT_OPS_TD
