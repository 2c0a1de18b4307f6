#include "sinter/kernels/cuda/condition/condition_kernel.h"

// SINTER_CONDITION_PTX is the path of the file that the build makes.
__asm__(
    ".pushsection .rodata.sinter_condition_ptx, \"a\", @progbits\n"
    ".globl sinter_condition_ptx\n.hidden sinter_condition_ptx\n"
    "sinter_condition_ptx:\n.incbin \"" SINTER_CONDITION_PTX
    "\"\n.byte 0\n"
    ".popsection\n");
extern "C" const char sinter_condition_ptx[];

namespace sinter::kernels {

const char* ConditionPtx() { return sinter_condition_ptx; }

}  // namespace sinter::kernels
