// The code of user kernels on CPUs: C++ text that the Clang library compiles.
//
//   UserKernels kernels;
//   std::string symbol = kernels.Add(op);                    // The function that a KernelStep calls.
//   SINTER_RETURN_IF_ERROR(kernels.Link(target, *llvm_module));
#ifndef SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_
#define SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "sinter/codegen/cpu/target_machine.h"
#include "sinter/codegen/steps/elementwise_text.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

class UserKernels {
 public:
  // Returns the kernel's symbol. Equal kernels share one.
  std::string Add(ir::ElementwiseKernelOp op);
  bool empty() const { return kernels_.empty(); }

  // Compiles all kernels for `target` and links them into `code`, which is optimised later. INVALID_ARGUMENT:
  // the user's line and the compiler's messages. FAILED_PRECONDITION: Sinter was built without the Clang
  // library.
  absl::Status Link(const CpuTarget& target, llvm::Module& code) const;

 private:
  std::vector<std::pair<ir::ElementwiseKernelOp, ElementwiseText>> kernels_;
  llvm::StringSet<> known_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_ELEMENTWISE_KERNELS_H_
