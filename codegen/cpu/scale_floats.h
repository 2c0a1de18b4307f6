// One instruction in place of nine: p * 2^n of single-precision vectors, the last step of exponentials.
//
// SnScaleF32 (kernels/cpu/float_bits.h) multiplies twice by powers of two made in the exponent's bits, so that denormal
// results are rounded once. AVX-512 has an instruction for it, with the same bits: exp goes from 26 instructions to 18.
//
//   ... optimise, for a target with 512-bit vectors ...
//   ScaleByInstruction(module);
//
// Contract: only what SnScaleF32 became in vectors of 4, 8 or 16 floats, its n the integer below a sum with
// SN_SHIFTER_F32; code of another form stays. Needs AVX-512F, and VL for the shorter vectors.
#ifndef SINTER_CODEGEN_CPU_SCALE_FLOATS_H_
#define SINTER_CODEGEN_CPU_SCALE_FLOATS_H_

namespace llvm {
class Module;
}  // namespace llvm

namespace sinter::codegen {

void ScaleByInstruction(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_SCALE_FLOATS_H_
