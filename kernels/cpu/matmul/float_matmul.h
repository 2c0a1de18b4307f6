// Matmuls of floats by the tiles of matmul_tile.h; callers use matmul.h.
//
//   RunFloatMatmul(matmul, operands, workspace, parallel, BestMatmulKernels());
//
// An element of the result is the sum, in order, of chains of kChain terms each (matmul_tile.h). If the
// result is small and k is large, k is first split into chunks, whose sums are added in order. The splits
// depend only on the shape.
#ifndef SINTER_KERNELS_CPU_MATMUL_FLOAT_MATMUL_H_
#define SINTER_KERNELS_CPU_MATMUL_FLOAT_MATMUL_H_

#include "sinter/kernels/cpu/matmul/matmul.h"
#include "sinter/kernels/cpu/matmul/matmul_tile.h"

namespace sinter::kernels {

size_t FloatMatmulWorkspaceBytes(const Matmul& matmul, int threads);
// `matmul` has a float type.
void RunFloatMatmul(const Matmul& matmul, const MatmulOperands& operands, void* workspace,
                    const Parallel& parallel, const MatmulKernels& kernels);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_FLOAT_MATMUL_H_
