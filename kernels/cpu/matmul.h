// Matrix products of every number type, for those that oneDNN has no quick code for: f64, f16, integers.
//
//   Matmul product = {.dtype = kF64, .batch = 1, .m = 64, .n = 32, .k = 100};
//   RunMatmul(product, a, b, /*bias=*/nullptr, result, workspace, parallel);
//
// result = activation(op(a) op(b) + bias), dense and row-major. 16-bit floats add up in f32; integers wrap. Each element
// of the result is summed by one thread in a fixed order: the same bits for any number of threads. Allocates nothing.
#ifndef SINTER_KERNELS_CPU_MATMUL_H_
#define SINTER_KERNELS_CPU_MATMUL_H_

#include <cstddef>
#include <cstdint>

#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

struct Matmul {
  int dtype = 0;  // As in element_types.h; not i1.
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int activation = 0;  // As in activation.h.
};

size_t MatmulWorkspaceBytes(const Matmul& product, int threads);
// `bias` [n] may be null. `workspace` starts at a multiple of 64.
void RunMatmul(const Matmul& product, const void* a, const void* b, const void* bias, void* result,
               void* workspace, const Parallel& parallel);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_H_
