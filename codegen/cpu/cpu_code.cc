#include "sinter/codegen/cpu/cpu_code.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "sinter/codegen/cpu/lower_kernels_to_llvm.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

KernelModule& CpuCode::fused() {
  if (!fused_) fused_.emplace(context_);
  return *fused_;
}

absl::StatusOr<std::vector<std::string>> CpuCode::Compile(llvm::ArrayRef<CpuTarget> targets, Finish finish) {
  llvm::LLVMContext context;
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> generated,
                          LowerKernelsToLlvm(fused().module(), context));
  std::vector<std::string> finished;
  for (const CpuTarget& target : targets) {
    std::unique_ptr<llvm::Module> code = llvm::CloneModule(*generated);
    SINTER_RETURN_IF_ERROR(user_.Link(target, *code));
    SINTER_ASSIGN_OR_RETURN(finished.emplace_back(), finish(std::move(code), target));
  }
  return finished;
}

}  // namespace sinter::codegen
