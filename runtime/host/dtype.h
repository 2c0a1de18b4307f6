// Element types with their sizes and names, shared by the compiler, the plan and the runtime.
//
//   SizeOf(DType::kBf16)          // 2
//   DTypeName(DType::kI32)        // "i32"
//   ParseDType("f32")             // DType::kF32; std::nullopt for an unknown name
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
};

inline constexpr int kNumDTypes = 9;

// Bytes of one element.
constexpr int64_t SizeOf(DType dtype) {
  constexpr int64_t kSizes[kNumDTypes] = {8, 4, 2, 2, 8, 4, 1, 1, 1};
  return kSizes[static_cast<int>(dtype)];
}

constexpr std::string_view DTypeName(DType dtype) {
  constexpr std::string_view kNames[kNumDTypes] = {"f64", "f32", "bf16", "f16", "i64",
                                                   "i32", "i8",  "u8",   "i1"};
  return kNames[static_cast<int>(dtype)];
}

constexpr bool IsFloat(DType dtype) { return static_cast<int>(dtype) <= static_cast<int>(DType::kF16); }

constexpr std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (DTypeName(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_DTYPE_H_
