// The largest elements of rows: kernels/cuda/top_k.cuh.
#include <algorithm>

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kRowPacks = 4;  // Fewest reads of a block's thread, if the row is long enough.
constexpr int64_t kMostKept = 4;  // Elements that a thread keeps in registers.
// Rows of fewer than kManyRows have larger blocks, since they do not fill the GPU otherwise.
constexpr int64_t kManyRows = 4 * ir::kPlannedGpu.multiprocessors;

absl::StatusOr<CudaCatalogCall> LowerTopK(mlir::Operation* op) {
  auto top = llvm::cast<ir::TopKOp>(op);
  mlir::RankedTensorType type = ir::TypeOf(top.getX());
  CudaCatalogCall call;
  if (type.getNumElements() == 0) return call;
  const int64_t size = type.getShape().back(), rows = type.getNumElements() / size;
  int64_t vector = kAccessBytes / ir::ElementBytes(type.getElementType());
  while (size % vector != 0) vector /= 2;
  const auto threads = static_cast<uint64_t>(llvm::divideCeilSigned(size / vector, kRowPacks));
  const int64_t most = rows < kManyRows ? ir::kPlannedGpu.block_threads : kCatalogBlock;
  const int64_t block = std::clamp<int64_t>(static_cast<int64_t>(llvm::bit_ceil(threads)), kWarp, most);
  CatalogText text(FitsIndex32(type.getNumElements()));
  text.Type("E", ElementName(type.getElementType())).Number("kBlock", block);
  const auto count = static_cast<int64_t>(top.getK());
  text.Number("kSize", size).Number("kCount", count).Number("kVector", vector);
  text.Number("kKept", std::min(count, kMostKept));
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
