// Random numbers of one element in `arith` ops: Philox4x32-10 and the distributions made of its words.
//
//   auto words = EmitPhilox(s, seed, step, stream, position);   // i64 scalars and a number in, four i32 scalars out
//   Scalar u = EmitUniform(s, words, f32);                      // in [0, 1)
//
// The counter is (position low, position high, stream, step low), the key (seed low, seed high XOR step high): no two of
// 2^64 steps share their numbers. f32 uses one word for a uniform number and two for a normal one, f64 twice as many.
// kernels/cpu/vector_math.h has the same numbers in C.
#ifndef SINTER_IR_SCALAR_PHILOX_H_
#define SINTER_IR_SCALAR_PHILOX_H_

#include <array>

#include "sinter/ir/scalar/scalar_builder.h"

namespace sinter::ir {

using PhiloxWords = std::array<Scalar, 4>;

PhiloxWords EmitPhilox(ScalarBuilder& s, Scalar seed, Scalar step, uint32_t stream, Scalar position);

// `type` is the compute type wanted, f32 or f64.
Scalar EmitUniform(ScalarBuilder& s, const PhiloxWords& words, mlir::Type type);
// Mean 0 and deviation 1, by Box and Muller (the cosine branch).
Scalar EmitNormal(ScalarBuilder& s, const PhiloxWords& words, mlir::Type type);

}  // namespace sinter::ir

#endif  // SINTER_IR_SCALAR_PHILOX_H_
