#include "sinter/codegen/cuda/catalog/catalog_sort.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr int64_t kDigitBits = 8, kDigits = 256;
// Items of a thread: the most, and the least if there are several tiles.
constexpr int64_t kItems = 16, kLeastItems = 4;
constexpr int64_t kManyTiles = 256;
constexpr int64_t kLargeBlock = ir::kPlannedGpu.block_threads;

class SortWriter {
 public:
  SortWriter(const CatalogText& text, const RadixSort& sort, mlir::MLIRContext* context,
             CatalogWorkspace& workspace, CudaCatalogCall& call)
      : text_(text),
        sort_(sort),
        word_(mlir::IntegerType::get(context, 32)),
        workspace_(workspace),
        call_(call),
        passes_(std::max<int64_t>(1, llvm::divideCeilSigned(sort.key_bits, kDigitBits))) {}

  void Write() {
    const bool alone = sort_.count <= kLargeBlock * kItems;
    block_ = alone && sort_.count > kCatalogBlock * kItems ? kLargeBlock : kCatalogBlock;
    // A single tile takes the fewest items that hold all numbers. Several tiles keep a large GPU busy; a
    // thread gets more items only if there would be more tiles than that.
    const int64_t threads = alone ? block_ : kCatalogBlock * kManyTiles;
    const int64_t wanted = llvm::bit_ceil<uint64_t>(llvm::divideCeilSigned(sort_.count, threads));
    const int64_t items = std::clamp(wanted, alone ? 1 : kLeastItems, kItems);
    tiles_ = llvm::divideCeilSigned(sort_.count, block_ * items);
    text_.Number("kSorted", sort_.count).Number("kBlock", block_).Number("kItems", items);
    text_.Number("kTiles", tiles_);
    text_.Append(kernels::CudaText("scan")).Append(kernels::CudaText("radix_sort"));
    if (alone) {
      WriteAlone();
    } else {
      WritePasses();
    }
  }

 private:
  using Arguments = std::vector<CatalogArgument>;

  CatalogArgument Words(const Slot& slot) { return {slot, "u32"}; }
  CatalogArgument ReadWords(const Slot& slot) { return {slot, "const u32"}; }
  Slot AddWords(int64_t count) { return workspace_.Add(count, word_); }
  std::string KeepsKeys() const { return sort_.sorted_keys ? "true" : "false"; }

  // Returns "$3, $4", or a null pointer and "$3" if the keys are not needed.
  static std::string Targets(size_t first, bool keeps_keys) {
    return keeps_keys ? absl::StrCat("$", first, ", $", first + 1) : absl::StrCat("(u32*)nullptr, $", first);
  }

  void WriteAlone() {
    Arguments outputs;
    std::string between = "nullptr, nullptr, ";
    size_t next = sort_.sources.size();
    if (passes_ > 1) {
      outputs = {Words(AddWords(2 * sort_.count)), Words(AddWords(2 * sort_.count))};
      between = absl::StrCat("$", next, ", $", next + 1, ", ");
      next += 2;
    }
    if (sort_.sorted_keys) outputs.push_back(*sort_.sorted_keys);
    outputs.push_back(sort_.numbers);
    std::string code =
        absl::StrCat("SortAlone<", passes_, ", ", KeepsKeys(), ">(", sort_.keys, ", ", sort_.numbers_from,
                     ", ", between, Targets(next, sort_.sorted_keys.has_value()), ")");
    call_.launches.push_back(text_.Launch(sort_.name + "_sort", code, sort_.sources, outputs, 1, block_));
  }

