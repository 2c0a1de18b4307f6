// Random numbers of one element in `arith` ops: Philox4x32-10 and its distributions.
//
//   auto words = EmitPhilox(s, seed, step, stream, position);   // Four i32 scalars from i64 scalars.
//   Scalar u = EmitUniform(s, words, f32);                      // In [0, 1).
//
// The counter is (position low, position high, stream, step low). The key is (seed low, seed high XOR step
// high). No two of 2^64 steps share numbers. A uniform number takes one word in f32 and two in f64; a normal
// number takes two and four. kernels/cpu/math/vector_math.h computes the same numbers in C.
#ifndef SINTER_IR_SCALAR_PHILOX_H_
#define SINTER_IR_SCALAR_PHILOX_H_

#include <array>

#include "sinter/ir/scalar/scalar_builder.h"

namespace sinter::ir {

using PhiloxWords = std::array<Scalar, 4>;

PhiloxWords EmitPhilox(ScalarBuilder& s, Scalar seed, Scalar step, uint32_t stream, Scalar position);

// `type` is the compute type of the result, f32 or f64.
Scalar EmitUniform(ScalarBuilder& s, const PhiloxWords& words, mlir::Type type);
// Mean 0 and standard deviation 1, by Box and Muller (the cosine branch).
Scalar EmitNormal(ScalarBuilder& s, const PhiloxWords& words, mlir::Type type);

}  // namespace sinter::ir

#endif  // SINTER_IR_SCALAR_PHILOX_H_
