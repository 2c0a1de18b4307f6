// Matmuls of few rows with a matrix of 8 or 4 bits: kernels/cuda/quantized_mma.cuh for 16-bit floats, and
// quantized_matmul.cuh for others.
#include <algorithm>
#include <optional>

#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/quantized_sizes.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kWarpsOfBlock = 8;
constexpr int64_t kStepNumbers = 512;  // Numbers of a row that a warp reads at once.
// Warps that read enough at once to keep the memory of a GPU busy.
constexpr int64_t kWantedWarps = ir::kPlannedGpu.multiprocessors * 16;
constexpr int64_t kMostSums = 32;         // Sums that a thread may hold.
constexpr int64_t kMostFloatsOfX = 8192;  // In shared memory.
constexpr int64_t kMostRowsOfWarp = 4;
constexpr int64_t kRowsOfMma = 16;
constexpr char kCall[] = "MultiplyQuantized($0, $1, $2, $3)";

// The kernel's constants that are not sizes of the op.
struct QuantizedSchedule {
  int64_t rows = kMostRowsOfWarp, across = kWarpsOfBlock, along = 1, tiles = 1;

  explicit QuantizedSchedule(const ir::QuantizedSizes& s) {
    while (rows > 1 && rows * s.m > kMostSums) rows /= 2;
    const auto warps = [&] { return llvm::divideCeilSigned(s.n, rows) * along; };
    const int64_t most_along =
        std::min(kMostFloatsOfX / (s.m * kStepNumbers), llvm::divideCeilSigned(s.k, kStepNumbers));
    while (warps() < kWantedWarps && along * 2 <= std::min(most_along, kWarpsOfBlock)) along *= 2;
    while (warps() < kWantedWarps && rows > 1) rows /= 2;
    across = kWarpsOfBlock / along;
    const int64_t tile = along * kStepNumbers;
    tiles = std::clamp<int64_t>(llvm::divideCeilSigned(s.k, tile), 1,
                                std::max<int64_t>(kMostFloatsOfX / (s.m * tile), 1));
  }
};

CudaCatalogLaunch LaunchMma(ir::QuantizedMatmulOp product, int64_t lane_bytes, CatalogText text) {
  const ir::QuantizedSizes s = ir::QuantizedSizes::Of(product);
  const int64_t numbers = lane_bytes * 8 / s.bits;
  const int64_t units = s.groups == 1 ? llvm::divideCeilSigned(s.k, 4 * numbers) : s.groups;
  const int64_t tiles = llvm::divideCeilSigned(s.n, kRowsOfMma);
  int64_t along = 1;
  while (tiles * along < kWantedWarps && along * 2 <= std::min(units, kWarpsOfBlock)) along *= 2;
  const int64_t across = kWarpsOfBlock / along;
  text.Number("kIsBf16", product.getX().getType().getElementType().isBF16()).Number("kLaneBytes", lane_bytes);
  text.Number("kAcross", across).Number("kAlong", along).Append(kernels::CudaText("quantized_mma"));
  return text.Launch("quantized_mma", kCall,
                     {{In(product, 0), "const Storage"},
                      {In(product, 1), "const u8"},
                      {In(product, 2), "const ScaleStorage"}},
                     {{Out(product, 0), "Storage"}}, llvm::divideCeilSigned(tiles, across),
                     kWarpsOfBlock * 32);
}

CudaCatalogLaunch LaunchFma(ir::QuantizedMatmulOp product, CatalogText text) {
  const ir::QuantizedSizes s = ir::QuantizedSizes::Of(product);
  const QuantizedSchedule schedule(s);
  text.Number("kRows", schedule.rows).Number("kAcross", schedule.across).Number("kAlong", schedule.along);
  text.Number("kTiles", schedule.tiles).Append(kernels::CudaText("quantized_matmul"));
  return text.Launch("quantized_matmul", kCall,
                     {{In(product, 0), "const Storage"},
                      {In(product, 1), "const u8"},
                      {In(product, 2), "const ScaleStorage"}},
                     {{Out(product, 0), "Storage"}},
                     llvm::divideCeilSigned(s.n, schedule.rows * schedule.across), kWarpsOfBlock * 32);
}

absl::StatusOr<CudaCatalogCall> LowerQuantized(mlir::Operation* op) {
  auto product = llvm::cast<ir::QuantizedMatmulOp>(op);
  const ir::QuantizedSizes s = ir::QuantizedSizes::Of(product);
  CudaCatalogCall call;
  if (s.m == 0 || s.n == 0) return call;
  CatalogText text(FitsIndex32(std::max({s.m * s.n, s.m * s.k, s.n * s.k})));
  text.Type("E", ElementName(product.getX().getType().getElementType()));
  text.Type("S", ElementName(product.getScales().getType().getElementType()));
  text.Number("kM", s.m)
      .Number("kN", s.n)
      .Number("kK", s.k)
      .Number("kGroups", s.groups)
      .Number("kBits", s.bits);
  const bool is_f32 = product.getX().getType().getElementType().isF32();
  const std::optional<int64_t> lane_bytes = is_f32 ? std::nullopt : s.mmaLaneBytes();
  call.launches.push_back(lane_bytes ? LaunchMma(product, *lane_bytes, text) : LaunchFma(product, text));
  call.flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddQuantizedKernels(CudaCatalog& catalog) { catalog.Add<ir::QuantizedMatmulOp>(LowerQuantized); }

}  // namespace sinter::codegen
