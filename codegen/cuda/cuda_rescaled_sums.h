// Sums of exponentials in the pass over a row that finds their maximum.
//
//   for (const RescaledSum& r : FindRescaledSums(job)) ...   // job.reductions[r.sum] needs no pass of its own
//
// max(x) and sum(exp(x - max(x))) read a row twice. One read does where each thread sums exp(x - m) for the largest m that it
// has seen, and multiplies what it has by exp(m - m') when a larger m' comes, and once more at the end, when all know the
// maximum: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3. While the largest stays
// what it is that factor is 1; each new one adds the error of an exp and of a product to the sum's, once for a vector.
#ifndef SINTER_CODEGEN_CUDA_CUDA_RESCALED_SUMS_H_
#define SINTER_CODEGEN_CUDA_CUDA_RESCALED_SUMS_H_

#include <cstddef>

#include "sinter/codegen/loops/fused_stages.h"

namespace sinter::codegen {

struct RescaledSum {
  size_t sum, max;  // Of the job's reductions; the maximum comes first.
};

// Those of f32 and f64 where a whole pass goes: which has no other reductions, and stores nothing.
llvm::SmallVector<RescaledSum> FindRescaledSums(Job& job);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_RESCALED_SUMS_H_
