#include "sinter/ir/dialect/element_types.h"

#include "llvm/Support/ErrorHandling.h"

namespace sinter::ir {

mlir::Type ElementType(DType dtype, mlir::MLIRContext* context) {
  switch (dtype) {
    case DType::kF64:
      return mlir::Float64Type::get(context);
    case DType::kF32:
      return mlir::Float32Type::get(context);
    case DType::kBf16:
      return mlir::BFloat16Type::get(context);
    case DType::kF16:
      return mlir::Float16Type::get(context);
    case DType::kF8E4M3:
      return mlir::Float8E4M3FNType::get(context);
    case DType::kF8E5M2:
      return mlir::Float8E5M2Type::get(context);
    case DType::kI1:
      return mlir::IntegerType::get(context, 1);
    default:
      break;
  }
  const auto sign = IsUnsigned(dtype) ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless;
  return mlir::IntegerType::get(context, static_cast<unsigned>(8 * SizeOf(dtype)), sign);
}

std::optional<DType> FindDType(mlir::Type element) {
  for (int i = 0; element && i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (ElementType(dtype, element.getContext()) == element) return dtype;
  }
  return std::nullopt;
}

DType DTypeOf(mlir::Type element) {
  const std::optional<DType> dtype = FindDType(element);
  if (!dtype) llvm::report_fatal_error("an element type outside the dialect");
  return *dtype;
}

}  // namespace sinter::ir
