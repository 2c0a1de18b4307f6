// The instruction sets that kernels are compiled for, and the choice between them.
//
//   if (BestIsa() >= Isa::kV4) ...
//
// Kernels that give the same bits with every instruction set use the best one of the CPU (BestIsa). All other
// kernels use the one that their plan is compiled for (StepContext::isa), so that a plan gives the same bits
// on every CPU that can run it.
#ifndef SINTER_KERNELS_CPU_ISA_H_
#define SINTER_KERNELS_CPU_ISA_H_

#include <cstdint>

namespace sinter::kernels {

// kBaseline: 16-byte vectors. kV3 and kV4: x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512).
enum class Isa : uint8_t { kBaseline, kV3, kV4 };

// Returns the best instruction set that the process may use (cpu_level.h), determined on the first call.
Isa BestIsa();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_ISA_H_
