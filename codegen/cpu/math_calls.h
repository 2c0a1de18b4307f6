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

// Replaces math intrinsics, calls of C math functions, frem and conversions to 16-bit floats by calls of sn_*
// functions, and links the bitcode of those functions as internal and always inlined. INVALID_ARGUMENT if a
// called function is defined nowhere.
absl::Status LinkVectorMath(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_MATH_CALLS_H_
