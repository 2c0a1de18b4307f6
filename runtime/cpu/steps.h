// Makes the steps that a CPU runs, from a verified plan.
// runtime/device/step.h explains steps. Each kind of step has one function and one source file.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, MakeStep(*function.steps()->Get(i), context));
//
// The tables must have passed plan_verifier.h. Errors: NotFound for a kernel that the plan's code does not
// export; Internal if a library refuses.
#ifndef SINTER_RUNTIME_CPU_STEPS_H_
#define SINTER_RUNTIME_CPU_STEPS_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/kernels/cpu/parallel.h"
#include "sinter/runtime/device/step.h"
#include "sinter/runtime/host/thread_pool.h"

namespace sinter {

absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Step& step, const StepContext& context);

absl::StatusOr<std::unique_ptr<Step>> MakeKernelStep(const fb::KernelStep& table, const StepContext& context);
absl::StatusOr<std::unique_ptr<Step>> MakeMatmulStep(const fb::MatmulStep& table, const StepContext& context);
absl::StatusOr<std::unique_ptr<Step>> MakeConvStep(const fb::ConvStep& table, const StepContext& context);
absl::StatusOr<std::unique_ptr<Step>> MakePoolStep(const fb::PoolStep& table, const StepContext& context);
absl::StatusOr<std::unique_ptr<Step>> MakeCopyStep(const fb::CopyStep& table, const StepContext& context);
absl::StatusOr<std::unique_ptr<Step>> MakeCatalogStep(const fb::CatalogStep& table,
                                                      const StepContext& context);

// Copies bytes with the pool's threads. The ranges may be identical but must not overlap otherwise.
void CopyBytes(void* to, const void* from, size_t bytes, const ThreadPool& pool);

// Wraps the pool for the kernels in kernels/. The pool must outlive the result.
inline kernels::Parallel ParallelOf(const ThreadPool& pool) {
  return {[](const void* threads, int64_t units, int64_t grain, kernels::Parallel::Work work, void* context) {
            static_cast<const ThreadPool*>(threads)->ParallelFor(units, grain, work, context);
          },
          &pool, pool.threads()};
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_STEPS_H_
