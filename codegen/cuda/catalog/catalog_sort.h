// Launches of the stable sort of kernels/cuda/radix_sort.cuh.
//
//   RadixSort sort = {.count = 20000, .key_bits = 32, .keys = "StoredWords{$0}", .sources = {...}, .numbers = {...}};
//   AppendSort(text, sort, workspace, call);
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CATALOG_SORT_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CATALOG_SORT_H_

#include <optional>

#include "sinter/codegen/cuda/catalog/catalog_text.h"

namespace sinter::codegen {

// The numbers 0 to count - 1, sorted by their keys.
struct RadixSort {
  std::string name;       // Of the kernels: "random_permutation".
  int64_t count = 0;      // 1 to kMostSorted.
  int64_t key_bits = 32;  // All higher ones are 0.
  std::string keys;       // In C++, a function of a number: of the sources, $0, $1, ...
  std::vector<CatalogArgument> sources;
  std::optional<CatalogArgument> sorted_keys;  // Where they are to be as well, u32.
  CatalogArgument numbers;                     // The result.
};

inline constexpr int64_t kMostSorted = (int64_t{1} << 31) - 1;

// `text` has what `keys` needs, and not the sort's text itself.
void AppendSort(const CatalogText& text, const RadixSort& sort, mlir::MLIRContext* context,
                CatalogWorkspace& workspace, CudaCatalogCall& call);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CATALOG_SORT_H_
