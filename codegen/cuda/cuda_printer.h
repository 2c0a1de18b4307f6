// Prints functions of the dialects func, scf, arith and math and LLVM's memory ops as CUDA C++.
//
//   std::string text = PrintCudaFunction(function, "body_0");
//   // __device__ __forceinline__ void body_0(char* __restrict__ p0, char* __restrict__ p1, ...) { ... }
//
// Integers are printed as unsigned types, because arith's integers wrap around; ops that need the sign add
// casts. `index` is `idx`, which a kernel's source defines as int or long long. i1 is bool; bf16 and f16 are
// their bits. Vectors are LLVM arrays, printed as Vec<T, n>. Vec and the functions with names that begin with
// sn_ are in kernels/cuda/prelude.cuh. Calls are printed under their own names. An alloca in address space 3
// is an array in shared memory.
#ifndef SINTER_CODEGEN_CUDA_CUDA_PRINTER_H_
#define SINTER_CODEGEN_CUDA_CUDA_PRINTER_H_

#include <string>
#include <string_view>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::codegen {

// Attribute of scf.for: the unroll factor of its body.
inline constexpr char kUnrollAttr[] = "sinter.unroll";
// The address space of shared memory.
inline constexpr unsigned kSharedSpace = 3;

// Returns text that does not depend on MLIR's names: equal functions printed under one name have equal text.
std::string PrintCudaFunction(mlir::func::FuncOp function, std::string_view name);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_PRINTER_H_
