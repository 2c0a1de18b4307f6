#include "sinter/codegen/cpu/elementwise_kernels.h"

#include "absl/strings/str_cat.h"
#include "llvm/Linker/Linker.h"
#include "sinter/codegen/cpu/compile_cpp.h"

namespace sinter::codegen {

std::string UserKernels::Add(ir::ElementwiseKernelOp op) {
  ElementwiseText text = CpuElementwiseText(op);
  std::string symbol = text.symbol;
  if (known_.insert(symbol).second) kernels_.emplace_back(op, std::move(text));
  return symbol;
}

absl::Status UserKernels::Link(const CpuTarget& target, llvm::Module& code) const {
  for (const auto& [kernel, text] : kernels_) {
    absl::StatusOr<std::unique_ptr<llvm::Module>> compiled =
        CompileCpp(text.text, text.symbol, target, code.getContext());
    if (!compiled.ok()) return ElementwiseError(kernel, compiled.status());
    if (llvm::Linker::linkModules(code, *std::move(compiled))) {
      return absl::InternalError(absl::StrCat(ElementwiseSubject(kernel), " cannot be linked"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
