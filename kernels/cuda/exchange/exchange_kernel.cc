#include "sinter/kernels/cuda/exchange/exchange_kernel.h"

// SINTER_EXCHANGE_PTX is the path of the file that the build makes.
__asm__(
    ".pushsection .rodata.sinter_exchange_ptx, \"a\", @progbits\n"
    ".globl sinter_exchange_ptx\n.hidden sinter_exchange_ptx\n"
    "sinter_exchange_ptx:\n.incbin \"" SINTER_EXCHANGE_PTX
    "\"\n.byte 0\n"
    ".popsection\n");
extern "C" const char sinter_exchange_ptx[];

namespace sinter::kernels {

const char* ExchangePtx() { return sinter_exchange_ptx; }

}  // namespace sinter::kernels
