// Random bits that are the same on every platform: SplitMix64 (Steele, Lea and Flood, 2014).
//
//   SplitMix bits(seed, /*stream=*/epoch);
//   uint64_t r = bits.Next();
//   uint64_t k = bits.Below(10);      // Uniform in [0, 10), without bias.
//   float u = bits.Uniform(-1, 1);
//
// The order of data depends on these bits. std::shuffle and the standard distributions would give different
// results with another standard library.
#ifndef SINTER_FRONTEND_DATA_SPLITMIX_H_
#define SINTER_FRONTEND_DATA_SPLITMIX_H_

#include <cstdint>

namespace sinter {

class SplitMix {
 public:
  // Streams of one seed are unrelated to each other.
  explicit SplitMix(uint64_t seed, uint64_t stream = 0) : state_(Mix(Mix(seed) + stream * kStep)) {}

  uint64_t Next() {
    state_ += kStep;
    return Mix(state_);
  }

  // Uniform in [0, bound), bound > 0. Rejects draws that would favour small values.
  uint64_t Below(uint64_t bound) {
    const uint64_t uneven = (0 - bound) % bound;
    uint64_t draw = Next();
    while (draw < uneven) draw = Next();
    return draw % bound;
  }

  // Uniform in [low, high), in steps of (high - low) / 2^24.
  float Uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(Next() >> 40) * (1.0f / (1 << 24)));
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_SPLITMIX_H_
