// Computes sums of exponentials in the pass over a row that finds the row's maximum.
//
//   for (const RescaledSum& r : FindRescaledSums(job)) ...   // job.reductions[r.sum] needs no separate pass.
//
// max(x) and sum(exp(x - max(x))) read a row twice. To read it once, each thread sums exp(x - m), where m is
// the largest x it has seen. For a larger m' it multiplies its sum by exp(m - m'), and once more at the end,
// when all threads know the maximum: Milakov and Gimelshein, "Online normalizer calculation for softmax"
// (2018), algorithm 3. While m stays the same, the factor is 1. Each new m adds the error of one exp and one
// multiplication to the sum, once a vector.
#ifndef SINTER_CODEGEN_CUDA_CUDA_RESCALED_SUMS_H_
#define SINTER_CODEGEN_CUDA_CUDA_RESCALED_SUMS_H_

#include <cstddef>

#include "sinter/codegen/loops/fused_launches.h"

namespace sinter::codegen {

struct RescaledSum {
  size_t sum, max;  // Indices into the job's reductions; the maximum comes first.
};

// Returns rescaled sums of f32 and f64, if they save a whole pass: one without other reductions and without
// stores.
llvm::SmallVector<RescaledSum> FindRescaledSums(Job& job);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_RESCALED_SUMS_H_
