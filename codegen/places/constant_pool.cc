#include "sinter/codegen/places/constant_pool.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter::codegen {

namespace {

constexpr size_t kConstantAlignment = 64;

}  // namespace

std::string RawBytes(mlir::DenseElementsAttr values) {
  std::string bytes;
  if (values.getElementType().isInteger(1)) {
    for (bool value : values.getValues<bool>()) bytes.push_back(value ? 1 : 0);
    return bytes;
  }
  llvm::ArrayRef<char> raw = values.getRawData();
  if (!values.isSplat()) return std::string(raw.begin(), raw.end());
  bytes.reserve(raw.size() * values.getNumElements());
  for (int64_t i = 0; i < values.getNumElements(); ++i) bytes.append(raw.begin(), raw.end());
  return bytes;
}

absl::StatusOr<uint64_t> ConstantPool::Add(plan_ir::ConstantOp constant) {
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!dense) {
    return absl::UnimplementedError(absl::StrCat(
        UserLine(constant.getLoc()),
        ": a plan stores dense values, and this constant's are sparse or kept elsewhere; write dense<...>"));
  }
  uint64_t size = constant.getBuffer().getType().getBytes();
  // Checks the type's size first: a splat is small until its elements are written out.
  if (size < kPlanMaxBytes) {
    std::string bytes = RawBytes(dense);
    if (auto found = offsets_.find(bytes); found != offsets_.end()) return found->second;
    if (bytes_.size() + bytes.size() < kPlanMaxBytes) {
      uint64_t offset = bytes_.size();
      bytes_ += bytes;
      bytes_.resize((bytes_.size() + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment, '\0');
      offsets_.emplace(std::move(bytes), offset);
      return offset;
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      UserLine(constant.getLoc()), ": a constant of ", size, " bytes, after ", bytes_.size(),
      " of others, does not fit a plan, which has less than 2 GiB; make it an input or a variable"));
}

}  // namespace sinter::codegen
