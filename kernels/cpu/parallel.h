// Lets kernels share work among threads without a dependency on the thread pool.
//
//   parallel.For(rows, /*grain=*/16, [&](int64_t begin, int64_t end, int thread) { ... });
//
// The contract is that of ThreadPool::ParallelFor (thread_pool.h), which implements it.
#ifndef SINTER_KERNELS_CPU_PARALLEL_H_
#define SINTER_KERNELS_CPU_PARALLEL_H_

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sinter::kernels {

struct Parallel {
  using Work = void (*)(void* context, int64_t begin, int64_t end, int thread);

  void (*run)(const void* pool, int64_t units, int64_t grain, Work work, void* context);
  const void* pool;
  int threads;

  template <typename F>
  void For(int64_t units, int64_t grain, F&& function) const {
    using Function = std::remove_reference_t<F>;
    run(
        pool, units, grain,
        [](void* context, int64_t begin, int64_t end, int thread) {
          (*static_cast<Function*>(context))(begin, end, thread);
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(function))));
  }
};

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_PARALLEL_H_
