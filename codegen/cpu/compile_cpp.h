// C++ text to an LLVM module, by the Clang library inside this process: for kernels that users write.
//
//   llvm::LLVMContext context;
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module, CompileCpp(text, "squared_diff_1a2b", target, context));
//
// The text is C++20 without exceptions and RTTI. It sees no file: an #include finds nothing. The module is not optimised
// yet; of what it defines only the function `symbol` can be seen from outside. It ends in LLVM's intrinsics and calls of
// sn_* functions, for which math_calls.h cares.
#ifndef SINTER_CODEGEN_CPU_COMPILE_CPP_H_
#define SINTER_CODEGEN_CPU_COMPILE_CPP_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/codegen/cpu/target_machine.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace sinter::codegen {

// INVALID_ARGUMENT: Clang's messages, or the function that the text calls and nobody defines. FAILED_PRECONDITION: Sinter was
// built without the Clang library; says what to install.
absl::StatusOr<std::unique_ptr<llvm::Module>> CompileCpp(const std::string& text, const std::string& symbol,
                                                         const CpuTarget& target, llvm::LLVMContext& context);

// Whether Sinter was built with the Clang library.
bool HasCppCompiler();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_COMPILE_CPP_H_
