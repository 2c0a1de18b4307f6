// Copies within one GPU, as kernels.
//
//   if (std::optional<CudaCatalogLaunch> copy = CudaCopy(RegionOf(from), RegionOf(to))) { ... }
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CUDA_COPY_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CUDA_COPY_H_

#include <optional>

#include "sinter/codegen/cuda/catalog/cuda_catalog.h"
#include "sinter/codegen/places/buffer_region.h"

namespace sinter::codegen {

// Returns the launch that copies all bytes of `from`; its lists of buffers are empty. nullopt if the driver
// should copy: the buffers are not on one GPU, overlap, or are not aligned to 16 bytes, or are so small that
// the launch dominates.
std::optional<CudaCatalogLaunch> CudaCopy(const BufferRegion& from, const BufferRegion& to);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CUDA_COPY_H_
