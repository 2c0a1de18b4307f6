// Attention of few queries: kernels/cuda/few_queries_attention.cuh.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/target/cuda_libraries.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kMostRowsOfBlock = 8, kWarpsOfAttention = 4, kElementsOfLane = 8;
constexpr int64_t kMostParts = 8;  // Blocks of a cluster that every GPU with clusters takes.
// Floats of a block's state, of which shared memory holds up to kWarpsOfAttention and kMostParts copies.
constexpr int64_t kMostState = 960;
constexpr int64_t kWantedBlocks = 2 * ir::kPlannedGpu.multiprocessors;

ir::AttentionShape ShapeOf(ir::FewQueriesAttentionOp op) {
  return ir::AttentionShape::OfFew(op.getInputs(), static_cast<int64_t>(op.getHeads()), op.getByHead());
}

// The kernel's constants that are not sizes of the op.
struct AttentionSchedule {
  int64_t rows, tiles, splits = 1;

  explicit AttentionSchedule(const ir::AttentionShape& s) {
    const int64_t all = s.heads / s.key_heads * s.queries;
    const int64_t most = std::clamp<int64_t>(kMostState / (s.width + 2), 1, kMostRowsOfBlock);
    tiles = llvm::divideCeilSigned(all, most);
    rows = llvm::divideCeilSigned(all, tiles);
    const int64_t places =
        32 / std::min<int64_t>(32, static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(
                                       llvm::divideCeilSigned(s.width, kElementsOfLane)))));
    const int64_t ahead = rows <= 2 ? 8 : rows <= 4 ? 4 : 2;
    const int64_t chunks = llvm::divideCeilSigned(s.keys, ahead * kWarpsOfAttention * places);
    const int64_t blocks = s.batch * s.key_heads * tiles;
    while (splits < kMostParts && blocks * splits < kWantedBlocks && splits < chunks) splits *= 2;
  }
};

// Numbers the elements from one example, head and query of the bias to the next.
void AddBias(ir::FewQueriesAttentionOp op, CatalogText& text) {
  const bool has_bias = static_cast<bool>(op.getBias());
  auto bias = ir::TypeOf(has_bias ? op.getBias() : op.getInputs()[0]);
  const auto stride = [&](int dim) {
    if (!has_bias || bias.getDimSize(dim) == 1) return int64_t{0};
    int64_t elements = 1;
    for (int64_t i = dim + 1; i < 4; ++i) elements *= bias.getDimSize(i);
    return elements;
  };
  text.Type("B", ElementName(bias.getElementType())).Number("kHasBias", has_bias);
  text.Number("kBiasOfExample", stride(0)).Number("kBiasOfHead", stride(1)).Number("kBiasOfQuery", stride(2));
}

// Numbers the new rows of the caches.
void AddRows(ir::FewQueriesAttentionOp op, CatalogText& text) {
  const bool writes = !op.getRows().empty();
  const auto heads = [&](unsigned i) { return writes ? ir::TypeOf(op.getRows()[i]).getDimSize(2) : 0; };
  text.Number("kWrites", writes).Number("kKeyRow", heads(0)).Number("kValueRow", heads(1));
  text.Number("kFirstKey", static_cast<int64_t>(op.getFirstKey()));
  text.Number("kFirstValue", static_cast<int64_t>(op.getFirstValue()));
  text.Type("Index", writes ? ElementType(ir::TypeOf(op.getPosition()).getElementType()) : "i32");
}

CudaCatalogLaunch LaunchAttention(ir::FewQueriesAttentionOp op, const ir::AttentionShape& s,
                                  const AttentionSchedule& schedule, const CatalogText& text) {
  std::string call = "AttendFewQueries($0, $1, $2";
  std::vector<CatalogArgument> inputs, outputs;
  for (int i = 0; i < 3; ++i) inputs.push_back({In(op, i), "const Storage"});
  const auto add = [&](bool has, const char* type) {
    absl::StrAppend(&call, ", ", has ? absl::StrCat("$", inputs.size()) : "nullptr");
    if (has) inputs.push_back({In(op, static_cast<int>(inputs.size())), type});
  };
  const bool writes = !op.getRows().empty();
  add(static_cast<bool>(op.getBias()), "const B::Storage");
  add(writes, "const Storage"), add(writes, "const Storage"), add(writes, "const Index");
  for (int i = 0; i < 3; ++i) {
    const bool has = i == 0 || writes;
    absl::StrAppend(&call, ", ", has ? absl::StrCat("$", inputs.size() + outputs.size()) : "nullptr");
    if (has) outputs.push_back({Out(op, i), "Storage"});
  }
  return text.Launch("few_queries_attention", call + ")", inputs, outputs,
                     s.batch * s.key_heads * schedule.tiles * schedule.splits, kWarpsOfAttention * 32);
}

absl::StatusOr<CudaCatalogCall> LowerFewQueries(mlir::Operation* op) {
  auto attention = llvm::cast<ir::FewQueriesAttentionOp>(op);
  const ir::AttentionShape s = ShapeOf(attention);
  const AttentionSchedule schedule(s);
  const int64_t of_q = ir::TypeOf(attention.getInputs()[0]).getNumElements(),
                of_k = ir::TypeOf(attention.getInputs()[1]).getNumElements();
  const int64_t of_bias = attention.getBias() ? ir::TypeOf(attention.getBias()).getNumElements() : 0;
  CatalogText text(FitsIndex32(std::max({of_q, of_k, of_bias})));
  text.Type("E", ElementName(s.element)).Number("kIsBf16", s.element.isBF16());
  text.Number("kKeyHeads", s.key_heads).Number("kGroup", s.heads / s.key_heads);
  text.Number("kQueries", s.queries).Number("kKeys", s.keys).Number("kWidth", s.width);
  text.Number("kQueryStride", ir::TypeOf(attention.getInputs()[0]).getDimSize(2) * s.width);
  text.Number("kFirstHead", static_cast<int64_t>(attention.getFirstHead()));
  text.Number("kPositionStride", attention.getByHead() ? s.width : s.key_heads * s.width);
  text.Number("kHeadStride", attention.getByHead() ? s.keys * s.width : s.width);
  AddBias(attention, text);
  AddRows(attention, text);
  text.Number("kCausal", attention.getCausal())
      .Number("kWindow", static_cast<int64_t>(attention.getWindow()));
  text.Number("kRows", schedule.rows).Number("kWarps", kWarpsOfAttention).Number("kSplits", schedule.splits);
  text.Append(
      absl::StrCat("constexpr float kScale = float(", attention.getScale().convertToDouble(), ");\n"));
  text.Append(kernels::CudaText("cluster")).Append(kernels::CudaText("stream"));
  text.Append(kernels::CudaText("few_queries_attention"));
  text.Cluster(schedule.splits);
  CudaCatalogCall call;
  call.launches.push_back(LaunchAttention(attention, s, schedule, text));
  call.flops = 4 * s.seenScores(attention.getCausal(), static_cast<int64_t>(attention.getWindow())) *
               static_cast<double>(s.width);
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

bool ComputesFewQueries(mlir::Operation* op) {
  return ir::cuda::AgainstFewQueries(ShapeOf(llvm::cast<ir::FewQueriesAttentionOp>(op))).empty();
}

}  // namespace

void AddAttentionKernels(CudaCatalog& catalog) {
  catalog.Add<ir::FewQueriesAttentionOp>(LowerFewQueries, ComputesFewQueries);
}

}  // namespace sinter::codegen
