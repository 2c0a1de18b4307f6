// Checks that the kernels of the catalog (catalog.h) share.
// A kernel is a function that returns a CatalogKernel, in the source file of its name; catalog.cc lists them.
#ifndef SINTER_KERNELS_CPU_CATALOG_CATALOG_KERNELS_H_
#define SINTER_KERNELS_CPU_CATALOG_CATALOG_KERNELS_H_

#include <initializer_list>
#include <string>

#include "sinter/kernels/cpu/catalog/catalog.h"

namespace sinter::kernels {

// Helpers of `check` functions. Each returns an error text or "".
std::string CheckNumberType(int64_t dtype, const char* what);
std::string CheckIndexType(int64_t dtype, const char* what);
// Checks that no size is negative and that their product is in range; stores the product in `elements`.
std::string CheckSizes(std::initializer_list<int64_t> sizes, int64_t* elements);
std::string CheckOperand(const CatalogOperand& operand, const char* what, int64_t dtype, int64_t elements);

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_CATALOG_CATALOG_KERNELS_H_
