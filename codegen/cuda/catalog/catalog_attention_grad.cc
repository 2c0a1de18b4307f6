// Attention's gradient on GPUs of compute capability 9.0, in two kernels that add in a fixed order:
// kernels/cuda/attention_query_grad.cuh and attention_key_grad.cuh. See docs/performance-notes.md.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kWidthOfHeads = 64;
constexpr int64_t kAttentionThreads = 384;
constexpr int64_t kRowsOfBlock = 128;
// Shared memory, as the kernels lay it out for heads of 64; they check it.
constexpr int64_t kQueryGradBytes = 12 * 16384 + 8 * 2304 + 2 * 512 + 14 * 8;
constexpr int64_t kKeyGradBytes = 5 * 16384 + 4 * 16384 + 16 * 2304 + 5 * 512 + 12 * 8;

// True if every GPU of the plan has the kernels' instructions, and the kernels know the attention.
bool ComputesAttentionGrad(mlir::Operation* op) {
  auto grad = llvm::cast<ir::AttentionGradOp>(op);
  const ir::AttentionShape s = ir::AttentionShape::Of(grad.getInputs());
  return op->hasAttr(ir::kHopperAttr) && s.width == kWidthOfHeads && !grad.getBias() &&
         grad.getWindow() == 0 && (s.element.isBF16() || s.element.isF16()) &&
         grad.getScale().convertToDouble() > 0 && std::min({s.batch, s.queries, s.keys}) > 0 &&
         FitsIndex32(s.batch * s.heads * std::max(s.queries, s.keys));
}

// The number of blocks, each with an item at a time: a tile of a head, or two tiles that take as long as any
// other two.
int64_t Blocks(int64_t batch, int64_t heads, int64_t rows, bool paired) {
  const int64_t tiles = llvm::divideCeilSigned(rows, kRowsOfBlock);
  return std::min(batch * heads * (paired ? llvm::divideCeilSigned(tiles, 2) : tiles),
                  ir::kPlannedGpu.multiprocessors);
}

absl::StatusOr<CudaCatalogCall> LowerAttentionGrad(mlir::Operation* op) {
  auto grad = llvm::cast<ir::AttentionGradOp>(op);
  const ir::AttentionShape s = ir::AttentionShape::Of(grad.getInputs());
  const bool causal = grad.getCausal(), is_bf16 = s.element.isBF16();
  CatalogText text(/*index32=*/true);
  text.ForHopper().Append(absl::StrCat("#define SN_TYPE \"", is_bf16 ? "bf16" : "f16", "\"\n"));
  text.Number("kBatch", s.batch).Number("kHeads", s.heads).Number("kKeyHeads", s.key_heads);
  text.Number("kQueries", s.queries).Number("kKeys", s.keys).Number("kWidth", s.width);
  text.Number("kCausal", causal).Number("kPacked", s.packed).Number("kPaired", causal);
  text.Number("kIsBf16", is_bf16);
  text.Number("kScaleBits", std::bit_cast<int32_t>(static_cast<float>(grad.getScale().convertToDouble())));
  text.Append(kernels::CudaText("hopper")).Append(kernels::CudaText("attention_tiles"));
  CatalogText query_text = text, key_text = text;
  query_text.Number("kSharedBytes", kQueryGradBytes).Append(kernels::CudaText("attention_query_grad"));
  key_text.Number("kSharedBytes", kKeyGradBytes).Append(kernels::CudaText("attention_key_grad"));

  const int given = s.packed ? 1 : 3;
  auto half = [&](Slot slot) { return CatalogArgument{slot, "const Half"}; };
  std::vector<CatalogArgument> inputs;
  for (int i = 0; i < given; ++i) inputs.push_back(half(In(op, i)));
  const CatalogArgument o = half(In(op, given)), g = half(In(op, given + 2));
  CatalogArgument stats = {In(op, given + 1), "const float"};
  CatalogWorkspace workspace;
  CatalogArgument row_stats = {
      workspace.Add(2 * s.batch * s.heads * s.queries, mlir::Float32Type::get(op->getContext())), "float"};
  const std::vector<CatalogArgument> results = {
      {Out(op, 0), "Half"}, {Out(op, s.packed ? 0 : 1), "Half"}, {Out(op, s.packed ? 0 : 2), "Half"}};

  CudaCatalogCall call;
  call.workspace_bytes = workspace.bytes();
  std::vector<CatalogArgument> of_queries = inputs;
  of_queries.insert(of_queries.end(), {o, stats, g});
  call.launches.push_back(query_text.Launch(
      "attention_query_grad",
      s.packed ? "AttentionQueryGrad($0, $0 + kPart, $0 + 2 * kPart, $1, $2, $3, $4, $5)"
               : "AttentionQueryGrad($0, $1, $2, $3, $4, $5, $6, $7)",
      of_queries, {row_stats, results[0]}, Blocks(s.batch, s.heads, s.queries, causal), kAttentionThreads));
  call.launches.back().shared_bytes = kQueryGradBytes;
  row_stats.type = "const float";
  std::vector<CatalogArgument> of_keys = inputs;
  of_keys.insert(of_keys.end(), {g, row_stats});
  call.launches.push_back(key_text.Launch(
      "attention_key_grad",
      s.packed ? "AttentionKeyGrad($0, $0 + kPart, $0 + 2 * kPart, $1, $2, $3 + kPart, $3 + 2 * kPart)"
               : "AttentionKeyGrad($0, $1, $2, $3, $4, $5, $6)",
      of_keys,
      s.packed ? std::vector<CatalogArgument>{results[0]}
               : std::vector<CatalogArgument>{results[1], results[2]},
      Blocks(s.batch, s.key_heads, s.keys, causal), kAttentionThreads));
  call.launches.back().shared_bytes = kKeyGradBytes;
  // As many as the definition has: the kernels compute two of the five products twice.
  call.flops = 10 * s.seenScores(causal, 0) * static_cast<double>(s.width);
  return call;
}

}  // namespace

void AddAttentionGradKernels(CudaCatalog& catalog) {
  catalog.Add<ir::AttentionGradOp>(LowerAttentionGrad, ComputesAttentionGrad);
}

}  // namespace sinter::codegen
