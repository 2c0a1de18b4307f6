#include "sinter/codegen/cuda/catalog/cuda_copy.h"

#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/kernels/cuda/embedded_cuda.h"

namespace sinter::codegen {
namespace {

constexpr int64_t kLeastBytes = 1 << 16;
constexpr int64_t kEach = 4;  // Accesses of a thread; all are in flight before the first store.

}  // namespace

std::optional<CudaCatalogLaunch> CudaCopy(const BufferRegion& from, const BufferRegion& to) {
  const bool on_one_gpu = from.device && from.device == to.device &&
                          ir::TargetModel::Of(from.device).kernels == ir::KernelForm::kCuda;
  if (!on_one_gpu || from.bytes < kLeastBytes || Overlaps(from, to)) return std::nullopt;
  if (!from.IsAligned(kAccessBytes) || !to.IsAligned(kAccessBytes)) return std::nullopt;
  CatalogText text(FitsIndex32(from.bytes));
  text.Number("kBytes", from.bytes).Number("kBlock", kCatalogBlock).Number("kEach", kEach);
  CudaCatalogLaunch launch =
      text.Append(kernels::CudaText("copy"))
          .Launch("copy", "Copy($0, $1)", {{Slot(), "const char"}}, {{Slot(), "char"}},
                  llvm::divideCeilSigned(from.bytes, kAccessBytes * kCatalogBlock * kEach), kCatalogBlock);
  launch.inputs.clear(), launch.outputs.clear();
  return launch;
}

}  // namespace sinter::codegen
