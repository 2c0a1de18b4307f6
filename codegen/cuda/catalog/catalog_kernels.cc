// The ops of the catalogue: texts of kernels/cuda with their numbers filled in.
#include "sinter/codegen/cuda/catalog/cuda_catalog.h"

namespace sinter::codegen {

// One function for each family, in the file of its name.
void AddPoolKernels(CudaCatalog&), AddCumsumKernels(CudaCatalog&), AddScatterKernels(CudaCatalog&),
    AddPermutationKernels(CudaCatalog&), AddMatmulKernels(CudaCatalog&), AddConvKernels(CudaCatalog&),
    AddElementwiseKernels(CudaCatalog&), AddTopKKernels(CudaCatalog&), AddSortKernels(CudaCatalog&),
    AddQuantizedKernels(CudaCatalog&), AddAttentionKernels(CudaCatalog&),
    AddAttentionGradKernels(CudaCatalog&);

void PopulateCudaCatalog(CudaCatalog& catalog) {
  for (auto* add : {AddPoolKernels, AddCumsumKernels, AddScatterKernels, AddPermutationKernels,
                    AddMatmulKernels, AddConvKernels, AddElementwiseKernels, AddTopKKernels, AddSortKernels,
                    AddQuantizedKernels, AddAttentionKernels, AddAttentionGradKernels}) {
    add(catalog);
  }
}

}  // namespace sinter::codegen
