#include "sinter/kernels/cuda/exchange/exchange_kernel.h"

#include "sinter/kernels/cuda/embedded_ptx.h"

// SINTER_EXCHANGE_PTX is the path of the file that the build makes.
SINTER_EMBED_PTX(sinter_exchange_ptx, SINTER_EXCHANGE_PTX)

namespace sinter::kernels {

const char* ExchangePtx() { return sinter_exchange_ptx; }

}  // namespace sinter::kernels
