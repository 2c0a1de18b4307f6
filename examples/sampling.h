// SampleToken: draws the next token from the logits of a language model.
//
//   SplitMix bits(seed);
//   int64_t token = SampleToken(logits, /*temperature=*/0.8, bits);
#ifndef SINTER_EXAMPLES_SAMPLING_H_
#define SINTER_EXAMPLES_SAMPLING_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sinter/frontend/data/splitmix.h"

namespace sinter::examples {

// Returns an index drawn with the probabilities softmax(logits / temperature). `logits` must not be empty.
inline int64_t SampleToken(std::span<const float> logits, double temperature, SplitMix& bits) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  double total = 0;
  for (float logit : logits) total += weights.emplace_back(std::exp((logit - highest) / temperature));
  double pick = static_cast<double>(bits.Next() >> 11) * 0x1p-53 * total;
  size_t token = 0;
  while (token + 1 < weights.size() && pick >= weights[token]) pick -= weights[token++];
  return static_cast<int64_t>(token);
}

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_SAMPLING_H_
