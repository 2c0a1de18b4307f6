// Combines updates in the order of their indices: kernels/cuda/scatter.cuh.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_sort.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// The most indices of the direct method, in which each block looks at all of them.
constexpr int64_t kFewIndices = 1024;
// Packs that a block of the direct method copies for each look at the indices: as few as fill the GPU, and
// at most 16 for each thread.
constexpr int64_t kFewestPacks = kCatalogBlock, kMostPacks = 16 * kCatalogBlock;
// Blocks of the direct method: enough to fill a GPU, whichever of its two ways a run takes.
constexpr int64_t kDirectBlocks = 8 * ir::kPlannedGpu.multiprocessors;
// Updates of a part of a long run. Shorter parts cost more sums of parts; a thread adds a longer one alone.
constexpr int64_t kPart = 64;
constexpr int64_t kMostRows = std::numeric_limits<uint32_t>::max() - 1;
// kernels/cuda/scatter.cuh; others are a ScatterKind.
constexpr int64_t kAddKind = 4;

struct ScatterShape {
  int64_t outer, size, inner, count, elements;
  mlir::Type element, index;

  template <typename Op>
  explicit ScatterShape(Op op)
      : size(ir::TypeOf(op.getX()).getDimSize(op.getDim())),
        count(ir::TypeOf(op.getIndices()).getNumElements()),
        elements(ir::TypeOf(op.getX()).getNumElements()),
        element(ir::TypeOf(op.getX()).getElementType()),
        index(ir::TypeOf(op.getIndices()).getElementType()) {
    ir::SizesAround around(op.getX(), op.getDim());
    outer = around.outer, inner = around.inner;
  }

  bool is_direct() const { return count <= kFewIndices; }
  // Adjacent elements of a thread.
  int64_t vector() const {
    int64_t vector = kAccessBytes / ir::ElementBytes(element);
    while (inner % vector != 0) vector /= 2;
    return vector;
  }
};

// Threads of CombineRuns: for each index of each outer part, `slices` times `width` threads, each for
// `vector` neighbours; those of JoinRuns have parts of runs in place of indices. `part`: 0 if runs have none.
struct RunSpread {
  int64_t vector, width, slices, part, parts, threads;

  RunSpread(const ScatterShape& shape, int64_t kind)
      : vector(shape.vector()), part(kind == kAddKind && shape.count > 2 * kPart ? kPart : 0) {
    const int64_t packs = shape.inner / vector;
    width = 1;
    // The widest up to a warp. Beyond a warp, the widest that adds no idle threads.
    auto threads_of = [&](int64_t w) { return llvm::divideCeilSigned(packs, w) * w; };
    for (int64_t w = 2; w <= kCatalogBlock && w < 2 * packs; w *= 2) {
      if (w <= kWarp || threads_of(w) <= threads_of(width)) width = w;
    }
    slices = llvm::divideCeilSigned(packs, width);
    threads = shape.outer * shape.count * slices * width;
    parts = part > 0 ? llvm::divideCeilSigned(shape.count, part) : 0;
  }
  // Sums that parts leave for JoinRuns: each part has one for its first run and one for its last.
  int64_t SumsOf(const ScatterShape& shape) const { return 2 * shape.outer * parts * shape.inner; }
};

// A block of the direct method copies `rows` rows, and of each `span` packs; in place it takes the rows of
// an index. `blocks`: as many as the longer of both ways needs.
struct DirectSpread {
  int64_t rows, span, blocks;

  explicit DirectSpread(const ScatterShape& shape) {
    const int64_t packs = std::max<int64_t>(1, shape.inner / shape.vector());
    const int64_t share = shape.outer * shape.size * packs / kDirectBlocks;
    const int64_t of_block = std::clamp(share, kFewestPacks, kMostPacks);
    span = std::min(packs, of_block);
    rows = std::clamp<int64_t>(of_block / span, 1, shape.size);
    const int64_t spans = llvm::divideCeilSigned(packs, span);
    blocks = shape.outer * spans * std::max(llvm::divideCeilSigned(shape.size, rows), shape.count);
  }
};

absl::Status CheckSorted(mlir::Operation* op, const ScatterShape& shape) {
  if (shape.count > kMostSorted) {
    return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()), ": a scatter on a GPU has at most ",
                                                 kMostSorted, " indices, not ", shape.count,
                                                 "; scatter parts of the updates"));
  }
  if (shape.size > kMostRows) {
    return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()),
                                                 ": a scatter on a GPU indexes at most ", kMostRows,
                                                 " places, not ", shape.size, "; split the dimension"));
  }
  return absl::OkStatus();
}

// Returns the type of sums of elements, as E::Compute in kernels/cuda/elements.cuh.
mlir::Type SumType(mlir::Type element) {
  const unsigned bits = ir::ElementBytes(element) > 4 ? 64 : 32;
  if (!llvm::isa<mlir::FloatType>(element)) return mlir::IntegerType::get(element.getContext(), bits);
  return bits == 64 ? mlir::Type(mlir::Float64Type::get(element.getContext()))
                    : mlir::Type(mlir::Float32Type::get(element.getContext()));
}

