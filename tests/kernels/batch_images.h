// Test data and loops for kernels of images with layout [N / 16, C, H, W, 16].
#ifndef SINTER_TESTS_KERNELS_BATCH_IMAGES_H_
#define SINTER_TESTS_KERNELS_BATCH_IMAGES_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "sinter/kernels/cpu/images/batch_isa.h"

namespace sinter::kernels {

// Returns numbers in [-1, 1), the same on each call.
inline std::vector<float> RandomFloats(int64_t count) {
  std::mt19937 random(static_cast<uint32_t>(count));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

inline int64_t BatchOffset(int64_t n, int64_t c, int64_t y, int64_t x, int64_t channels, int64_t height,
                           int64_t width) {
  return (((n / kBatchBlock * channels + c) * height + y) * width + x) * kBatchBlock + n % kBatchBlock;
}

// Calls work(begin, end) for `parts` contiguous parts of `units`, the last part first.
template <typename Work>
void InParts(int64_t units, int64_t parts, Work work) {
  parts = std::min(parts, units);
  for (int64_t i = parts - 1; i >= 0; --i) work(i * units / parts, (i + 1) * units / parts);
}

// Calls f(BatchIsa<isa>()) for every instruction set of the running CPU, the best one last.
template <typename F>
void ForEachIsa(F f) {
  f(BatchIsa<Isa::kBaseline>());
#if defined(__x86_64__)
  if (BestIsa() >= Isa::kV3) f(BatchIsa<Isa::kV3>());
  if (BestIsa() >= Isa::kV4) f(BatchIsa<Isa::kV4>());
#endif
}

}  // namespace sinter::kernels

#endif  // SINTER_TESTS_KERNELS_BATCH_IMAGES_H_
