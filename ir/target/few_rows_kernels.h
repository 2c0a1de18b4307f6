// Which matmuls of few rows in 16 bits Sinter's own kernel computes (kernels/cuda/few_rows_mma.cuh).
//
//   if (ir::few_rows::Computes(matmul)) ...     // With any activation, a bias and an addend.
#ifndef SINTER_IR_TARGET_FEW_ROWS_KERNELS_H_
#define SINTER_IR_TARGET_FEW_ROWS_KERNELS_H_

#include "sinter/ir/dialect/ops.h"

namespace sinter::ir::few_rows {

// True for a product of up to 16 rows of bf16 or f16, whose time is that of reading its weights; measured
// bounds are in docs/performance-notes.md.
bool Computes(MatmulOp matmul);

}  // namespace sinter::ir::few_rows

#endif  // SINTER_IR_TARGET_FEW_ROWS_KERNELS_H_
