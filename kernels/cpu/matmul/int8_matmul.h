// Products of i8 with a result of i32; callers use matmul.h.
//
//   RunInt8Matmul(matmul, operands, workspace, parallel, BestInt8Kernels());
//
// Sums are exact modulo 2^32, so the bits depend on neither the threads nor the kernels.
#ifndef SINTER_KERNELS_CPU_MATMUL_INT8_MATMUL_H_
#define SINTER_KERNELS_CPU_MATMUL_INT8_MATMUL_H_

#include "sinter/kernels/cpu/matmul/int8_tile.h"
#include "sinter/kernels/cpu/matmul/matmul.h"

namespace sinter::kernels {

// True for one large product of i8 with a result of i32. The general integer matmul does the others.
bool IsInt8Matmul(const Matmul& matmul);
// For matmuls that IsInt8Matmul accepts.
size_t Int8MatmulWorkspaceBytes(const Matmul& matmul, int threads, const Int8Kernels& kernels);
// `workspace` is aligned to 64 bytes.
void RunInt8Matmul(const Matmul& matmul, const MatmulOperands& operands, void* workspace,
                   const Parallel& parallel, const Int8Kernels& kernels);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_INT8_MATMUL_H_
