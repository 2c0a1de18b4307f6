// User kernels: the user's body with generated code around it (codegen/steps/elementwise_text.h).
#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/steps/elementwise_text.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

namespace {

// More blocks than any GPU runs at once. With more elements a thread computes several, which amortises a
// prologue.
constexpr int64_t kMostElementwiseBlocks = 2048;

absl::StatusOr<CudaCatalogCall> LowerElementwiseKernel(mlir::Operation* operation) {
  auto op = llvm::cast<ir::ElementwiseKernelOp>(operation);
  CudaCatalogCall call;
  if (op.getN() == 0) return call;
  CudaCatalogLaunch launch;
  launch.source = [op] {
    ElementwiseText text = CudaElementwiseText(op);
    return CudaSource{
        .symbol = std::move(text.symbol), .text = std::move(text.text), .subject = ElementwiseSubject(op)};
  };
  launch.grid = std::min(llvm::divideCeilSigned(op.getN(), kElementwiseBlock), kMostElementwiseBlocks);
  launch.block = kElementwiseBlock;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) launch.inputs.push_back(In(op, i));
  for (unsigned i = 0; i < op->getNumResults(); ++i) launch.outputs.push_back(Out(op, i));
  call.launches.push_back(std::move(launch));
  return call;
}

}  // namespace

void AddElementwiseKernels(CudaCatalog& catalog) {
  catalog.Add<ir::ElementwiseKernelOp>(LowerElementwiseKernel);
}

}  // namespace sinter::codegen
