// The entries of the catalog (catalog.h): one function for each kernel, in the source file of its name.
#ifndef SINTER_KERNELS_CPU_CATALOG_CATALOG_KERNELS_H_
#define SINTER_KERNELS_CPU_CATALOG_CATALOG_KERNELS_H_

#include <initializer_list>
#include <string>

#include "sinter/kernels/cpu/catalog/catalog.h"

namespace sinter::kernels {

CatalogKernel ScatterAddKernel();
CatalogKernel CumsumKernel();
CatalogKernel RandomPermutationKernel();

// Helpers of `check` functions. Each returns an error text or "".
std::string CheckNumberType(int64_t dtype, const char* what);
std::string CheckIndexType(int64_t dtype, const char* what);
// Checks that no size is negative and that their product is in range; stores the product in `elements`.
std::string CheckSizes(std::initializer_list<int64_t> sizes, int64_t* elements);
std::string CheckOperand(const CatalogOperand& operand, const char* what, int64_t dtype, int64_t elements);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_CATALOG_CATALOG_KERNELS_H_
