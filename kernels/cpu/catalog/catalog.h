// The catalog of hand-written kernels that a plan calls by name (CatalogStep in plan.fbs).
//
//   const CatalogKernel* kernel = FindCatalogKernel("cumsum");
//   kernel->run({buffers, parameters, workspace, parallel});
//
// The runtime provides the workspace; the plan's Step.workspace_bytes is 0.
//
// Parameters are int64. Each kernel's source begins with its operands and parameters. Element types are the
// numbers of dtype.h (f64 0, f32 1, bf16 2, f16 3, i64 4, i32 5, i8 6, u8 7, i1 8). Buffers are dense and
// row-major.
//
// Every kernel gives the same bits for any number of threads, and allocates nothing, but for those of
// matrices (matrices.cc) and of Fourier transforms (fourier.cc), whose libraries allocate memory.
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
