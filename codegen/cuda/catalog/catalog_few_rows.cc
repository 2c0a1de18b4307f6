// Matmuls of few rows in 16 bits: kernels/cuda/few_rows_mma.cuh.
#include "sinter/codegen/cuda/catalog/catalog_few_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kMostParts = 8;  // Blocks of a cluster that every GPU with clusters takes.
constexpr int64_t kWantedBlocks = ir::kPlannedGpu.multiprocessors;

// The kernel's constants that are not sizes of the op.
struct FewRowsSchedule {
  int64_t along = 8, splits = 1, tiles;

  FewRowsSchedule(const ir::MatmulSizes& s, bool transposed) {
    const int64_t columns = transposed ? 16 : 64, steps = llvm::divideCeilSigned(s.k, transposed ? 32 : 16);
    tiles = llvm::divideCeilSigned(s.n, columns);
    while (splits < kMostParts && tiles * splits * 2 <= kWantedBlocks && splits * 2 <= steps) splits *= 2;
    while (along > 1 && along > llvm::divideCeilSigned(steps, splits)) along /= 2;
  }
};

}  // namespace

CudaCatalogCall LowerFewRows16(ir::MatmulOp matmul) {
  const ir::MatmulSizes s = ir::MatmulSizes::Of(matmul);
  const FewRowsSchedule schedule(s, matmul.getTransposeB());
  const mlir::Type element = matmul.getA().getType().getElementType();
  const bool has_bias = static_cast<bool>(matmul.getBias()),
             has_addend = static_cast<bool>(matmul.getAddend());
  CatalogText text(FitsIndex32(std::max({s.m * s.n, s.m * s.k, s.k * s.n})));
  text.Type("E", ElementName(element)).Type("R", ElementName(matmul.getType().getElementType()));
  text.Number("kIsBf16", element.isBF16());
  text.Number("kM", s.m).Number("kN", s.n).Number("kK", s.k).Number("kTransposeB", matmul.getTransposeB());
  text.Number("kHasBias", has_bias).Number("kHasAddend", has_addend);
  text.Number("kActivation", static_cast<int64_t>(matmul.getActivation()));
  text.Number("kAcross", 1).Number("kAlong", schedule.along).Number("kSplits", schedule.splits);
  text.Append(kernels::CudaText("activate")).Append(kernels::CudaText("cluster"));
  text.Append(kernels::CudaText("stream")).Append(kernels::CudaText("few_rows_mma"));
  // Blocks that have room at once ask for their weights before they may begin.
  if (schedule.tiles * schedule.splits <= 2 * kWantedBlocks) {
    text.Early(has_bias ? "PrefetchWeights($1, $2)" : "PrefetchWeights($1, nullptr)");
  }
  text.Cluster(schedule.splits);
  std::vector<CatalogArgument> inputs = {{In(matmul, 0), "const Storage"}, {In(matmul, 1), "const Storage"}};
  std::string call = "MultiplyFewRows($0, $1";
  const auto add = [&](bool has, const char* type) {
    absl::StrAppend(&call, ", ", has ? absl::StrCat("$", inputs.size()) : "nullptr");
    if (has) inputs.push_back({In(matmul, static_cast<int>(inputs.size())), type});
  };
  add(has_bias, "const Result"), add(has_addend, "const Result");
  absl::StrAppend(&call, ", $", inputs.size(), ")");
  CudaCatalogCall made;
  made.launches.push_back(text.Launch("matmul_few_rows", call, inputs, {{Out(matmul, 0), "Result"}},
                                      schedule.tiles * schedule.splits, schedule.along * 32));
  made.flops = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  return made;
}

}  // namespace sinter::codegen
