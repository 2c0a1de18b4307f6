// The kernel of matmuls of few rows in 16 bits, which catalog_matmul.cc chooses.
//
//   if (ir::few_rows::Computes(matmul)) return LowerFewRows16(matmul);
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CATALOG_FEW_ROWS_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CATALOG_FEW_ROWS_H_

#include "sinter/codegen/cuda/catalog/cuda_catalog.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

// `matmul` is one for which ir::few_rows::Computes is true.
CudaCatalogCall LowerFewRows16(ir::MatmulOp matmul);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CATALOG_FEW_ROWS_H_
