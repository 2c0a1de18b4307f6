// The catalog of hand-written kernels that a plan calls by name (CatalogStep in plan.fbs).
//
//   const CatalogKernel* kernel = FindCatalogKernel("cumsum");
//   kernel->run({buffers, parameters, workspace, parallel});
//
// The runtime provides the workspace; the plan's Step.workspace_bytes is 0.
//
// Parameters are int64, in the order below. Element types are the numbers of dtype.h (f64 0, f32 1, bf16 2,
// f16 3, i64 4, i32 5, i8 6, u8 7, i1 8). Buffers are dense and row-major.
//
//   scatter_add         inputs x[outer, size, inner], indices[count], updates[outer, count, inner];
//                       outputs result
//     parameters        dtype, index_dtype, outer, size, inner, count
//                       result = x, then result[o, indices[i], j] += updates[o, i, j], in the order of i.
//                       Indices outside [0, size) are ignored. result may alias x. bf16 and f16 are summed
//                       in f32.
//   cumsum              inputs x[outer, size, inner]; outputs result
//     parameters        dtype, outer, size, inner, reverse (0 or 1)
//                       result may alias x. Floats are summed in f64.
//   random_permutation  inputs seed[], step[]; outputs result[count]
//     parameters        dtype (of the result, i32 or i64), seed_dtype, step_dtype (i32 or i64), count, stream
//                       Sorts 0 to count - 1 by (key, number). The key of number i is word 0 of Philox4x32-10
//                       with counter (i low, i high, stream, step low) and key (seed low, seed high XOR step
//                       high), as in ir/scalar/philox.h.
//
// Every kernel gives the same bits for any number of threads, and allocates nothing.
#ifndef SINTER_KERNELS_CPU_CATALOG_CATALOG_H_
#define SINTER_KERNELS_CPU_CATALOG_CATALOG_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

// An operand as declared in the plan.
struct CatalogOperand {
  int dtype;
  int64_t elements;
};

struct CatalogCall {
  void* const* buffers;  // Inputs, then outputs.
  std::span<const int64_t> parameters;
  void* workspace;  // workspace_bytes(parameters) bytes, aligned to 64 bytes.
  Parallel parallel;
};

struct CatalogKernel {
  std::string_view name;
  int inputs;
  int outputs;
  std::span<const std::string_view> parameters;  // Names of the parameters.
  // Returns an error text for invalid parameters or operands (inputs, then outputs), or "". The number of
  // parameters and operands is already checked.
  std::string (*check)(std::span<const int64_t> parameters, std::span<const CatalogOperand> operands);
  // Returns the bytes of workspace for parameters that `check` accepts.
  int64_t (*workspace_bytes)(std::span<const int64_t> parameters);
  void (*run)(const CatalogCall& call);
};

// Returns the kernel; null if no kernel has this name.
const CatalogKernel* FindCatalogKernel(std::string_view name);
std::span<const CatalogKernel> CatalogKernels();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_CATALOG_CATALOG_H_
