// Operands for trials that time ways to do the same: random numbers, the same in every process. Zeros would make a GPU draw less
// power, and run faster, than in use.
//
//   const std::vector<std::byte> block = RandomBlock(fb::DType::BF16);
//   SINTER_RETURN_IF_ERROR(Repeat(context, block, operand, bytes));
#ifndef SINTER_RUNTIME_CUDA_TRIAL_OPERANDS_H_
#define SINTER_RUNTIME_CUDA_TRIAL_OPERANDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/cuda_context.h"

namespace sinter {

// 65,537 numbers from -1 to 1 from a linear congruential generator (Knuth's MMIX), of f64, f32, bf16 or f16: an odd number of
// them, so that no two rows of a matrix are alike.
std::vector<std::byte> RandomBlock(fb::DType dtype);

// The block over and over, to memory of the context's GPU; waits for it. The last one may be cut.
absl::Status Repeat(const CudaContext& context, const std::vector<std::byte>& block, std::byte* to,
                    int64_t bytes);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_TRIAL_OPERANDS_H_
