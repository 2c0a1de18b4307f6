#include "sinter/passes/call_paths.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sinter {

namespace {

constexpr size_t kBits = 64;
// Producers whose last reader is nearer than this are searched separately, over a short distance.
constexpr unsigned kNear = 1024;

// For each item, one bit for each producer.
struct Reach {
  explicit Reach(size_t items) : from(items), through_call(items) {}

  std::vector<uint64_t> from,
      through_call;  // Producers that lead to the item; those that lead to it through an earlier call.
};

}  // namespace

CallPaths::CallPaths(llvm::ArrayRef<llvm::SmallVector<unsigned>> inputs, const llvm::BitVector& is_call) {
  std::vector<unsigned> last(inputs.size(), 0), readers(inputs.size(), 0);
  for (unsigned i = 0; i < inputs.size(); ++i) {
    for (unsigned producer : inputs[i]) {
      readers[producer] += last[producer] != i;
      last[producer] = i;
    }
  }
  Reach reach(inputs.size());
  // Searches for up to 64 producers (ascending), up to their last reader.
  auto search = [&](llvm::ArrayRef<unsigned> producers, unsigned end) {
    const unsigned first = producers.front();
    const unsigned* next = producers.begin();
    for (unsigned i = first; i <= end; ++i) {
      uint64_t from = 0, through_call = 0;
      for (unsigned input : inputs[i]) {
        if (input < first) continue;
        from |= reach.from[input];
        through_call |= reach.through_call[input];
      }
      for (unsigned input : inputs[i]) {
        if (through_call == 0) break;
        const unsigned* producer = std::lower_bound(producers.begin(), producers.end(), input);
        if (producer == producers.end() || *producer != input) continue;
        if (through_call >> (producer - producers.begin()) & 1) found_.insert({input, i});
      }
      reach.through_call[i] = is_call[i] ? from : through_call;
      if (next != producers.end() && *next == i) from |= uint64_t{1} << (next++ - producers.begin());
      reach.from[i] = from;
    }
  };
  for (bool near : {true, false}) {
    llvm::SmallVector<unsigned> producers;
    unsigned end = 0;
    for (unsigned i = 0; i < inputs.size(); ++i) {
      // A value with one reader has only one path to it.
      if (readers[i] < 2 || (last[i] - i < kNear) != near) continue;
      producers.push_back(i);
      end = std::max(end, last[i]);
      if (producers.size() < kBits) continue;
      search(producers, end);
      producers.clear();
      end = 0;
    }
    if (!producers.empty()) search(producers, end);
  }
}

}  // namespace sinter
