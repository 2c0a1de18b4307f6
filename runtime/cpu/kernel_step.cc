// Steps that call generated kernels, with the work shared among the threads.
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cpu/steps.h"

namespace sinter {
namespace {

class KernelStep : public Step {
 public:
  using Kernel = void(void* const* buffers, int64_t begin, int64_t end, void* scratch);

  KernelStep(Kernel* kernel, int64_t units, int64_t grain, const StepContext& context)
      : kernel_(kernel), units_(units), grain_(grain), context_(context) {}

  absl::Status Run(const StepArgs& args) override {
    std::byte* const scratch = static_cast<std::byte*>(args.scratch);
    context_.pool->ParallelFor(units_, grain_, [&](int64_t begin, int64_t end, int thread) {
      kernel_(args.buffers, begin, end, scratch + context_.scratch_stride * static_cast<size_t>(thread));
    });
    return absl::OkStatus();
  }

 private:
  Kernel* kernel_;
  int64_t units_, grain_;
  StepContext context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeKernelStep(const fb::KernelStep& table,
                                                     const StepContext& context) {
  void* const symbol =
      context.shared_object == nullptr ? nullptr : dlsym(context.shared_object, table.symbol()->c_str());
  if (symbol == nullptr) {
    return absl::NotFoundError(absl::StrCat("the plan's code has no kernel ", table.symbol()->c_str()));
  }
  return std::make_unique<KernelStep>(reinterpret_cast<KernelStep::Kernel*>(symbol), table.units(),
                                      table.grain(), context);
}

}  // namespace sinter
