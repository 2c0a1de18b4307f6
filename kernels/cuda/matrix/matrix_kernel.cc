#include "sinter/kernels/cuda/matrix/matrix_kernel.h"

#include "sinter/kernels/cuda/embedded_ptx.h"

// SINTER_MATRIX_PTX is the path of the file that the build makes.
SINTER_EMBED_PTX(sinter_matrix_ptx, SINTER_MATRIX_PTX)

namespace sinter::kernels {

const char* MatrixPtx() { return sinter_matrix_ptx; }

}  // namespace sinter::kernels
