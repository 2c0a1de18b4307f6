// Compiles C++ text to an LLVM module with the Clang library in this process, for user kernels.
//
//   llvm::LLVMContext context;
//   SINTER_ASSIGN_OR_RETURN(auto module, CompileCpp(text, "squared_diff_1a2b", target, context));
//
// The text is C++20 without exceptions and RTTI. It sees no files, so an #include fails. The module is not
// yet optimised. Only the function `symbol` is visible outside of it. It may use LLVM's intrinsics and call
// sn_* functions, which math_calls.h resolves.
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

// INVALID_ARGUMENT: Clang's messages, or the name of a called function without a definition.
// FAILED_PRECONDITION: Sinter was built without the Clang library; the message lists the packages to install.
absl::StatusOr<std::unique_ptr<llvm::Module>> CompileCpp(const std::string& text, const std::string& symbol,
                                                         const CpuTarget& target, llvm::LLVMContext& context);

// True if Sinter was built with the Clang library.
bool HasCppCompiler();

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_COMPILE_CPP_H_
