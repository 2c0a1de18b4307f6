// Matmuls that cuBLASLt does not compute, small ones in tf32, for which cuBLASLt uses too few tiles, and
// those of few rows, in f32, for which it sums k in one long chain, and in 16 bits (catalog_few_rows.h). The
// kernels are kernels/cuda/matmul.cuh, split_matmul.cuh and few_rows_matmul.cuh; see
// docs/performance-notes.md.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_few_rows.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/cuda_libraries.h"
#include "sinter/ir/target/few_rows_kernels.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kTile = 64;  // Rows and columns of a block of the general kernel.

constexpr int64_t kSplitThreads = 128, kSplitStep = 32;
// The blocks that splitting a matmul aims for.
constexpr int64_t kSplitBlocks = 2 * ir::kPlannedGpu.multiprocessors;
constexpr int64_t kShortestSplit = 64;  // The shortest part of k.
constexpr int64_t kMostInCluster = 8;   // Blocks of a cluster that every GPU with clusters takes.
// Parts may be so much longer for a cluster to hold them all: these steps take as long as a second launch.
constexpr int64_t kLongerPart = 4 * kSplitStep;

// Matmuls of few rows: the most rows, terms of a sum, and elements of b for half of the rows. With more,
// cuBLASLt has enough tiles, or splits the sums over more blocks.
constexpr int64_t kMostFewRows = 32, kMostTerms = 2048, kMostFactors = int64_t{1} << 20;
constexpr int64_t kLanes = 32, kWarpsAlong = 8;

// True if only cuBLASLt computes the matmul.
bool IsCublasOnly(ir::MatmulOp matmul) {
  return matmul.getAddend() || matmul.getScale() ||
         (matmul.getType().getElementType().isF32() && !matmul.getA().getType().getElementType().isF32());
}

// How k is cut.
struct SplitParts {
  int64_t depth, count;

  SplitParts(int64_t k, int64_t tiles) {
    const int64_t wanted =
        std::clamp<int64_t>(k / kShortestSplit, 1, std::max<int64_t>(1, kSplitBlocks / tiles));
    depth = DepthOf(k, wanted);
    if (const int64_t longer = DepthOf(k, kMostInCluster);
        wanted > kMostInCluster && longer - depth <= kLongerPart)
      depth = longer;
    count = llvm::divideCeilSigned(k, depth);
  }

  bool fit_in_cluster() const { return count <= kMostInCluster; }

 private:
  static int64_t DepthOf(int64_t k, int64_t parts) {
    return llvm::alignTo(llvm::divideCeilSigned(k, parts), kSplitStep);
  }
};

absl::StatusOr<CudaCatalogCall> LowerSplit(mlir::Operation* op) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  const ir::MatmulSizes s = ir::MatmulSizes::Of(matmul);
  const int64_t tiles = ir::tf32::MatmulTiles(s);
  const SplitParts parts(s.k, tiles);
  const bool has_bias = static_cast<bool>(matmul.getBias());
  CatalogText text(FitsIndex32(std::max({s.m * s.n * parts.count, s.m * s.k, s.k * s.n})));
  text.Number("kM", s.m).Number("kN", s.n).Number("kK", s.k);
  text.Number("kTransposeA", matmul.getTransposeA()).Number("kTransposeB", matmul.getTransposeB());
  text.Number("kHasBias", has_bias).Number("kRelu", matmul.getActivation() == ir::Activation::relu);
  text.Number("kParts", parts.count).Number("kPartDepth", parts.depth);
  text.Number("kSplits", parts.fit_in_cluster() ? parts.count : 1);
  text.Append(kernels::CudaText("tensor_core")).Append(kernels::CudaText("cluster"));
  text.Append(kernels::CudaText("split_matmul"));
  std::vector<CatalogArgument> factors = {{In(op, 0), "const float"}, {In(op, 1), "const float"}};
  const CatalogArgument result = {Out(op, 0), "float"};
  CudaCatalogCall call;
  call.flops = 2.0 * s.m * s.n * s.k;
  if (parts.fit_in_cluster()) {
    text.Cluster(parts.count);
    if (has_bias) factors.push_back({In(op, 2), "const float"});
    call.launches.push_back(text.Launch(
        "matmul_tf32", has_bias ? "MultiplySplit($0, $1, $2, $3)" : "MultiplySplit($0, $1, nullptr, $2)",
        factors, {result}, tiles * parts.count, kSplitThreads));
    return call;
  }
  CatalogWorkspace workspace;
  CatalogArgument partials = {
      workspace.Add(parts.count * s.m * s.n, mlir::Float32Type::get(op->getContext())), "float"};
  call.launches.push_back(text.Launch("matmul_tf32_split", "MultiplySplit($0, $1, nullptr, $2)", factors,
                                      {partials}, tiles * parts.count, kSplitThreads));
  partials.type = "const float";
  std::vector<CatalogArgument> terms = {partials};
  if (has_bias) terms.push_back({In(op, 2), "const float"});
  call.launches.push_back(
      text.Launch("matmul_tf32", has_bias ? "SumSplits($0, $1, $2)" : "SumSplits($0, nullptr, $1)", terms,
                  {result}, llvm::divideCeilSigned(s.m * s.n, kCatalogBlock), kCatalogBlock));
  call.workspace_bytes = workspace.bytes();
  return call;
}

