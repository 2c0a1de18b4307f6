// Ops in all element types that the CUDA catalogue computes, with the kernels that they need.
#ifndef SINTER_TESTS_CODEGEN_CUDA_CATALOG_CASES_H_
#define SINTER_TESTS_CODEGEN_CUDA_CATALOG_CASES_H_

#include <string>
#include <vector>

namespace sinter::codegen {

inline constexpr char kFloats[] = "f64 f32 bf16 f16";
inline constexpr char kIntegers[] = "i64 i32 i8 ui8";
inline constexpr char kNumbers[] = "f64 f32 bf16 f16 i64 i32 i8 ui8";

// An op with each of the types `dtypes` for $T, and the names of the kernels that it lowers to.
struct Case {
  std::string name, dtypes, arguments, op;
  std::vector<std::string> kernels;
};

std::vector<Case> PoolCases();
std::vector<Case> CumsumCases();
std::vector<Case> ScatterCases();
std::vector<Case> SortCases();
std::vector<Case> PermutationCases();
std::vector<Case> MatmulCases();
std::vector<Case> ConvCases();

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_CUDA_CATALOG_CASES_H_
