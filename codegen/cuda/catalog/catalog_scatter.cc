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
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// Limits of the direct method, in which every element looks at every index: some 10 microseconds on a large
// GPU, the least time that sorting takes. A result in place of its operand takes far less.
constexpr int64_t kFewIndices = 512, kFewLooks = 1 << 26;
constexpr int64_t kMostRows = std::numeric_limits<uint32_t>::max() - 1;
// Blocks that copy: some for each multiprocessor. In place they end at once.
constexpr int64_t kCopyBlocks = 528;
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

  bool is_direct() const {
    return count <= kFewIndices && elements <= kFewLooks / std::max<int64_t>(1, count);
  }
  // Adjacent elements of a thread.
  int64_t vector() const {
    int64_t vector = kAccessBytes / ir::ElementBytes(element);
    while (inner % vector != 0) vector /= 2;
    return vector;
  }
};

// Threads of CombineRuns: for each index of each outer part, `slices` times `width` threads, each for
// `vector` neighbours.
struct RunSpread {
  int64_t vector, width, slices, threads;

  explicit RunSpread(const ScatterShape& shape) : vector(shape.vector()) {
    const int64_t packs = shape.inner / vector;
    width = 1;
    // The widest up to a warp. Beyond a warp, the widest that adds no idle threads.
    auto threads_of = [&](int64_t w) { return llvm::divideCeilSigned(packs, w) * w; };
    for (int64_t w = 2; w <= kCatalogBlock && w < 2 * packs; w *= 2) {
      if (w <= kWarp || threads_of(w) <= threads_of(width)) width = w;
    }
    slices = llvm::divideCeilSigned(packs, width);
    threads = shape.outer * shape.count * slices * width;
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
  call.launches.push_back(text.Launch(name + "_runs", "CombineRuns($0, $1, $2, $3, $4)",
                                      {x, updates, {keys, "const u32"}, {numbers, "const u32"}}, {y},
                                      llvm::divideCeilSigned(spread.threads, kCatalogBlock), kCatalogBlock));
  call.workspace_bytes = workspace.bytes();
}

template <typename Op>
absl::StatusOr<CudaCatalogCall> LowerUpdates(Op op, const std::string& name, int64_t kind) {
  ScatterShape shape(op);
  CudaCatalogCall call;
  if (shape.elements == 0) return call;
  const int64_t updates = ir::TypeOf(op.getUpdates()).getNumElements();
  call.flops = updates;
  RunSpread spread(shape);
  CatalogText text(FitsIndex32(std::max({shape.elements, updates, spread.threads})));
  text.Type("E", ElementName(shape.element)).Type("Index", ElementType(shape.index));
  text.Number("kKind", kind);
  text.Number("kOuter", shape.outer).Number("kSize", shape.size).Number("kInner", shape.inner);
  text.Number("kCount", shape.count).Number("kVector", spread.vector);
  text.Number("kWidth", spread.width).Number("kSlices", spread.slices);
  text.Append(kernels::CudaText("scatter"));
  if (shape.is_direct()) {
    const auto blocks = [&](int64_t elements) {
      return llvm::divideCeilSigned(elements / spread.vector, kCatalogBlock);
    };
    const int64_t grid = std::max(blocks(updates), std::min(blocks(shape.elements), kCopyBlocks));
    call.launches.push_back(
        text.Launch(name, "CombineDirectly($0, $1, $2, $3)",
                    {{In(op, 0), "const Storage"}, {In(op, 1), "const Index"}, {In(op, 2), "const Storage"}},
                    {{Out(op, 0), "Storage"}}, grid, kCatalogBlock));
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