// True for f32 matmuls of so few rows that the time is that of one sum.
bool HasFewRows(ir::MatmulOp matmul) {
  auto is_f32 = [](mlir::Value x) { return ir::TypeOf(x).getElementType().isF32(); };
  if (IsCublasOnly(matmul) || matmul.getMath() != ir::MathMode::ieee || matmul.getTransposeA() ||
      !is_f32(matmul.getA()) || matmul.getA().getType().getRank() != 2) {
    return false;
  }
  const ir::MatmulSizes s = ir::MatmulSizes::Of(matmul);
  const int64_t most = s.m <= kMostFewRows / 2 ? kMostFactors : kMostFactors / 2;
  return s.batch == 1 && std::min({s.m, s.n, s.k}) > 0 && s.m <= kMostFewRows && s.k <= kMostTerms &&
         s.n * s.k <= most;
}

CudaCatalogCall LowerFewRows(ir::MatmulOp matmul) {
  const ir::MatmulSizes s = ir::MatmulSizes::Of(matmul);
  const bool along = matmul.getTransposeB(), has_bias = static_cast<bool>(matmul.getBias());
  const int64_t warps = along ? kWarpsAlong : std::clamp<int64_t>(llvm::divideCeilSigned(s.k, kLanes), 1, 16);
  const int64_t tiles = llvm::divideCeilSigned(s.n, along ? kWarpsAlong : kLanes);
  int64_t rows = 16;
  auto blocks = [&] { return tiles * llvm::divideCeilSigned(s.m, rows); };
  while (rows > 1 && (rows >= 2 * s.m || (rows > 4 && blocks() < ir::kPlannedGpu.multiprocessors / 2)))
    rows /= 2;
  CatalogText text(FitsIndex32(std::max({s.m * s.n, s.m * s.k, s.k * s.n})));
  text.Number("kM", s.m).Number("kN", s.n).Number("kK", s.k).Number("kTransposeB", along);
  text.Number("kHasBias", has_bias).Number("kActivation", static_cast<int64_t>(matmul.getActivation()));
  text.Number("kRows", rows).Number("kWarps", warps);
  text.Append(kernels::CudaText("activate")).Append(kernels::CudaText("few_rows_matmul"));
  std::vector<CatalogArgument> inputs;
  for (unsigned i = 0; i < matmul->getNumOperands(); ++i) inputs.push_back({In(matmul, i), "const float"});
  CudaCatalogCall call;
  call.launches.push_back(
      text.Launch("matmul_few_rows",
                  has_bias ? "MultiplyFewRows($0, $1, $2, $3)" : "MultiplyFewRows($0, $1, nullptr, $2)",
                  inputs, {{Out(matmul, 0), "float"}}, blocks(), warps * kLanes));
  call.flops = 2.0 * s.m * s.n * s.k;
  return call;
}

// True for matmuls of integers that cuBLASLt does not compute, matmuls with an epilogue that cuBLASLt cannot
// apply, matmuls that are split, and those of few rows.
bool Computes(mlir::Operation* op) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  if (ir::tf32::Computes(matmul) || HasFewRows(matmul) || ir::few_rows::Computes(matmul)) return true;
  if (ir::TypeOf(matmul.getA()).getElementType().isInteger()) {
    return !ir::cuda::AgainstCublasIntegers(matmul).empty();
  }
  return !ir::cuda::AgainstCublas(ir::TypeOf(matmul.getA()).getElementType(), matmul.getActivation(),
                                  static_cast<bool>(matmul.getBias()))
              .empty();
}

absl::StatusOr<CudaCatalogCall> LowerMatmul(mlir::Operation* op) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  if (ir::tf32::Computes(matmul)) return LowerSplit(op);
  if (HasFewRows(matmul)) return LowerFewRows(matmul);
  if (ir::few_rows::Computes(matmul)) return LowerFewRows16(matmul);
  if (IsCublasOnly(matmul)) {
    return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()),
                                                 ": a matmul with an addend, a scale or a result of f32 "
                                                 "from 16-bit operands is cuBLASLt's on a GPU, which "
                                                 "has no activation but gelu_tanh, and in f64 "
                                                 "neither bias nor activation: leave those out of it"));
  }
  mlir::RankedTensorType a = ir::TypeOf(matmul.getA()), result = ir::TypeOf(matmul.getResult());
  CudaCatalogCall call;
  if (result.getNumElements() == 0) return call;
  const auto [batch, m, n, k] = ir::MatmulSizes::Of(matmul);
  const bool has_bias = static_cast<bool>(matmul.getBias());

  CatalogText text(FitsIndex32(std::max(
      {result.getNumElements(), a.getNumElements(), ir::TypeOf(matmul.getB()).getNumElements(), m, n, k})));
  text.Type("E", ElementName(a.getElementType())).Type("R", ElementName(result.getElementType()));
  text.Number("kM", m).Number("kN", n).Number("kK", k);
  text.Number("kTransposeA", matmul.getTransposeA()).Number("kTransposeB", matmul.getTransposeB());
  text.Number("kHasBias", has_bias).Number("kActivation", static_cast<int64_t>(matmul.getActivation()));
  text.Append(kernels::CudaText("activate")).Append(kernels::CudaText("matmul"));
  std::vector<CatalogArgument> inputs;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    inputs.push_back({In(op, i), i < 2 ? "const Storage" : "const Result"});
  }
  call.launches.push_back(text.Launch(
      "matmul", has_bias ? "Matmul($0, $1, $2, $3)" : "Matmul($0, $1, nullptr, $2)", inputs,
      {{Out(op, 0), "Result"}}, batch * llvm::divideCeilSigned(m, kTile) * llvm::divideCeilSigned(n, kTile),
      kCatalogBlock));
  call.flops = 2.0 * batch * m * n * k;
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddMatmulKernels(CudaCatalog& catalog) { catalog.Add<ir::MatmulOp>(LowerMatmul, Computes); }

}  // namespace sinter::codegen
