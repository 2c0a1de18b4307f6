// Slow paths for rare large arguments of vectorised math: f64 sine, cosine and tangent beyond SN_FAR_F64.
// SN_FAR_F64 is defined in kernels/cpu/math/vector_math.h.
//
// Contract: the bitcode of these functions ends in a call sn_sin_unless_far_f64(x, near), which has no
// definition. While LLVM optimises, the call looks like an instruction without side effects that has vector
// forms of 2 to 32 elements, so LLVM vectorises a loop around it like any other. Afterwards each remaining
// call becomes a test of all elements at once (one test for all such calls of a block, if possible) and a
// rarely taken branch that calls sn_sin_far_f64 from freestanding.o.
//
//   PrepareFarCalls(module);                             // After LinkVectorMath.
//   library.addVectorizableFunctions(FarVectorForms());  // Tells the optimiser the vector forms.
//   ... optimise ...
//   ExpandFarCalls(module);
#ifndef SINTER_CODEGEN_CPU_LARGE_ARGUMENTS_H_
#define SINTER_CODEGEN_CPU_LARGE_ARGUMENTS_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class VecDesc;
}  // namespace llvm

namespace sinter::codegen {

// True for the name of such a call or of one of its vector forms.
bool IsUnlessFar(llvm::StringRef name);

// Marks the calls as free of side effects, so that the optimiser may move them.
void PrepareFarCalls(llvm::Module& module);

llvm::ArrayRef<llvm::VecDesc> FarVectorForms();

// Replaces all of the calls by tests and branches, and removes their declarations.
void ExpandFarCalls(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_LARGE_ARGUMENTS_H_
