// The error for user-defined CPU kernels without the Clang library. Links the source that such builds use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "sinter/codegen/cpu/compile_cpp.h"

namespace sinter::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CompileCppWithoutClangTest, SaysWhatToInstallAndWhichOption) {
  llvm::LLVMContext context;
  EXPECT_FALSE(HasCppCompiler());
  absl::Status status = CompileCpp("", "f", CpuTarget(), context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("libclang-19-dev"), HasSubstr("libclang-cpp19-dev"),
                    HasSubstr("-D SINTER_LIBCLANG=ON")));
}

}  // namespace
}  // namespace sinter::codegen
