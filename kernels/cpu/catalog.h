// The catalogue of hand-written kernels that a plan calls by name (CatalogStep in runtime/plan/plan.fbs).
//
//   const CatalogKernel* kernel = FindCatalogKernel("cumsum");
//   kernel->run({buffers, parameters, workspace, parallel});
//
// Workspace comes from the runtime, not from the plan: Step.workspace_bytes is 0.
//
// Parameters are int64, in the order written here. Element types are numbers as in runtime/host/dtype.h (f64 0, f32 1,
// bf16 2, f16 3, i64 4, i32 5, i8 6, u8 7, i1 8). Buffers are dense and row-major.
//
//   scatter_add         inputs x[outer, size, inner], indices[count], updates[outer, count, inner]; outputs result
//     parameters        dtype, index_dtype, outer, size, inner, count
//                       result = x, then result[o, indices[i], j] += updates[o, i, j], in the order of i; an index
//                       outside [0, size) adds nothing. result may be x's memory. bf16 and f16 add up in f32.
//   cumsum              inputs x[outer, size, inner]; outputs result
//     parameters        dtype, outer, size, inner, reverse (0 or 1)
//                       result may be x's memory. Floats add up in f64.
//   random_permutation  inputs seed[], step[]; outputs result[count]
//     parameters        dtype (of the result, i32 or i64), seed_dtype, step_dtype (i32 or i64), count, stream
//                       0 to count - 1 sorted by (key, number); the key of number i is word 0 of Philox4x32-10 with
//                       counter (i low, i high, stream, step low) and key (seed low, seed high XOR step high), as in
//                       ir/scalar/philox.h.
//
// Every kernel gives the same bits whatever the number of threads. It allocates nothing.
#ifndef SINTER_KERNELS_CPU_CATALOG_H_
#define SINTER_KERNELS_CPU_CATALOG_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

// An operand as the plan declares it.
struct CatalogOperand {
  int dtype;
  int64_t elements;
};

struct CatalogCall {
  void* const* buffers;  // Inputs, then outputs.
  std::span<const int64_t> parameters;
  void* workspace;  // workspace_bytes(parameters), 64-byte aligned.
  Parallel parallel;
};

struct CatalogKernel {
  std::string_view name;
  int inputs;
  int outputs;
  std::span<const std::string_view> parameters;  // Their names.
  // What is wrong with the parameters and operands (inputs, then outputs), or "". Their numbers are right already.
  std::string (*check)(std::span<const int64_t> parameters, std::span<const CatalogOperand> operands);
  // For parameters that check accepts.
  int64_t (*workspace_bytes)(std::span<const int64_t> parameters);
  void (*run)(const CatalogCall& call);
};

// Null when there is none of this name.
const CatalogKernel* FindCatalogKernel(std::string_view name);
std::span<const CatalogKernel> CatalogKernels();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_CATALOG_H_
