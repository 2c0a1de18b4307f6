// Sorts rows: kernels/cuda/sort.cuh.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/bit.h"
#include "sinter/codegen/cuda/catalog/catalog_sort.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// The longest rows that a block sorts in shared memory: 40 KiB of keys of 64 bits and positions.
constexpr int64_t kShortRow = 4096;
constexpr int64_t kWordBits = 32;

struct SortShape {
  int64_t elements, size, rows, words;
  mlir::Type element;

  explicit SortShape(ir::SortOp op)
      : elements(op.getX().getType().getNumElements()),
        size(op.getX().getType().getShape().back()),
        rows(size == 0 ? 0 : elements / size),
        words(ir::ElementBytes(op.getX().getType().getElementType()) == 8 ? 2 : 1),
        element(op.getX().getType().getElementType()) {}
};

CatalogText TextOf(ir::SortOp op, const SortShape& shape) {
  CatalogText text(FitsIndex32(shape.elements));
  text.Type("E", ElementName(shape.element)).Number("kSize", shape.size);
  text.Number("kDescending", op.getDescending() ? 1 : 0).Number("kElements", shape.elements);
  const int64_t padded = static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(shape.size)));
  text.Number("kPadded", std::clamp<int64_t>(padded, 2, kShortRow));
  text.Number("kThreads", std::clamp<int64_t>(padded / 2, kWarp, kCatalogBlock));
  return text.Append(kernels::CudaText("sort"));
}

void SortShortRows(mlir::Operation* op, const SortShape& shape, const CatalogText& text,
                   CudaCatalogCall& call) {
  const int64_t padded = static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(shape.size)));
  call.launches.push_back(text.Launch("sort_row", "SortRow($0, $1, $2)", {{In(op, 0), "const Storage"}},
                                      {{Out(op, 0), "Storage"}, {Out(op, 1), "i32"}}, shape.rows,
                                      std::clamp<int64_t>(padded / 2, kWarp, kCatalogBlock)));
}

// Sorts the numbers of all elements by one word after another, the least significant first.
class LongRows {
 public:
  LongRows(mlir::Operation* op, const SortShape& shape, const CatalogText& text, CudaCatalogCall& call)
      : op_(op), shape_(shape), text_(text), call_(call), x_{In(op, 0), "const Storage"} {}

  void Write() {
    mlir::Type word = mlir::IntegerType::get(op_->getContext(), kWordBits);
    for (Slot& numbers : numbers_) numbers = workspace_.Add(shape_.elements, word);
    for (int64_t w = 0; w < shape_.words; ++w) {
      SortBy(absl::StrCat("ElementWords<", w, ">{$0, "), {x_}, kWordBits);
    }
    if (shape_.rows > 1) SortBy("RowWords{", {}, llvm::bit_width(static_cast<uint64_t>(shape_.rows - 1)));
    call_.launches.push_back(
        text_.Launch("sort_take", "TakeSorted($0, $1, $2, $3)", {x_, {numbers_[turn_], "const u32"}},
                     {{Out(op_, 0), "Storage"}, {Out(op_, 1), "i32"}},
                     llvm::divideCeilSigned(shape_.elements, kCatalogBlock), kCatalogBlock));
    call_.workspace_bytes = workspace_.bytes();
  }

 private:
  void SortBy(const std::string& keys, std::vector<CatalogArgument> sources, int64_t key_bits) {
    const std::string numbers = absl::StrCat("$", sources.size());
    if (is_begun_) sources.push_back({numbers_[turn_], "const u32"});
    if (is_begun_) turn_ = 1 - turn_;
    RadixSort sort = {.name = "sort",
                      .count = shape_.elements,
                      .key_bits = key_bits,
                      .keys = absl::StrCat(keys, is_begun_ ? numbers : "nullptr", "}"),
                      .numbers_from = is_begun_ ? absl::StrCat("StoredWords{", numbers, "}") : "Positions{}",
                      .sources = std::move(sources),
                      .sorted_keys = std::nullopt,
                      .numbers = {numbers_[turn_], "u32"}};
    AppendSort(text_, sort, op_->getContext(), workspace_, call_);
    is_begun_ = true;
  }

  mlir::Operation* op_;
  const SortShape& shape_;
  const CatalogText& text_;
  CudaCatalogCall& call_;
  CatalogArgument x_;
  CatalogWorkspace workspace_;
  Slot numbers_[2];
  int turn_ = 0;
  bool is_begun_ = false;
};

absl::StatusOr<CudaCatalogCall> LowerSort(mlir::Operation* operation) {
  auto op = llvm::cast<ir::SortOp>(operation);
  SortShape shape(op);
  CudaCatalogCall call;
  if (shape.elements == 0) return call;
  const CatalogText text = TextOf(op, shape);
  if (shape.size <= kShortRow) {
    SortShortRows(op, shape, text, call);
  } else if (shape.elements <= kMostSorted) {
    LongRows(op, shape, text, call).Write();
  } else {
    return absl::UnimplementedError(absl::StrCat(
        UserLine(op.getLoc()), ": a sort on a GPU of rows of more than ", kShortRow, " elements has at most ",
        kMostSorted, " elements, not ", shape.elements, "; sort parts of the rows"));
  }
  call.flops = shape.elements;
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

}  // namespace

void AddSortKernels(CudaCatalog& catalog) { catalog.Add<ir::SortOp>(LowerSort); }

}  // namespace sinter::codegen
