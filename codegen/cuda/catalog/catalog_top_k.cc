// The largest elements of rows: kernels/cuda/top_k.cuh.
#include <algorithm>

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kRowElements = 4;  // Fewest elements of a row for each of a block's threads.

absl::StatusOr<CudaCatalogCall> LowerTopK(mlir::Operation* op) {
  auto top = llvm::cast<ir::TopKOp>(op);
  mlir::RankedTensorType type = ir::TypeOf(top.getX());
  CudaCatalogCall call;
  if (type.getNumElements() == 0) return call;
  const int64_t size = type.getShape().back(), rows = type.getNumElements() / size;
  const uint64_t threads = static_cast<uint64_t>(llvm::divideCeilSigned(size, kRowElements));
  const int64_t block =
      std::clamp<int64_t>(static_cast<int64_t>(llvm::bit_ceil(threads)), kWarp, kCatalogBlock);
  CatalogText text(FitsIndex32(type.getNumElements()));
  text.Type("E", ElementName(type.getElementType())).Number("kBlock", block);
  text.Number("kSize", size).Number("kCount", static_cast<int64_t>(top.getK()));
  text.Append(kernels::CudaText("top_k"));
  call.launches.push_back(text.Launch("top_k", "TopK($0, $1, $2)", {{In(op, 0), "const Storage"}},
                                      {{Out(op, 0), "Storage"}, {Out(op, 1), "i32"}}, rows, block));
  call.flops = type.getNumElements();
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddTopKKernels(CudaCatalog& catalog) { catalog.Add<ir::TopKOp>(LowerTopK); }

}  // namespace sinter::codegen
