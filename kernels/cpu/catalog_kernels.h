// The entries of the catalogue: one function a kernel, each in the file of its name. See catalog.h.
#ifndef SINTER_KERNELS_CPU_CATALOG_KERNELS_H_
#define SINTER_KERNELS_CPU_CATALOG_KERNELS_H_

#include <initializer_list>
#include <string>

#include "sinter/kernels/cpu/catalog.h"

namespace sinter::kernels {

CatalogKernel ScatterAddKernel();
CatalogKernel CumsumKernel();
CatalogKernel RandomPermutationKernel();

// For their checks. Each returns what is wrong, or "".
std::string CheckNumberType(int64_t dtype, const char* what);
std::string CheckIndexType(int64_t dtype, const char* what);
// The product of `sizes`, none negative, in `elements`.
std::string CheckSizes(std::initializer_list<int64_t> sizes, int64_t* elements);
std::string CheckOperand(const CatalogOperand& operand, const char* what, int64_t dtype, int64_t elements);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_CATALOG_KERNELS_H_
