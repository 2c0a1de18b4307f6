// Matrix products that cuBLASLt does not do: kernels/cuda/matmul.cuh.
#include <algorithm>

#include "sinter/codegen/cuda/catalog_text.h"
#include "sinter/codegen/lowering.h"
#include "sinter/ir/ops.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/gpu_limits.h"
#include "sinter/runtime/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kTile = 64;  // Rows and columns of a block.

// Integers, and what cuBLASLt cannot apply to a product of floats.
bool Computes(mlir::Operation* op) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  const fb::DType dtype = DTypeOf(TensorOf(matmul.getA()).getElementType());
  const auto activation = static_cast<fb::Activation>(matmul.getActivation());
  return !CublasTypeSupported(dtype) || !CublasEpilogueSupported(activation, bool(matmul.getBias()), dtype);
}

absl::StatusOr<CudaCatalogCall> LowerMatmul(mlir::Operation* op) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  mlir::RankedTensorType a = TensorOf(matmul.getA()), result = TensorOf(matmul.getResult());
  CudaCatalogCall call;
  if (result.getNumElements() == 0) return call;
  const int64_t rank = a.getRank();
  const int64_t m = result.getDimSize(rank - 2), n = result.getDimSize(rank - 1);
  const int64_t k = a.getDimSize(rank - (matmul.getTransposeA() ? 2 : 1));
  const int64_t batch = result.getNumElements() / (m * n);
  const bool has_bias = bool(matmul.getBias());

  CatalogText text(FitsNarrow(std::max(
      {result.getNumElements(), a.getNumElements(), TensorOf(matmul.getB()).getNumElements(), m, n, k})));
  text.Type("E", ElementName(a.getElementType()));
  text.Number("kM", m).Number("kN", n).Number("kK", k);
  text.Number("kTransposeA", matmul.getTransposeA()).Number("kTransposeB", matmul.getTransposeB());
  text.Number("kHasBias", has_bias).Number("kActivation", static_cast<int64_t>(matmul.getActivation()));
  text.Append(kernels::CudaMatmul());
  std::vector<CatalogArgument> inputs;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) inputs.push_back({In(op, i), "const Storage"});
  call.launches.push_back(
      text.Launch("matmul", has_bias ? "Matmul($0, $1, $2, $3)" : "Matmul($0, $1, nullptr, $2)", inputs,
                  {{Out(op, 0), "Storage"}}, batch * CeilDiv(m, kTile) * CeilDiv(n, kTile), kCatalogBlock));
  call.flops = 2.0 * batch * m * n * k;
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddMatmulKernels(CudaCatalog& catalog) { catalog.Add<ir::MatmulOp>(LowerMatmul, Computes); }

}  // namespace sinter::codegen
