// Operands for trials of ways to do the same, the same in every process: to time them, and to see whether they give the same bits.
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

// 65,537 numbers from -1 to 1 from a linear congruential generator (Knuth's MMIX), of f64, f32, bf16 or f16: an odd number of
// them, so that no two rows of a matrix are alike. Zeros would make a GPU draw less power, and run faster, than in use.
std::vector<std::byte> RandomBlock(fb::DType dtype, uint64_t seed = 1);

// Factors of products that show in which order their sums are added. The k terms of every sum, from 2^-12 to 2^12, cancel in pairs
// that stand in random places: what is left is the rounding of the partial sums, and another order leaves another remainder,
// in its leading bits. Of random numbers between -1 and 1 another order changes the last bits of a sum, which rounding it to
// bf16 hides but once in some thousand elements; so few that are compared may agree by chance.
struct CancellingFactors {
  static constexpr int64_t kRows = 16;
  // [kRows, k] each: of rows of a, and of columns of b.
  std::vector<std::byte> a, b;
};
CancellingFactors CancellingFactorsOf(fb::DType dtype, int64_t k, uint64_t seed);

// Fills an operand [batch, rows, k], or [batch, k, rows] where not `k_runs`, with the rows of the table [CancellingFactors::kRows,
// k], over and over; waits for it.
struct FactorLayout {
  int64_t batch = 1, rows = 1, k = 1;
  bool k_runs = true;
  int64_t size = 4;  // Of an element.
};
absl::Status FillRows(const CudaContext& context, const std::vector<std::byte>& table,
                      const FactorLayout& layout, std::byte* to);

// The block over and over, to memory of the context's GPU; waits for it. The last one may be cut.
absl::Status Repeat(const CudaContext& context, const std::vector<std::byte>& block, std::byte* to,
                    int64_t bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_TRIAL_OPERANDS_H_
