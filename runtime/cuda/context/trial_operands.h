// Generates operands to time candidates and to compare their bits; they are the same in every process.
//
//   const std::vector<std::byte> block = RandomBlock(fb::DType::BF16);
//   SINTER_RETURN_IF_ERROR(Repeat(context, block, operand, bytes));
//
//   const CancellingFactors factors = CancellingFactorsOf(fb::DType::BF16, /*k=*/8192, /*seed=*/1);
//   SINTER_RETURN_IF_ERROR(FillRows(context, factors.a, {.rows = m, .k = k, .k_runs = true, .size = 2}, a));
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_TRIAL_OPERANDS_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_TRIAL_OPERANDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/context/cuda_context.h"

namespace sinter {

// Returns 65,537 numbers from -1 to 1 as floats of any type, or as integers from -127 to 127, from a linear
// congruential generator (Knuth's MMIX). The odd count makes the rows of a matrix differ. Zeros would reduce
// the GPU's power draw, so that it would run faster than in real use.
std::vector<std::byte> RandomBlock(fb::DType dtype, uint64_t seed = 1);

// Factors for matmuls that reveal the order in which their sums are added. The k terms of every sum, with
// magnitudes from 2^-12 to 2^12, cancel in pairs at random positions. The remainder is the rounding error of
// the partial sums, and another order changes its leading bits. With random numbers between -1 and 1, another
// order changes only the last bits of a sum. Rounding to bf16 hides this in all but one of some thousand
// elements, so the compared elements could agree by chance.
struct CancellingFactors {
  static constexpr int64_t kRows = 16;
  // [kRows, k] each: rows of a, and columns of b.
  std::vector<std::byte> a, b;
};
CancellingFactors CancellingFactorsOf(fb::DType dtype, int64_t k, uint64_t seed);

// Fills an operand [batch, rows, k], or [batch, k, rows] if not `k_runs`, by repeating the rows of the table
// [CancellingFactors::kRows, k]. Waits for the copies.
struct FactorLayout {
  int64_t batch = 1, rows = 1, k = 1;
  bool k_runs = true;
  int64_t size = 4;  // Bytes of an element.
};
absl::Status FillRows(const CudaContext& context, const std::vector<std::byte>& table,
                      const FactorLayout& layout, std::byte* to);

// Fills memory of the context's GPU by repeating the block; the last repetition may be cut off. Waits for the
// copies.
absl::Status Repeat(const CudaContext& context, const std::vector<std::byte>& block, std::byte* to,
                    int64_t bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_TRIAL_OPERANDS_H_
