// Running sums: kernels/cuda/cumsum.cuh.
#include <algorithm>

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kMostVector = 8;
// Most warp tiles of a row that a warp computes; a block computes longer rows.
constexpr int64_t kWarpTiles = 8;
constexpr int64_t kChunkTiles = 4;  // Fewest block tiles of a chunk.
constexpr int64_t kMostChunks = 1024;
// Blocks and threads that keep a large GPU busy.
constexpr int64_t kScanBlocks = 1024, kScanThreads = 1 << 18;
constexpr int64_t kLeastColumn = 64;  // Fewest positions of a column's chunk.

// Distributes [outer, size, inner] over threads.
struct Spread {
  bool rows = false;
  int64_t outer, size, inner, vector = 1, lanes = 1, chunk, chunks = 1;

  Spread(int64_t outer, int64_t size, int64_t inner, int64_t element_bytes)
      : rows(inner == 1), outer(outer), size(size), inner(inner), chunk(size) {
    if (rows) {
      SpreadRows(element_bytes);
    } else {
      SpreadColumns();
    }
    chunks = llvm::divideCeilSigned(size, chunk);
  }

  // Returns the blocks of a launch over `parts` chunks of every row or column.
  int64_t Grid(int64_t parts) const {
    return rows ? llvm::divideCeilSigned(outer * parts * lanes, kCatalogBlock)
                : llvm::divideCeilSigned(outer * parts * inner, kCatalogBlock);
  }

 private:
  void SpreadRows(int64_t element_bytes) {
    vector = std::min(kMostVector, kAccessBytes / element_bytes);
    const int64_t packs = llvm::divideCeilSigned(size, vector);
    lanes = std::min<int64_t>(kWarp, llvm::bit_ceil(static_cast<uint64_t>(packs)));
    if (packs <= kWarp * kWarpTiles) return;
    lanes = kCatalogBlock;
    const int64_t tile = lanes * vector;
    const int64_t wanted =
        std::min({llvm::divideCeilSigned(kScanBlocks, outer), size / (tile * kChunkTiles), kMostChunks});
    if (wanted > 1) chunk = llvm::divideCeilSigned(llvm::divideCeilSigned(size, wanted), tile) * tile;
  }

  // Takes enough chunks to keep the GPU busy, but no more chunks than a chunk has positions: each chunk adds
  // up the totals of the chunks before it.
  void SpreadColumns() {
    int64_t wanted = std::min(llvm::divideCeilSigned(kScanThreads, outer * inner), size / kLeastColumn);
    while (wanted > 1 && wanted > llvm::divideCeilSigned(size, wanted)) wanted /= 2;
    if (wanted > 1) chunk = llvm::divideCeilSigned(size, wanted);
  }
};

absl::StatusOr<CudaCatalogCall> LowerCumsum(mlir::Operation* op) {
  auto cumsum = llvm::cast<ir::CumsumOp>(op);
  mlir::RankedTensorType type = ir::TypeOf(cumsum.getX());
  mlir::Type element = type.getElementType();
  ir::SizesAround around(cumsum.getX(), cumsum.getDim());
  CudaCatalogCall call;
  if (type.getNumElements() == 0) return call;
  Spread spread(around.outer, type.getDimSize(cumsum.getDim()), around.inner, ir::ElementBytes(element));

  CatalogText text(FitsIndex32(type.getNumElements()));
  text.Type("E", ElementName(element)).Number("kBlock", kCatalogBlock);
  text.Number("kOuter", spread.outer).Number("kSize", spread.size).Number("kInner", spread.inner);
  text.Number("kReverse", cumsum.getReverse())
      .Number("kVector", spread.vector)
      .Number("kLanes", spread.lanes);
  text.Number("kChunk", spread.chunk).Number("kChunks", spread.chunks);
  text.Append(kernels::CudaText("scan")).Append(kernels::CudaText("cumsum"));
  const std::string name = spread.rows ? "Row" : "Column";
  std::vector<CatalogArgument> inputs = {{In(op, 0), "const Storage"}}, outputs = {{Out(op, 0), "Storage"}};
  if (spread.chunks == 1) {
    call.launches.push_back(text.Launch("cumsum", name + "Sums($0, nullptr, $1)", inputs, outputs,
                                        spread.Grid(1), kCatalogBlock));
  } else {
    CatalogWorkspace workspace;
    // Totals have 8 bytes, or 4 bytes for integers up to 32 bits.
    const bool is_short = element.isInteger() && ir::ElementBytes(element) <= 4;
    mlir::Type long_sum = mlir::IntegerType::get(op->getContext(), is_short ? 32 : 64);
    Slot totals = workspace.Add(spread.outer * spread.chunks * spread.inner, long_sum);
    call.launches.push_back(text.Launch("cumsum_totals", name + "Totals($0, $1)", inputs, {{totals, "Sum"}},
                                        spread.Grid(spread.chunks - 1), kCatalogBlock));
    inputs.push_back({totals, "const Sum"});
    call.launches.push_back(text.Launch("cumsum", name + "Sums($0, $1, $2)", inputs, outputs,
                                        spread.Grid(spread.chunks), kCatalogBlock));
    call.workspace_bytes = workspace.bytes();
  }
  call.flops = type.getNumElements();
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddCumsumKernels(CudaCatalog& catalog) { catalog.Add<ir::CumsumOp>(LowerCumsum); }

}  // namespace sinter::codegen