  void WritePasses() {
    const Slot counts = AddWords(kDigits * tiles_), totals = AddWords(kDigits);
    // Passes alternate: each reads the buffers that the previous one wrote.
    Slot keys[2], numbers[2];
    for (int64_t i = 0; i < std::min<int64_t>(2, passes_ - 1); ++i) {
      keys[i] = AddWords(sort_.count), numbers[i] = AddWords(sort_.count);
    }
    for (int64_t pass = 0; pass < passes_; ++pass) {
      const bool is_first = pass == 0, is_last = pass == passes_ - 1;
      const Slot from[] = {keys[(pass + 1) % 2], numbers[(pass + 1) % 2]};
      const std::string shift = absl::StrCat(pass * kDigitBits);
      const std::string name = absl::StrCat(sort_.name, "_");

      Arguments counted = is_first ? sort_.sources : Arguments{ReadWords(from[0])};
      std::string key_code = is_first ? sort_.keys : "StoredWords{$0}";
      call_.launches.push_back(text_.Launch(
          name + "count", absl::StrCat("CountDigits(", key_code, ", ", shift, ", $", counted.size(), ")"),
          counted, {Words(counts)}, tiles_, block_));
      call_.launches.push_back(text_.Launch(name + "place", "PlaceTiles($0, $1)", {},
                                            {Words(counts), Words(totals)}, kDigits, block_));

      Arguments moved = counted, targets;
      if (!is_first) moved.push_back(ReadWords(from[1]));
      const std::string number_code = is_first ? sort_.numbers_from : "StoredWords{$1}";
      const size_t next = moved.size();
      moved.push_back(ReadWords(counts)), moved.push_back(ReadWords(totals));
      const bool keeps_keys = !is_last || sort_.sorted_keys;
      if (!is_last) {
        targets = {Words(keys[pass % 2]), Words(numbers[pass % 2])};
      } else {
        if (sort_.sorted_keys) targets.push_back(*sort_.sorted_keys);
        targets.push_back(sort_.numbers);
      }
      std::string code =
          absl::StrCat("MoveTile<", keeps_keys ? "true" : "false", ">(", key_code, ", ", number_code, ", ",
                       shift, ", $", next, ", $", next + 1, ", ", Targets(next + 2, keeps_keys), ")");
      call_.launches.push_back(text_.Launch(name + "move", code, moved, targets, tiles_, block_));
    }
  }

  CatalogText text_;
  const RadixSort& sort_;
  mlir::Type word_;
  CatalogWorkspace& workspace_;
  CudaCatalogCall& call_;
  int64_t passes_, block_ = 0, tiles_ = 0;
};

absl::StatusOr<CudaCatalogCall> LowerRandomPermutation(mlir::Operation* op) {
  auto permutation = llvm::cast<ir::RandomPermutationOp>(op);
  mlir::RankedTensorType type = ir::TypeOf(permutation.getResult());
  CudaCatalogCall call;
  if (type.getNumElements() == 0) return call;
  if (type.getNumElements() > kMostSorted) {
    return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()),
                                                 ": a random_permutation on a GPU has at most ", kMostSorted,
                                                 " numbers, not ", type.getNumElements(), "; permute parts"));
  }
  CatalogText text(/*index32=*/true);
  text.Append(
      absl::StrCat("constexpr u32 kStream = ", static_cast<uint32_t>(permutation.getStream()), "u;\n"));
  text.Append(kernels::CudaText("random_permutation"));
  auto read = [&](int operand) {
    return CatalogArgument{
        In(op, operand),
        absl::StrCat("const ", ElementType(ir::TypeOf(op->getOperand(operand)).getElementType()))};
  };
  RadixSort sort = {.name = "random_permutation",
                    .count = type.getNumElements(),
                    .keys = "PhiloxOf($0, $1)",
                    .sources = {read(0), read(1)},
                    .sorted_keys = std::nullopt,
                    .numbers = {Out(op, 0), ElementType(type.getElementType())}};
  CatalogWorkspace workspace;
  AppendSort(text, sort, op->getContext(), workspace, call);
  call.workspace_bytes = workspace.bytes();
  call.flops = type.getNumElements();
  return call;
}

}  // namespace

void AppendSort(const CatalogText& text, const RadixSort& sort, mlir::MLIRContext* context,
                CatalogWorkspace& workspace, CudaCatalogCall& call) {
  SortWriter(text, sort, context, workspace, call).Write();
}

void AddPermutationKernels(CudaCatalog& catalog) {
  catalog.Add<ir::RandomPermutationOp>(LowerRandomPermutation);
}

}  // namespace sinter::codegen
