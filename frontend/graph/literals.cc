#include "sinter/frontend/graph/literals.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sinter {

namespace {

// Returns the name as programs write it: "F32".
std::string Name(DType dtype) { return absl::AsciiStrToUpper(std::string(DTypeName(dtype))); }

mlir::TypedAttr Attribute(const Number& number, mlir::Type element) {
  auto float_type = llvm::dyn_cast<mlir::FloatType>(element);
  if (!float_type) {
    const int64_t whole = number.is_integer() ? number.integer() : static_cast<int64_t>(number.real());
    const unsigned bits = element.getIntOrFloatBitWidth();
    return mlir::IntegerAttr::get(element, llvm::APInt(64, static_cast<uint64_t>(whole)).trunc(bits));
  }
  if (!number.is_integer()) return mlir::FloatAttr::get(float_type, number.real());
  llvm::APFloat value(float_type.getFloatSemantics());
  value.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(number.integer())), /*IsSigned=*/true,
                         llvm::APFloat::rmNearestTiesToEven);
  return mlir::FloatAttr::get(float_type, value);
}

// Orders the element types for casts: a type holds more of the values of the types before it.
int Rank(DType dtype) {
  switch (dtype) {
    case DType::kI1:
      return 0;
    case DType::kI8:
      return 1;
    case DType::kU8:
      return 2;
    case DType::kI32:
      return 3;
    case DType::kI64:
      return 4;
    case DType::kF16:
      return 5;
    case DType::kBf16:
      return 6;
    case DType::kF32:
      return 7;
    case DType::kF64:
      return 8;
  }
  return 8;
}

}  // namespace

bool CheckLiteral(Call& call, const Number& number, DType dtype) {
  const absl::Status fits = CheckNumber(number, dtype);
  if (fits.ok()) return true;
  std::string fix = "Cast(x, F32) first, or write a number of that type";
  if (IsFloat(dtype)) fix = dtype == DType::kF32 ? "Cast(x, F64) first" : "Cast(x, F32) first";
  if (dtype == DType::kI1) fix = "i1 holds 0 and 1: Cast(x, F32) first";
  call.Fail(
      absl::StrCat("is given a number that its element type does not hold: ", fits.message(), "; ", fix));
  return false;
}

std::optional<ir::Expr> Literal(Call& call, const Number& number, DType dtype, const Shape& shape) {
  if (!CheckLiteral(call, number, dtype)) return std::nullopt;
  auto value = mlir::DenseElementsAttr::get(call.type(dtype, shape), Attribute(number, call.element(dtype)));
  return call.b().wrap(call.b().builder().create<ir::ConstantOp>(call.loc(), value));
}

std::string MixedTypes(DType a, DType b) {
  const auto [from, to] = Rank(a) < Rank(b) ? std::pair(a, b) : std::pair(b, a);
  // f16 has too little range for bf16, and bf16 too little precision for f16.
  const bool both_half = from == DType::kF16 && to == DType::kBf16;
  return absl::StrCat("mixes element types; convert the ", std::string(DTypeName(from)),
                      both_half ? " and the bf16: Cast(x, " : ": Cast(x, ", both_half ? "F32" : Name(to),
                      ")");
}

}  // namespace sinter
