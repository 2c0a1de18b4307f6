// Gives every math operation of an LLVM module an implementation that needs no library.
//
//   SINTER_RETURN_IF_ERROR(LinkVectorMath(*module));
#ifndef SINTER_CODEGEN_CPU_MATH_CALLS_H_
#define SINTER_CODEGEN_CPU_MATH_CALLS_H_

#include "absl/status/status.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace sinter::codegen {

// Replaces math intrinsics, calls to C math functions, frem and conversions to 16-bit floats by calls to sn_*
// functions, and links the bitcode of those in, internal and always inlined. INVALID_ARGUMENT: a function
// that is called and provided by nobody.
absl::Status LinkVectorMath(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_MATH_CALLS_H_
