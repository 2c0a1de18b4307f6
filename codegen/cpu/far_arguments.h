// Branches for the few arguments that vector code has no formula for: sine, cosine and tangent of doubles beyond
// SN_FAR_F64 (kernels/cpu/vector_math.h).
//
// Contract: the bitcode of these functions ends in a call sn_sin_unless_far_f64(x, near), which nobody defines.
// While LLVM optimises it stands for an instruction without side effects that has vector forms of 2 to 32
// elements, so a loop around it becomes vector code as around any other. What is left of it at the end becomes a
// test of all elements at once, one for all such calls of a block where possible, and, rarely taken, a call of
// sn_sin_far_f64, which freestanding.o provides.
//
//   PrepareFarCalls(module);                             // After LinkVectorMath.
//   library.addVectorizableFunctions(FarVectorForms());  // What the optimiser is told.
//   ... optimise ...
//   ExpandFarCalls(module);
#ifndef SINTER_CODEGEN_CPU_FAR_ARGUMENTS_H_
#define SINTER_CODEGEN_CPU_FAR_ARGUMENTS_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class VecDesc;
}  // namespace llvm

namespace sinter::codegen {

// Whether a function of this name is one of those calls, or a vector form of one.
bool IsUnlessFar(llvm::StringRef name);

// Lets the optimiser move the calls as it moves arithmetic.
void PrepareFarCalls(llvm::Module& module);

llvm::ArrayRef<llvm::VecDesc> FarVectorForms();

// Leaves none of the calls, and no declaration of them.
void ExpandFarCalls(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_FAR_ARGUMENTS_H_
