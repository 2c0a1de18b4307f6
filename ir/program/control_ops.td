// Control flow: bodies that run several times.
//
// A body is a region until `outline-loops` makes it a private function. Passes before that stage see its ops
// where the program has them; passes after it see straight lists of ops alone.
#ifndef SINTER_IR_CONTROL_OPS_TD
#define SINTER_IR_CONTROL_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "sinter/ir/dialect/dialect.td"

// The operands of a loop: `carries` are what the first trip gets from outside; each trip gets its slice of
// `slices`, along the first dimension; `invariants` are the same in all trips.
defvar Sinter_LoopOperands = (ins I64Attr:$trips, UnitAttr:$reverse, UnitAttr:$guarded,
                              Variadic<Sinter_Tensor>:$carries, Variadic<Sinter_Tensor>:$slices,
                              Variadic<Sinter_Tensor>:$invariants);

def ScanOp : Sinter_Op<"scan", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
                                SingleBlockImplicitTerminator<"YieldOp">,
                                DeclareOpInterfaceMethods<ShardableInterface>,
                                DeclareOpInterfaceMethods<LocalFormInterface>]> {
  let summary = "Runs its region `trips` times; each trip gets what the trip before yields";
  let description = [{
    The region's arguments are the number of the trip, tensor<i64>, then the carries, slices and invariants of the trip. It
    yields the next carries, then values that are stacked along a new first dimension. The results are the carries after the
    last trip, and the stacks. `reverse`: trips run from the last number to the first; slices and stacks keep their places.
    `guarded`: the first carry is a tensor<i1>, and the trips end before the first one for which it is false. So a guarded
    scan of many trips is a while, which has no slices and stacks, and one of a single trip is a branch.
  }];
  let arguments = Sinter_LoopOperands;
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  // Drops slices, invariants and stacks that nothing reads.
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    // The type of the stack of values of this type.
    static ::mlir::RankedTensorType stackType(::mlir::Type slice, int64_t trips);
    ::mlir::Block& block() { return getBody().front(); }
    YieldOp yield() { return ::llvm::cast<YieldOp>(block().getTerminator()); }
    ::mlir::BlockArgument trip() { return block().getArgument(0); }
    // True if what the loop carries decides how many trips it makes.
    bool endsByData() { return getGuarded() && getTrips() > 1; }
    ::mlir::ValueRange lasts() { return getResults().take_front(getCarries().size()); }
    ::mlir::ValueRange stacks() { return getResults().drop_front(getCarries().size()); }
    // Arguments of the region.
    ::mlir::Block::BlockArgListType carryArguments();
    ::mlir::Block::BlockArgListType sliceArguments();
    ::mlir::Block::BlockArgListType invariantArguments();
    // Values that the region yields for the next carries, and for the stacks.
    ::mlir::ValueRange nextCarries();
    ::mlir::ValueRange stacked();
  }];
}
def LoopOp : Sinter_Op<"loop", [Pure, AttrSizedOperandSegments, LibraryInterface,
                                DeclareOpInterfaceMethods<StepInterface, ["mayUpdateInPlace"]>,
                                DeclareOpInterfaceMethods<ShardableInterface>,
                                DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A scan whose region is the private function `body`, without the number of the trip";
  let description = [{
    The function's arguments are the carries, slices and invariants of a trip, its results those that the region yields.
    The pass `outline-loops` makes it.
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$body), Sinter_LoopOperands);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let assemblyFormat = [{
    $body $trips (`reverse` $reverse^)? (`guarded` $guarded^)? `carry` `(` $carries `)` `over` `(` $slices `)` `with` `(` $invariants `)`
    attr-dict `:` functional-type(operands, $results)
  }];
  let hasVerifier = 1;
}

#endif  // SINTER_IR_CONTROL_OPS_TD
