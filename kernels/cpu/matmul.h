// Matrix products of every number type.
//
//   Matmul product = {.dtype = kF64, .batch = 1, .m = 64, .n = 32, .k = 100};
//   RunMatmul(product, {.a = a, .b = b, .result = result}, workspace, parallel);
//
// result = activation(scale op(a) op(b) + bias + addend), dense and row-major. 16-bit floats add up in f32; integers wrap. Each
// element of the result is summed in an order that the shape alone decides: the same bits for any number of threads, on every CPU
// that runs plans. Allocates nothing.
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
  int activation = 0;          // As in activation.h.
  bool result_is_f32 = false;  // Of 16-bit floats; so are bias and addend.
};

// Null: there is none. Integers have neither addend nor scale.
struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;    // [n].
  const void* addend = nullptr;  // Like the result, and may be the same memory.
  const void* scale = nullptr;   // One number of f32, of f64 for f64.
  void* result = nullptr;
};

size_t MatmulWorkspaceBytes(const Matmul& product, int threads);
// `workspace` starts at a multiple of 64.
void RunMatmul(const Matmul& product, const MatmulOperands& operands, void* workspace,
               const Parallel& parallel);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_H_
