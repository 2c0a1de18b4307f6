// Matrix products of floats by the tiles of product_tile.h; matmul.h is what others call.
//
//   RunFloatMatmul(product, operands, workspace, parallel, BestProductKernels());
//
// An element of the result is the sum, in order, of chains of kChain products each (product_tile.h); where the result is small
// and k large, k is first cut into chunks, whose sums are added in order. The cuts depend on the shape alone.
#ifndef SINTER_KERNELS_CPU_FLOAT_MATMUL_H_
#define SINTER_KERNELS_CPU_FLOAT_MATMUL_H_

#include "sinter/kernels/cpu/matmul.h"
#include "sinter/kernels/cpu/product_tile.h"

namespace sinter::kernels {

size_t FloatMatmulWorkspaceBytes(const Matmul& product, int threads);
// `product` is of floats.
void RunFloatMatmul(const Matmul& product, const MatmulOperands& operands, void* workspace,
                    const Parallel& parallel, const ProductKernels& kernels);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_FLOAT_MATMUL_H_
