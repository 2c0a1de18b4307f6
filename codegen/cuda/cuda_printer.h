// Prints functions of func, scf, arith, math and LLVM's memory ops as CUDA C++.
//
//   std::string text = PrintCudaFunction(function, "body_0");
//   // __device__ __forceinline__ void body_0(const float* __restrict__ p0, float* __restrict__ p1, ...) { ... }
//
// Integers are printed as unsigned types, because arith's wrap around; what needs the sign casts. `index` is `idx`, which a
// kernel's source defines as int or long long. i1 is bool, bf16 and f16 are their bits. Vectors are LLVM arrays, printed as
// Vec<T, n> of kernels/cuda/prelude.cuh, which also has what is called here by a name that begins with sn_. Calls are
// printed under their own names. An alloca in address space 3 is an array that the block shares.
#ifndef SINTER_CODEGEN_CUDA_CUDA_PRINTER_H_
#define SINTER_CODEGEN_CUDA_CUDA_PRINTER_H_

#include <string>
#include <string_view>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::codegen {

// Attribute of scf.for: how often its body is unrolled.
inline constexpr char kUnrollAttr[] = "sinter.unroll";
// The address space of memory that a block shares.
inline constexpr unsigned kSharedSpace = 3;

// The text does not depend on names, so that equal functions have equal text under equal names.
std::string PrintCudaFunction(mlir::func::FuncOp function, std::string_view name);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_PRINTER_H_
