#include "sinter/codegen/plan/backends.h"

#include "absl/strings/str_cat.h"
#include "sinter/codegen/cpu/cpu_backends.h"
#include "sinter/codegen/cuda/catalog/catalog_backend.h"
#include "sinter/codegen/cuda/cuda_backend.h"
#include "sinter/codegen/plan/loop_backend.h"
#include "sinter/codegen/plan/lower_collective.h"
#include "sinter/codegen/steps/library_backend.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

Backends::Backends(mlir::MLIRContext* context) : cpu_code_(context), cuda_kernels_(context) {
  // The first row that computes a call gets it: hand-written kernels come before libraries.
  backends_.push_back(MakeCollectiveBackend());
  backends_.push_back(MakeLoopBackend(cuda_kernels_));
  backends_.push_back(MakeCudaCatalogBackend(cuda_kernels_));
  backends_.push_back(MakeUserCpuBackend(cpu_code_));
  backends_.push_back(MakeLibraryBackend());
  backends_.push_back(MakeFusedCudaBackend(cuda_kernels_));
  backends_.push_back(MakeFusedCpuBackend(cpu_code_));
}

namespace {

std::string SubjectOf(plan_ir::CallOp call) {
  return absl::StrCat(UserLine(call.getLoc()), ": the call '", call.getName().str(), "'");
}

}  // namespace

absl::StatusOr<CallBackend*> Backends::Choose(plan_ir::CallOp call) const {
  for (const auto& backend : backends_) {
    if (backend->Computes(call)) return backend.get();
  }
  // The fused rows compute every call without a library op.
  mlir::Operation* op = call.libraryOp();
  SINTER_CHECK(op != nullptr) << SubjectOf(call);
  return absl::UnimplementedError(absl::StrCat(
      UserLine(op->getLoc()), ": no library or kernel computes ", op->getName().getStringRef().str(), " on ",
      ir::DeviceOf(call).text(), "; decompose it into simpler ops before lower-to-plan"));
}

absl::StatusOr<CallBackend*> Backends::Of(plan_ir::CallOp call) const {
  if (!call.getBackend()) {
    return absl::InvalidArgumentError(
        absl::StrCat(SubjectOf(call), " has no back end; run sinter-select-kernels first"));
  }
  std::string names;
  for (const auto& backend : backends_) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", backend->name().str());
    if (backend->name() != *call.getBackend()) continue;
    if (backend->Computes(call)) return backend.get();
    return absl::InvalidArgumentError(absl::StrCat(
        UserLine(call.getLoc()), ": ", backend->name().str(), " does not compute the call '",
        call.getName().str(), "' on ", ir::DeviceOf(call).text(), "; run sinter-select-kernels"));
  }
  return absl::InvalidArgumentError(absl::StrCat(SubjectOf(call), " names the back end \"",
                                                 call.getBackend()->str(), "\"; back ends are ", names));
}

}  // namespace sinter::codegen
