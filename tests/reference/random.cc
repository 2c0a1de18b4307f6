// Random numbers: Philox4x32-10 (Salmon et al., SC 2011), written from the paper.
#include "sinter/tests/reference/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "sinter/tests/reference/reference.h"

namespace sinter::reference {

PhiloxWords Philox(int64_t seed, int64_t step, uint32_t stream, uint64_t position) {
  PhiloxWords counter = {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), stream,
                         static_cast<uint32_t>(step)};
  uint32_t key[2] = {static_cast<uint32_t>(seed),
                     static_cast<uint32_t>(static_cast<uint64_t>(seed ^ step) >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double UniformF32(uint32_t word) { return (word >> 8) * 0x1p-24; }

namespace {

double UniformF64(uint32_t first, uint32_t second) {
  return (first >> 5) * 0x1p-27 + (second >> 6) * 0x1p-53;
}

// `position` counts the elements of the result. The words are those of its place in the whole tensor.
PhiloxWords WordsOf(const Call& call, int64_t position) {
  if (call.Flag("whole")) {
    const Shape whole = call.Ints("whole"), part = call.Result().shape;
    int64_t in_whole = 0, stride = 1;
    for (size_t d = whole.size(); d-- > 0;) {
      in_whole += (position % part[d] + call.in[2 + d].ints[0]) * stride;
      position /= part[d];
      stride *= whole[d];
    }
    position = in_whole;
  }
  return Philox(call.in[0].ints[0], call.in[1].ints[0], static_cast<uint32_t>(call.Int("stream")),
                static_cast<uint64_t>(position));
}

std::vector<Value> RandomUniform(const Call& call) {
  double low = call.Real("low"), high = call.Real("high");
  Value r = call.Result();
  for (int64_t i = 0; i < r.size(); ++i) {
    PhiloxWords words = WordsOf(call, i);
    double u = r.dtype == DType::kF64 ? UniformF64(words[0], words[1]) : UniformF32(words[0]);
    r.reals[i] = low + (high - low) * u;
  }
  return {r};
}

std::vector<Value> RandomNormal(const Call& call) {
  double mean = call.Real("mean"), stddev = call.Real("stddev");
  Value r = call.Result();
  for (int64_t i = 0; i < r.size(); ++i) {
    PhiloxWords words = WordsOf(call, i);
    // Uniform in (0, 1]. The f32 draw uses 31 bits of a word, so the tail reaches 6.6 standard deviations.
    double u = r.dtype == DType::kF64
                   ? UniformF64(words[0], words[1]) + 0x1p-54
                   : static_cast<float>(static_cast<float>(words[0] >> 1) * 0x1p-31f + 0x1p-33f);
    double turns = r.dtype == DType::kF64 ? UniformF64(words[2], words[3]) : UniformF32(words[1]);
    r.reals[i] = mean + stddev * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * turns);
  }
  return {r};
}

std::vector<Value> RandomBernoulli(const Call& call) {
  Value r = call.Result();
  for (int64_t i = 0; i < r.size(); ++i)
    r.ints[i] = UniformF32(WordsOf(call, i)[0]) < call.Real("probability");
  return {r};
}

std::vector<Value> RandomPermutation(const Call& call) {
  Value r = call.Result();
  std::iota(r.ints.begin(), r.ints.end(), 0);
  std::vector<uint32_t> keys;
  for (int64_t i = 0; i < r.size(); ++i) keys.push_back(WordsOf(call, i)[0]);
  std::stable_sort(r.ints.begin(), r.ints.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  return {r};
}

}  // namespace

void AddRandomOps(OpTable& table) {
  table["sinter.random_uniform"] = RandomUniform;
  table["sinter.random_normal"] = RandomNormal;
  table["sinter.random_bernoulli"] = RandomBernoulli;
  table["sinter.random_permutation"] = RandomPermutation;
}

}  // namespace sinter::reference
