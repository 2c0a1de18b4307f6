// Launches of the stable sort of kernels/cuda/radix_sort.cuh.
//
//   RadixSort sort = {.count = 20000, .key_bits = 32, .keys = "StoredWords{$0}", .sources = {...}, ...};
//   AppendSort(text, sort, workspace, call);
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CATALOG_SORT_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CATALOG_SORT_H_

#include <optional>

#include "sinter/codegen/cuda/catalog/catalog_text.h"

namespace sinter::codegen {

// Sorts numbers, 0 to count - 1 or others, by their keys.
struct RadixSort {
  std::string name;       // Prefix of the kernels' names: "random_permutation".
  int64_t count = 0;      // From 1 to kMostSorted.
  int64_t key_bits = 32;  // Higher bits of the keys are 0.
  std::string keys;       // C++ code: a function from a position to its key, with the sources as $0, $1, ...
  // C++ code: a function from a position to the number that is sorted.
  std::string numbers_from = "Positions{}";
  std::vector<CatalogArgument> sources;
  // Target of the sorted keys, as u32; nullopt if they are not needed.
  std::optional<CatalogArgument> sorted_keys;
  CatalogArgument numbers;  // The result.
};

inline constexpr int64_t kMostSorted = (int64_t{1} << 31) - 1;

// `text` has the definitions that `keys` needs, but not the sort's own text.
void AppendSort(const CatalogText& text, const RadixSort& sort, mlir::MLIRContext* context,
                CatalogWorkspace& workspace, CudaCatalogCall& call);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CATALOG_SORT_H_