void CombineSorted(mlir::Operation* op, const std::string& name, const ScatterShape& shape,
                   const RunSpread& spread, const CatalogText& text, CudaCatalogCall& call) {
  const CatalogArgument x = {In(op, 0), "const Storage"},
                        indices = {In(op, 1), "const " + ElementType(shape.index)},
                        updates = {In(op, 2), "const Storage"}, y = {Out(op, 0), "Storage"};
  const int64_t packs =
      llvm::divideCeilSigned(shape.elements, kAccessBytes / ir::ElementBytes(shape.element));
  call.launches.push_back(text.Launch(name + "_copy", "CopyRows($0, $1)", {x}, {y},
                                      llvm::divideCeilSigned(packs, kCatalogBlock), kCatalogBlock));
  CatalogWorkspace workspace;
  mlir::Type word = mlir::IntegerType::get(op->getContext(), 32);
  const Slot keys = workspace.Add(shape.count, word), numbers = workspace.Add(shape.count, word);
  // Keys are 0 to `size`; the last one is for indices out of range.
  const int64_t key_bits = llvm::bit_width(static_cast<uint64_t>(shape.size));
  RadixSort sort = {.name = name,
                    .count = shape.count,
                    .key_bits = key_bits,
                    .keys = absl::StrCat("IndexKeys<", ElementType(shape.index), ">{$0, ", shape.size, "u}"),
                    .sources = {indices},
                    .sorted_keys = CatalogArgument{keys, "u32"},
                    .numbers = {numbers, "u32"}};
  // A separate text, the same for all element types.
  AppendSort(CatalogText(/*index32=*/true), sort, op->getContext(), workspace, call);
  std::vector<CatalogArgument> combined = {x, updates, {keys, "const u32"}, {numbers, "const u32"}},
                               results = {y};
  if (spread.part > 0)
    results.push_back({workspace.Add(spread.SumsOf(shape), SumType(shape.element)), "Compute"});
  call.launches.push_back(text.Launch(
      name + "_runs",
      spread.part > 0 ? "CombineRuns($0, $1, $2, $3, $4, $5)" : "CombineRuns($0, $1, $2, $3, $4, nullptr)",
      combined, results, llvm::divideCeilSigned(spread.threads, kCatalogBlock), kCatalogBlock));
  if (spread.part > 0) {
    const int64_t threads = spread.threads / shape.count * spread.parts;
    call.launches.push_back(text.Launch(name + "_join", "JoinRuns($0, $1, $2, $3)",
                                        {x, {keys, "const u32"}, {results[1].slot, "const Compute"}}, {y},
                                        llvm::divideCeilSigned(threads, kCatalogBlock), kCatalogBlock));
  }
  call.workspace_bytes = workspace.bytes();
}

template <typename Op>
absl::StatusOr<CudaCatalogCall> LowerUpdates(Op op, const std::string& name, int64_t kind) {
  ScatterShape shape(op);
  CudaCatalogCall call;
  if (shape.elements == 0) return call;
  const int64_t updates = ir::TypeOf(op.getUpdates()).getNumElements();
  call.flops = updates;
  const RunSpread spread(shape, kind);
  CatalogText text(FitsIndex32(std::max({shape.elements, updates, spread.threads, spread.SumsOf(shape)})));
  text.Type("E", ElementName(shape.element)).Type("Index", ElementType(shape.index));
  text.Number("kKind", kind);
  text.Number("kOuter", shape.outer).Number("kSize", shape.size).Number("kInner", shape.inner);
  text.Number("kCount", shape.count).Number("kVector", spread.vector);
  text.Number("kWidth", spread.width).Number("kSlices", spread.slices).Number("kPart", spread.part);
  const DirectSpread direct(shape);
  text.Number("kBlock", kCatalogBlock).Number("kRows", direct.rows).Number("kSpan", direct.span);
  text.Number("kListed", shape.is_direct() ? std::max<int64_t>(1, shape.count) : 1);
  text.Append(kernels::CudaText("scan")).Append(kernels::CudaText("scatter"));
  if (shape.is_direct()) {
    call.launches.push_back(
        text.Launch(name, "CombineDirectly($0, $1, $2, $3)",
                    {{In(op, 0), "const Storage"}, {In(op, 1), "const Index"}, {In(op, 2), "const Storage"}},
                    {{Out(op, 0), "Storage"}}, std::min(direct.blocks, kDirectBlocks), kCatalogBlock));
  } else {
    SINTER_RETURN_IF_ERROR(CheckSorted(op, shape));
    CombineSorted(op, name, shape, spread, text, call);
  }
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

absl::StatusOr<CudaCatalogCall> LowerScatterAdd(mlir::Operation* op) {
  return LowerUpdates(llvm::cast<ir::ScatterAddOp>(op), "scatter_add", kAddKind);
}

absl::StatusOr<CudaCatalogCall> LowerScatter(mlir::Operation* op) {
  auto scatter = llvm::cast<ir::ScatterOp>(op);
  const std::string kind = ir::stringifyScatterKind(scatter.getKind()).str();
  return LowerUpdates(scatter, "scatter_" + kind, static_cast<int64_t>(scatter.getKind()));
}

}  // namespace

void AddScatterKernels(CudaCatalog& catalog) {
  catalog.Add<ir::ScatterAddOp>(LowerScatterAdd);
  catalog.Add<ir::ScatterOp>(LowerScatter);
}

}  // namespace sinter::codegen
