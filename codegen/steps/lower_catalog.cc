// Lowers ops that hand-written kernels of the catalogue compute.
// The source of each kernel in kernels/cpu/catalog begins with its parameters. A tensor along one dimension
// is [outer, size, inner].
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/quantized_sizes.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;
using ir::TypeOf;
using mlir::Value;

namespace {

int64_t DTypeNumber(Value v) { return static_cast<int64_t>(DTypeOf(TypeOf(v).getElementType())); }

LibraryStep Catalog(const char* kernel, llvm::ArrayRef<int64_t> parameters, double flops,
                    FlatBufferBuilder& builder) {
  auto name = builder.CreateString(kernel);
  auto numbers = builder.CreateVector(parameters.data(), parameters.size());
  return {fb::StepBody::CatalogStep, fb::CreateCatalogStep(builder, name, numbers).Union(), flops};
}

absl::StatusOr<LibraryStep> LowerCumsum(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto cumsum = llvm::cast<ir::CumsumOp>(op);
  const ir::SizesAround around(cumsum.getX(), cumsum.getDim());
  int64_t size = TypeOf(cumsum.getX()).getDimSize(cumsum.getDim());
  return Catalog("cumsum",
                 {DTypeNumber(cumsum.getX()), around.outer, size, around.inner, cumsum.getReverse()},
                 TypeOf(cumsum.getX()).getNumElements(), builder);
}

// The parameters of both scatters.
template <typename Op>
llvm::SmallVector<int64_t> ScatterParameters(Op op) {
  const ir::SizesAround around(op.getX(), op.getDim());
  const int64_t size = TypeOf(op.getX()).getDimSize(op.getDim());
  return {DTypeNumber(op.getX()), DTypeNumber(op.getIndices()),
          around.outer,           size,
          around.inner,           TypeOf(op.getIndices()).getNumElements()};
}

absl::StatusOr<LibraryStep> LowerScatterAdd(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto scatter = llvm::cast<ir::ScatterAddOp>(op);
  return Catalog("scatter_add", ScatterParameters(scatter), TypeOf(scatter.getUpdates()).getNumElements(),
                 builder);
}

absl::StatusOr<LibraryStep> LowerScatter(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto scatter = llvm::cast<ir::ScatterOp>(op);
  llvm::SmallVector<int64_t> parameters = {static_cast<int64_t>(scatter.getKind())};
  llvm::append_range(parameters, ScatterParameters(scatter));
  return Catalog("scatter", parameters, TypeOf(scatter.getUpdates()).getNumElements(), builder);
}

absl::StatusOr<LibraryStep> LowerSort(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto sort = llvm::cast<ir::SortOp>(op);
  const int64_t elements = TypeOf(sort.getX()).getNumElements(), size = TypeOf(sort.getX()).getShape().back();
  return Catalog("sort",
                 {DTypeNumber(sort.getX()), size == 0 ? 0 : elements / size, size, sort.getDescending()},
                 elements, builder);
}

absl::StatusOr<LibraryStep> LowerTopK(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto top = llvm::cast<ir::TopKOp>(op);
  const int64_t elements = TypeOf(top.getX()).getNumElements(), size = TypeOf(top.getX()).getShape().back();
  return Catalog("top_k", {DTypeNumber(top.getX()), elements / size, size, static_cast<int64_t>(top.getK())},
                 elements, builder);
}

absl::StatusOr<LibraryStep> LowerQuantizedMatmul(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto product = llvm::cast<ir::QuantizedMatmulOp>(op);
  const ir::QuantizedSizes s = ir::QuantizedSizes::Of(product);
  return Catalog(
      "quantized_matmul",
      {DTypeNumber(product.getX()), DTypeNumber(product.getScales()), s.m, s.n, s.k, s.groups, s.bits},
      2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k), builder);
}

absl::StatusOr<LibraryStep> LowerRandomPermutation(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto permutation = llvm::cast<ir::RandomPermutationOp>(op);
  int64_t size = TypeOf(permutation.getResult()).getNumElements();
  return Catalog("random_permutation",
                 {DTypeNumber(permutation.getResult()), DTypeNumber(permutation.getSeed()),
                  DTypeNumber(permutation.getStep()), size, static_cast<int64_t>(permutation.getStream())},
                 size, builder);
}

}  // namespace

void PopulateCatalogLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::CumsumOp>(LowerCumsum);
  lowerings.Add<ir::ScatterAddOp>(LowerScatterAdd);
  lowerings.Add<ir::ScatterOp>(LowerScatter);
  lowerings.Add<ir::SortOp>(LowerSort);
  lowerings.Add<ir::RandomPermutationOp>(LowerRandomPermutation);
  lowerings.Add<ir::TopKOp>(LowerTopK);
  lowerings.Add<ir::QuantizedMatmulOp>(LowerQuantizedMatmul);
}

}  // namespace sinter::codegen
