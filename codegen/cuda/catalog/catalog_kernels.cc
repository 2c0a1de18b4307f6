// The ops of the catalogue: texts of kernels/cuda with their numbers filled in.
#include "sinter/codegen/cuda/catalog/catalog_text.h"

namespace sinter::codegen {

void PopulateCudaCatalog(CudaCatalog& catalog) {
  AddPoolKernels(catalog);
  AddCumsumKernels(catalog);
  AddScatterKernels(catalog);
  AddPermutationKernels(catalog);
  AddMatmulKernels(catalog);
  AddConvKernels(catalog);
  AddElementwiseKernels(catalog);
}

}  // namespace sinter::codegen
