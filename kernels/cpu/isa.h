// The instruction sets that kernels are compiled for, and which of them to use.
//
//   if (BestIsa() >= Isa::kV4) ...
//
// Two kinds of kernels. Those that give the same bits with every instruction set use the best that the CPU has (BestIsa). Those
// that do not use the one that their plan is compiled for (StepContext::isa), so that a plan gives the same bits on every CPU
// that can run it.
#ifndef SINTER_KERNELS_CPU_ISA_H_
#define SINTER_KERNELS_CPU_ISA_H_

#include <cstdint>

namespace sinter::kernels {

// kBaseline: 16-byte vectors. kV3, kV4: x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512).
enum class Isa : uint8_t { kBaseline, kV3, kV4 };

// The best that the process may use (cpu_level.h). Read once.
Isa BestIsa();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_ISA_H_
