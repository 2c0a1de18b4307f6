// All code of a plan for CPUs: generated kernels and user kernels, which become one shared object a target.
//
//   CpuCode code(context);
//   code.fused().AddCall(call);
//   auto emit = [&](auto module, auto& target) {
//     return EmitSharedObject(std::move(module), target, options);
//   };
//   SINTER_ASSIGN_OR_RETURN(std::vector<std::string> objects, code.Compile(targets, emit));
#ifndef SINTER_CODEGEN_CPU_CPU_CODE_H_
#define SINTER_CODEGEN_CPU_CPU_CODE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "sinter/codegen/cpu/elementwise_kernels.h"
#include "sinter/codegen/cpu/fused_kernel.h"
#include "sinter/codegen/cpu/target_machine.h"

namespace sinter::codegen {

class CpuCode {
 public:
  explicit CpuCode(mlir::MLIRContext* context) : context_(context) {}

  // Kernels of fused calls. Not in a pass: the first call loads dialects.
  KernelModule& fused();
  UserKernels& user() { return user_; }
  bool empty() const { return (!fused_ || fused_->empty()) && user_.empty(); }

  // Turns all code, before optimisation, into one string a target. The generated code is the same for every
  // target; user kernels may depend on the target.
  using Finish =
      llvm::function_ref<absl::StatusOr<std::string>(std::unique_ptr<llvm::Module>, const CpuTarget&)>;
  absl::StatusOr<std::vector<std::string>> Compile(llvm::ArrayRef<CpuTarget> targets, Finish finish);

 private:
  mlir::MLIRContext* context_;
  std::optional<KernelModule> fused_;
  UserKernels user_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_CPU_CODE_H_
