#include "sinter/kernels/cuda/condition/condition_kernel.h"

#include "sinter/kernels/cuda/embedded_ptx.h"

// SINTER_CONDITION_PTX is the path of the file that the build makes.
SINTER_EMBED_PTX(sinter_condition_ptx, SINTER_CONDITION_PTX)

namespace sinter::kernels {

const char* ConditionPtx() { return sinter_condition_ptx; }

}  // namespace sinter::kernels
