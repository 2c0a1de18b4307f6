// Combines the elements of several buffers in order: the arithmetic of collectives (see collective.h).
//
//   CombineElements(fb::ReduceOp::Sum, DType::kF32, {a, b, c}, {a}, 1000);    // a = (a + b) + c
//
// Combines each element separately, in the order of the inputs, so the bits do not depend on how a range is
// split. bf16 and f16 are combined as f32 and rounded once. A mean is the sum divided by the number of
// inputs; for integers it is rounded towards zero, and the sum is modulo 2^64. Integer sums wrap. Max and min
// return NaN if any element is NaN, and -0 < 0. i1 has only max and min.
#ifndef SINTER_RUNTIME_CPU_COMBINE_H_
#define SINTER_RUNTIME_CPU_COMBINE_H_

#include <cstdint>
#include <span>

#include "sinter/runtime/host/dtype.h"

namespace sinter {

namespace fb {
enum class ReduceOp : uint8_t;
}  // namespace fb

// Requires at least one input. An output may be one of the inputs. Buffers are aligned to their elements.
void CombineElements(fb::ReduceOp combine, DType dtype, std::span<const void* const> inputs,
                     std::span<void* const> outputs, int64_t count);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_COMBINE_H_
