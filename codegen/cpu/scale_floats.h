// Replaces nine instructions by one: p * 2^n of f32 vectors, the last step of exponentials.
//
// SnScaleF32 (kernels/cpu/math/float_bits.h) multiplies twice by powers of two, which it builds from exponent
// bits, so that denormal results are rounded once. AVX-512 has one instruction with the same bits as result:
// exp takes 18 instructions instead of 26.
//
//   ... optimise, for a target with 512-bit vectors ...
//   ScaleByInstruction(module);
//
// Contract: replaces only code that SnScaleF32 was compiled to, in vectors of 4, 8 or 16 floats, where n is
// the integer in the low bits of a sum with SN_SHIFTER_F32. Code of another form stays. Requires AVX-512F,
// and VL for the shorter vectors.
#ifndef SINTER_CODEGEN_CPU_SCALE_FLOATS_H_
#define SINTER_CODEGEN_CPU_SCALE_FLOATS_H_

namespace llvm {
class Module;
}  // namespace llvm

namespace sinter::codegen {

void ScaleByInstruction(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_SCALE_FLOATS_H_
