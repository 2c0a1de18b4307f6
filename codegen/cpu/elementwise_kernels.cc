#include "sinter/codegen/cpu/elementwise_kernels.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Linker/Linker.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/codegen/steps/elementwise_text.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// The least elements worth a thread: some microseconds for a body of a few operations. The body's cost is
// unknown.
constexpr int64_t kGrain = 4096;

std::vector<ir::ElementwiseKernelOp> KernelsOf(mlir::ModuleOp module) {
  std::vector<ir::ElementwiseKernelOp> kernels;
  module.walk([&](plan_ir::CallOp call) {
    auto kernel = llvm::dyn_cast_if_present<ir::ElementwiseKernelOp>(call.libraryOp());
    if (kernel && ir::DeviceOf(call).getKind() == ir::DeviceKind::cpu) kernels.push_back(kernel);
  });
  return kernels;
}

absl::StatusOr<LibraryStep> LowerElementwiseKernel(mlir::Operation* op,
                                                   flatbuffers::FlatBufferBuilder& builder) {
  auto kernel = llvm::cast<ir::ElementwiseKernelOp>(op);
  auto symbol = builder.CreateString(CpuElementwiseText(kernel).symbol);
  const int64_t n = kernel.getN();
  auto body =
      fb::CreateKernelStep(builder, symbol, n, std::clamp<int64_t>(n, 1, kGrain), /*scratch_bytes=*/0);
  return LibraryStep{fb::StepBody::KernelStep, body.Union()};
}

}  // namespace

void PopulateElementwiseLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::ElementwiseKernelOp>(LowerElementwiseKernel);
}

bool HasElementwiseKernels(mlir::ModuleOp module) { return !KernelsOf(module).empty(); }

absl::Status LinkElementwiseKernels(mlir::ModuleOp module, const CpuTarget& target, llvm::Module& code) {
  llvm::StringSet<> known;
  for (ir::ElementwiseKernelOp kernel : KernelsOf(module)) {
    ElementwiseText text = CpuElementwiseText(kernel);
    if (!known.insert(text.symbol).second) continue;
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
