// Element types with their sizes and names, shared by the compiler, the plan and the runtime.
//
//   SizeOf(DType::kBf16)          // 2
//   DTypeName(DType::kI32)        // "i32"
//   ParseDType("f32")             // DType::kF32; std::nullopt for an unknown name
//   RecordOf(DType::kU16).numpy   // "uint16"
//
// Each type is one record of kDTypes. Its C++ type is in runtime/host/element_types.h, and its type in
// programs in ir/dialect/element_types.h; everything else is derived from these three.
//
// Values are part of the plan format (runtime/plan/plan.fbs): never renumber them.
#ifndef SINTER_RUNTIME_HOST_DTYPE_H_
#define SINTER_RUNTIME_HOST_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter {

enum class DType : uint8_t {
  kF64 = 0,
  kF32 = 1,
  kBf16 = 2,
  kF16 = 3,
  kI64 = 4,
  kI32 = 5,
  kI8 = 6,
  kU8 = 7,
  kI1 = 8,  // One byte per element: 0 or 1.
  kI16 = 9,
  kU16 = 10,
  kU32 = 11,
  kU64 = 12,
  kF8E4M3 = 13,
  kF8E5M2 = 14,
};

// Operations that the elements have. kStored: floats without arithmetic, which are moved and cast.
enum class DTypeFamily : uint8_t { kFloat, kSigned, kUnsigned, kBool, kStored };

struct DTypeRecord {
  std::string_view name;
  std::string_view numpy;        // The name in NumPy, or in ml_dtypes if NumPy has no such type.
  std::string_view safetensors;  // The name in safetensors files.
  std::string_view npy;          // The type in the header of .npy files.
  int bytes;
  DTypeFamily family;
  int cast_rank;  // A type holds more of the values of the types with lower ranks.
};

// By the value of DType.
inline constexpr DTypeRecord kDTypes[] = {
    {"f64", "float64", "F64", "'<f8'", 8, DTypeFamily::kFloat, 14},
    {"f32", "float32", "F32", "'<f4'", 4, DTypeFamily::kFloat, 13},
    {"bf16", "bfloat16", "BF16", "[('bfloat16', '<u2')]", 2, DTypeFamily::kFloat, 12},
    {"f16", "float16", "F16", "'<f2'", 2, DTypeFamily::kFloat, 11},
    {"i64", "int64", "I64", "'<i8'", 8, DTypeFamily::kSigned, 7},
    {"i32", "int32", "I32", "'<i4'", 4, DTypeFamily::kSigned, 5},
    {"i8", "int8", "I8", "'|i1'", 1, DTypeFamily::kSigned, 1},
    {"u8", "uint8", "U8", "'|u1'", 1, DTypeFamily::kUnsigned, 2},
    {"i1", "bool", "BOOL", "'|b1'", 1, DTypeFamily::kBool, 0},
    {"i16", "int16", "I16", "'<i2'", 2, DTypeFamily::kSigned, 3},
    {"u16", "uint16", "U16", "'<u2'", 2, DTypeFamily::kUnsigned, 4},
    {"u32", "uint32", "U32", "'<u4'", 4, DTypeFamily::kUnsigned, 6},
    {"u64", "uint64", "U64", "'<u8'", 8, DTypeFamily::kUnsigned, 8},
    {"f8e4m3", "float8_e4m3fn", "F8_E4M3", "[('float8_e4m3fn', '|u1')]", 1, DTypeFamily::kStored, 9},
    {"f8e5m2", "float8_e5m2", "F8_E5M2", "[('float8_e5m2', '|u1')]", 1, DTypeFamily::kStored, 10},
};

inline constexpr int kNumDTypes = sizeof(kDTypes) / sizeof(kDTypes[0]);

constexpr const DTypeRecord& RecordOf(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }

// Bytes of one element.
constexpr int64_t SizeOf(DType dtype) { return RecordOf(dtype).bytes; }
constexpr std::string_view DTypeName(DType dtype) { return RecordOf(dtype).name; }

// True for the floats that have arithmetic.
constexpr bool IsFloat(DType dtype) { return RecordOf(dtype).family == DTypeFamily::kFloat; }
constexpr bool IsUnsigned(DType dtype) { return RecordOf(dtype).family == DTypeFamily::kUnsigned; }
constexpr bool IsInteger(DType dtype) {
  return IsUnsigned(dtype) || RecordOf(dtype).family == DTypeFamily::kSigned;
}
// True for the floats of 8 bits: they are stored, moved and cast, and have no arithmetic.
constexpr bool IsStored(DType dtype) { return RecordOf(dtype).family == DTypeFamily::kStored; }
// True for the types that have arithmetic.
constexpr bool IsNumber(DType dtype) { return IsFloat(dtype) || IsInteger(dtype); }

constexpr std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_DTYPE_H_
