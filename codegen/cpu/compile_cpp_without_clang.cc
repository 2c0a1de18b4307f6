// Replaces compile_cpp.cc in builds without the Clang library.
#include "llvm/IR/Module.h"
#include "sinter/codegen/cpu/compile_cpp.h"

namespace sinter::codegen {

absl::StatusOr<std::unique_ptr<llvm::Module>> CompileCpp(const std::string& text, const std::string& symbol,
                                                         const CpuTarget& target,
                                                         llvm::LLVMContext& context) {
  return absl::FailedPreconditionError(
      "user-defined kernels on a CPU need the Clang library, without which this Sinter was built: install "
      "libclang-19-dev and libclang-cpp19-dev and build with -D SINTER_LIBCLANG=ON, or run the kernel on a "
      "GPU");
}

bool HasCppCompiler() { return false; }

}  // namespace sinter::codegen
