// The places of the ranks of a world, for the error of a wait that takes too long.
//
//   RankPlaces places(4);
//   places.Set(3, "all_gather, function \"train\", epoch 118 (qkv)", /*is_waiting=*/false);
//   places.Describe()  // "rank 3 computes after all_gather, ...; ranks 0-2 wait in all_reduce, ..."
//
// Set allocates nothing. Not thread-safe.
#ifndef SINTER_RUNTIME_HOST_RANK_PLACES_H_
#define SINTER_RUNTIME_HOST_RANK_PLACES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

struct RankPlace {
  bool is_waiting = false;
  char operation[252] = {};  // The exchange in which the rank waits, or its last one. Empty if there is none.

  void Set(std::string_view name, bool waits);
  bool operator==(const RankPlace& other) const;
};

class RankPlaces {
 public:
  explicit RankPlaces(size_t ranks) : places_(ranks) {}

  void Set(size_t rank, std::string_view operation, bool is_waiting) {
    places_[rank].Set(operation, is_waiting);
  }
  // Ranks that do not wait come first.
  std::string Describe() const;

 private:
  std::vector<RankPlace> places_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_RANK_PLACES_H_
