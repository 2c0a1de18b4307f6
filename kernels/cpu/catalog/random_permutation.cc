// The numbers 0 to count - 1, sorted by random 32-bit keys; equal keys are in the order of their numbers.
//
//   inputs seed[], step[]; outputs result[count]
//   parameters dtype (of the result, i32 or i64), seed_dtype, step_dtype (i32 or i64), count, stream
//
// The key of number i is word 0 of Philox4x32-10 with counter (i low, i high, stream, step low) and key (seed
// low, seed high XOR step high), as in ir/scalar/philox.h.
//
// A radix sort that starts at the lowest digit is stable, which gives this order of equal keys.
#include <utility>

#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"

namespace sinter::kernels {
namespace {

enum Parameter { kDType, kSeedDType, kStepDType, kCount, kStream };
constexpr std::string_view kParameters[] = {"dtype", "seed_dtype", "step_dtype", "count", "stream"};
constexpr int kDigitBits = 11, kDigits = 3;
constexpr int64_t kGrain = 4096;

struct Entry {
  uint32_t key;
  uint32_t number;
};

std::string Check(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  std::string problem = CheckIndexType(p[kDType], "the result");
  if (problem.empty()) problem = CheckIndexType(p[kSeedDType], "the seed");
  if (problem.empty()) problem = CheckIndexType(p[kStepDType], "the step");
  if (!problem.empty()) return problem;
  if (p[kCount] < 0 || p[kCount] >= int64_t{1} << 31) {
    return "a permutation has 0 to 2^31 - 1 numbers, not " + std::to_string(p[kCount]);
  }
  if (p[kStream] < 0 || p[kStream] >= int64_t{1} << 32) {
    return "the stream " + std::to_string(p[kStream]) + " is not a number of 32 bits";
  }
  problem = CheckOperand(operands[0], "the seed", p[kSeedDType], 1);
  if (problem.empty()) problem = CheckOperand(operands[1], "the step", p[kStepDType], 1);
  return problem.empty() ? CheckOperand(operands[2], "the result", p[kDType], p[kCount]) : problem;
}

int64_t WorkspaceBytes(std::span<const int64_t> p) {
  return 2 * p[kCount] * static_cast<int64_t>(sizeof(Entry));
}

int64_t ReadIndex(const void* from, int64_t dtype) {
  return dtype == kI64 ? *static_cast<const int64_t*>(from) : *static_cast<const int32_t*>(from);
}

// Sorts the entries by key. Returns the buffer that holds the result: `entries` or `other`.
const Entry* Sort(Entry* entries, Entry* other, int64_t count) {
  for (int digit = 0; digit < kDigits; ++digit) {
    const int shift = digit * kDigitBits;
    constexpr uint32_t kMask = (1u << kDigitBits) - 1;
    int64_t places[kMask + 1] = {};
    for (int64_t i = 0; i < count; ++i) ++places[entries[i].key >> shift & kMask];
    int64_t next = 0;
    for (int64_t& place : places) next += std::exchange(place, next);
    for (int64_t i = 0; i < count; ++i) other[places[entries[i].key >> shift & kMask]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

void Run(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  const uint64_t seed = static_cast<uint64_t>(ReadIndex(call.buffers[0], p[kSeedDType]));
  const uint64_t step = static_cast<uint64_t>(ReadIndex(call.buffers[1], p[kStepDType]));
  const uint32_t stream = static_cast<uint32_t>(p[kStream]);
  const int64_t count = p[kCount];
  Entry* const entries = static_cast<Entry*>(call.workspace);
  call.parallel.For(count, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      entries[i] = {sn_philox(seed, step, stream, static_cast<uint64_t>(i), 0), static_cast<uint32_t>(i)};
    }
  });
  const Entry* const sorted = Sort(entries, entries + count, count);
  if (p[kDType] == kI64) {
    int64_t* const result = static_cast<int64_t*>(call.buffers[2]);
    for (int64_t i = 0; i < count; ++i) result[i] = sorted[i].number;
  } else {
    int32_t* const result = static_cast<int32_t*>(call.buffers[2]);
    for (int64_t i = 0; i < count; ++i) result[i] = static_cast<int32_t>(sorted[i].number);
  }
}

}  // namespace

CatalogKernel RandomPermutationKernel() {
  return {"random_permutation", 2, 1, kParameters, Check, WorkspaceBytes, Run};
}

}  // namespace sinter::kernels
