// Every matmul tile kernel of this CPU, and a thread pool that runs its parts in turn.
//
//   for (const MatmulKernels* kernels : AllMatmulKernels()) Check(*kernels, InTurn(/*threads=*/3));
#ifndef SINTER_TESTS_KERNELS_MATMUL_KERNELS_H_
#define SINTER_TESTS_KERNELS_MATMUL_KERNELS_H_

#include <cstdint>
#include <vector>

#include "sinter/kernels/cpu/matmul/matmul_tile.h"
#include "sinter/kernels/cpu/parallel.h"

namespace sinter::kernels {

// Returns the kernels of each available instruction set with fused multiply-add; the baseline's on other
// CPUs.
inline std::vector<const MatmulKernels*> AllMatmulKernels() {
#if defined(__x86_64__)
  std::vector<const MatmulKernels*> all = {&MatmulKernelsOf<Isa::kV3>()};
  if (BestIsa() >= Isa::kV4) all.push_back(&MatmulKernelsOf<Isa::kV4>());
  return all;
#else
  return {&MatmulKernelsOf<Isa::kBaseline>()};
#endif
}

// Returns a pool that splits work as for `threads` threads, and runs the parts one after another.
inline Parallel InTurn(int threads) {
  const auto run = [](const void* pool, int64_t units, int64_t grain, Parallel::Work work, void* context) {
    const int64_t threads = *static_cast<const int*>(pool), wanted = (units + grain - 1) / grain;
    const int64_t parts = wanted < threads ? wanted : threads;
    for (int64_t i = 0; i < parts; ++i) {
      work(context, i * units / parts, (i + 1) * units / parts, static_cast<int>(i));
    }
  };
  static constexpr int kThreads[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  return {.run = run, .pool = &kThreads[threads], .threads = threads};
}

}  // namespace sinter::kernels

#endif  // SINTER_TESTS_KERNELS_MATMUL_KERNELS_H_
