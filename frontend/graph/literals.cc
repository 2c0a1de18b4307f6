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
    const unsigned bits = element.getIntOrFloatBitWidth();
    return mlir::IntegerAttr::get(element, llvm::APInt(64, number.WholeBits().value_or(0)).trunc(bits));
  }
  if (!number.is_integer()) return mlir::FloatAttr::get(float_type, number.real());
  llvm::APFloat value(float_type.getFloatSemantics());
  value.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(number.integer())), /*IsSigned=*/true,
                         llvm::APFloat::rmNearestTiesToEven);
  return mlir::FloatAttr::get(float_type, value);
}

}  // namespace

bool CheckLiteral(Call& call, const Number& number, DType dtype) {
  const absl::Status fits = CheckNumber(number, dtype);
  if (fits.ok()) return true;
  std::string fix = "Cast(x, F32) first, or write a number of that type";
  if (IsFloat(dtype)) fix = dtype == DType::kF32 ? "Cast(x, F64) first" : "Cast(x, F32) first";
  if (IsStored(dtype)) fix = "Cast(x, F32) first";
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

std::string NotNumbers(DType dtype) {
  return absl::StrCat("takes numbers; Cast(x, ", IsStored(dtype) ? "F32" : "I32", ") first");
}

std::string MixedTypes(DType a, DType b) {
  const bool in_order = RecordOf(a).cast_rank < RecordOf(b).cast_rank;
  const auto [from, to] = in_order ? std::pair(a, b) : std::pair(b, a);
  // A third type holds more of both: f16 has too little range for bf16, and bf16 too little precision for
  // f16; 8-bit floats have no arithmetic.
  const bool both_half = from == DType::kF16 && to == DType::kBf16, both = both_half || IsStored(to);
  const std::string other = both ? absl::StrCat(" and the ", std::string(DTypeName(to))) : "";
  return absl::StrCat("mixes element types; convert the ", std::string(DTypeName(from)), other, ": Cast(x, ",
                      both ? "F32" : Name(to), ")");
}

}  // namespace sinter
