// Combines the elements of several buffers, one after the other: the arithmetic of collectives (runtime/plan/collective.h).
//
//   CombineElements(fb::Combine::Sum, DType::kF32, {a, b, c}, {a}, 1000);      // a[i] = (a[i] + b[i]) + c[i]
//
// Each element by itself, in the order of the inputs: the bits do not depend on how a range is cut. bf16 and f16 are combined
// as f32 and rounded once. A mean is the sum divided by the number of inputs: of integers, rounded towards zero, with the sum
// taken modulo 2^64; the sum itself wraps. Max and min: NaN if any is, and -0 < 0. i1 has max and min only.
#ifndef SINTER_RUNTIME_CPU_COMBINE_H_
#define SINTER_RUNTIME_CPU_COMBINE_H_

#include <cstdint>
#include <span>

#include "sinter/runtime/host/dtype.h"

namespace sinter {

namespace fb {
enum class Combine : uint8_t;
}  // namespace fb

// At least one input; an output may be one of the inputs. Buffers are aligned to their elements.
void CombineElements(fb::Combine combine, DType dtype, std::span<const void* const> inputs,
                     std::span<void* const> outputs, int64_t count);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_COMBINE_H_
