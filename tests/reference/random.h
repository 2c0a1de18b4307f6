// The random numbers of the reference evaluator.
//
//   double u = UniformF32(Philox(seed, step, stream, position)[0]);   // in [0, 1)
#ifndef SINTER_TESTS_REFERENCE_RANDOM_H_
#define SINTER_TESTS_REFERENCE_RANDOM_H_

#include <array>
#include <cstdint>

namespace sinter::reference {

using PhiloxWords = std::array<uint32_t, 4>;

// Counter: (position low, position high, stream, step low). Key: (seed low, seed high XOR step high).
PhiloxWords Philox(int64_t seed, int64_t step, uint32_t stream, uint64_t position);

// Returns the top 24 bits of the word as a number in [0, 1).
double UniformF32(uint32_t word);

}  // namespace sinter::reference

#endif  // SINTER_TESTS_REFERENCE_RANDOM_H_
