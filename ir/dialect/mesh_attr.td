// `#sinter.mesh<data 2, tensor 4>`: the ranks that run the program, on a module; `#sinter.part<...>`: the
// rows of an input that a rank reads; `#sinter.box<...>`: the part of a variable that a rank holds. C++:
// ir/dialect/mesh.h.
//
// `#sinter.sharding<[64 data, 3 * 12 tensor * 64]>`: the part of a value that a rank has. C++:
// ir/dialect/sharding.h.
#ifndef SINTER_IR_MESH_ATTR_TD
#define SINTER_IR_MESH_ATTR_TD

include "mlir/IR/AttrTypeBase.td"
include "sinter/ir/dialect/dialect.td"

def Sinter_Mesh : AttrDef<Sinter_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "The named axes of the ranks that run one program; the last axis is the innermost";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    // Number of ranks.
    int64_t ranks() const;
    // Position of the axis; nullopt if the mesh has none of this name.
    std::optional<size_t> find(::mlir::StringAttr name) const;
  }];
}

// The row at which a rank's part begins is `first` + the sum over the mesh's axes of coordinate *
// strides[axis].
def Sinter_Part : AttrDef<Sinter_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "Of an input: its whole type, and the row at which a rank's part begins";
  let parameters = (ins "::mlir::RankedTensorType":$whole, "int64_t":$first, ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $whole `from` $first `by` ` ` `[` $strides `]` `>`";
}

// `extents` is a view of the whole shape: each dimension is a product of extents, major first. A rank's part
// has `sizes[i]` iterations of extent i, the first of which is firsts[i] = {constant, strides...}, a stride
// for each axis of the mesh, times the rank's coordinates. An empty list: always 0. The parts of all ranks
// have equal sizes; each two are equal or disjoint, and together they are the whole. `[768, 3, 6 of 12 from
// [0, 0, 6], 64]`: heads 0 to 5 or 6 to 11 of three tensors, by the mesh's second axis.
def Sinter_Box : AttrDef<Sinter_Dialect, "Box"> {
  let mnemonic = "box";
  let summary = "Of a variable: the type that the program gave it, and the part that a rank holds";
  let parameters = (ins "::mlir::RankedTensorType":$whole, ArrayRefParameter<"int64_t">:$extents,
                        ArrayRefParameter<"int64_t">:$sizes,
                        ArrayRefParameter<"::mlir::DenseI64ArrayAttr">:$firsts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    // The type of a rank's part.
    ::mlir::RankedTensorType partType() const;
    // The same part of a tensor of another element type.
    BoxAttr withElement(::mlir::Type element) const;
  }];
}

// The list has a dimension's extents, major first, and the axes that cut each. `partial` names the axes whose
// ranks have terms that are still to be combined.
def Sinter_ShardingAttr : AttrDef<Sinter_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "For each axis of the mesh: all ranks have the whole value, parts along a dimension, or terms to combine";
  // Each dimension is an array of extents, and an extent an array of a size and the names of axes.
  let parameters = (ins "::mlir::ArrayAttr":$dims, "std::optional<::sinter::ir::ReduceKind>":$combine,
                        ArrayRefParameter<"::mlir::StringAttr">:$partial);
  let hasCustomAssemblyFormat = 1;
}

#endif  // SINTER_IR_MESH_ATTR_TD
