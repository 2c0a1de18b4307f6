// Steps that call the hand-written kernels of kernels/cpu/catalog/catalog.h.
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/kernels/cpu/catalog/catalog.h"
#include "sinter/runtime/cpu/steps.h"

namespace sinter {
namespace {

class CatalogStep : public Step {
 public:
  CatalogStep(const kernels::CatalogKernel* kernel, std::vector<int64_t> parameters, const ThreadPool& pool)
      : kernel_(kernel), parameters_(std::move(parameters)), parallel_(ParallelOf(pool)) {}

  size_t LibraryWorkspaceBytes() const override {
    return static_cast<size_t>(kernel_->workspace_bytes(parameters_));
  }
  absl::Status Run(const StepArgs& args) override {
    kernel_->run({args.buffers, parameters_, args.library_workspace, parallel_});
    return absl::OkStatus();
  }

 private:
  const kernels::CatalogKernel* kernel_;
  std::vector<int64_t> parameters_;
  kernels::Parallel parallel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCatalogStep(const fb::CatalogStep& table,
                                                      const StepContext& context) {
  const std::string name = table.kernel()->str();
  const kernels::CatalogKernel* const kernel = kernels::FindCatalogKernel(name);
  if (kernel == nullptr)
    return absl::NotFoundError(absl::StrCat("the catalogue has no kernel \"", name, "\""));
  std::vector<int64_t> parameters;
  if (table.parameters() != nullptr)
    parameters.assign(table.parameters()->begin(), table.parameters()->end());
  return std::make_unique<CatalogStep>(kernel, std::move(parameters), *context.pool);
}

}  // namespace sinter
