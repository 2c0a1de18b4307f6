// Matmuls of every number type.
//
//   Matmul matmul = {.dtype = kF64, .batch = 1, .m = 64, .n = 32, .k = 100};
//   RunMatmul(matmul, {.a = a, .b = b, .result = result}, workspace, parallel);
//
// result = activation(scale op(a) op(b) + bias + addend), dense and row-major. 16-bit floats are summed in
// f32; integers wrap, in the type of the result. The order of each element's sum depends only on the shape:
// the bits are the same for any number of threads and on every CPU that runs plans. Nothing is allocated.
#ifndef SINTER_KERNELS_CPU_MATMUL_MATMUL_H_
#define SINTER_KERNELS_CPU_MATMUL_MATMUL_H_

#include <cstddef>
#include <cstdint>

#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

struct Matmul {
  int dtype = 0;  // A number of element_types.h, except i1.
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int activation = 0;          // A number of activation.h.
  bool result_is_f32 = false;  // For 16-bit floats: result, bias and addend are f32.
  bool result_is_i32 = false;  // For i8: result and bias are i32.
};

// Null pointers for absent operands. Integers have neither addend nor scale.
struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;    // [n].
  const void* addend = nullptr;  // Shaped like the result; may alias it.
  const void* scale = nullptr;   // One f32 number, or f64 if the matmul is f64.
  void* result = nullptr;
};

size_t MatmulWorkspaceBytes(const Matmul& matmul, int threads);
// `workspace` is aligned to 64 bytes.
void RunMatmul(const Matmul& matmul, const MatmulOperands& operands, void* workspace,
               const Parallel& parallel);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_MATMUL_MATMUL_H_
