#include "sinter/codegen/constant_pool.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace sinter::codegen {

namespace {

constexpr size_t kAlignment = 64;

// Row-major, an i1 element in a byte.
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

}  // namespace

absl::StatusOr<uint64_t> ConstantPool::Add(mlir::ElementsAttr values) {
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(values);
  if (!dense) return absl::UnimplementedError("a constant's values must be dense, in the module itself");
  std::string bytes = RawBytes(dense);
  auto [found, is_new] = offsets_.try_emplace(bytes, bytes_.size());
  if (is_new) {
    bytes_ += bytes;
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  }
  return found->second;
}

}  // namespace sinter::codegen
