#include "sinter/runtime/host/rank_places.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

// "rank 3", "ranks 0-2, 5".
std::string RanksText(const std::vector<size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    absl::StrAppend(&text, i == 0 ? "" : ", ", ranks[i]);
    if (end - i > 1) absl::StrAppend(&text, "-", ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

void RankPlace::Set(std::string_view name, bool waits) {
  is_waiting = waits;
  const size_t copied = name.copy(operation, sizeof(operation) - 1);
  operation[copied] = 0;
}

bool RankPlace::operator==(const RankPlace& other) const {
  return is_waiting == other.is_waiting &&
         std::string_view(operation, strnlen(operation, sizeof(operation))) ==
             std::string_view(other.operation, strnlen(other.operation, sizeof(operation)));
}

std::string RankPlaces::Describe() const {
  std::vector<std::pair<RankPlace, std::vector<size_t>>> groups;
  for (size_t rank = 0; rank < places_.size(); ++rank) {
    const auto found =
        std::ranges::find(groups, places_[rank], &std::pair<RankPlace, std::vector<size_t>>::first);
    if (found != groups.end()) {
      found->second.push_back(rank);
    } else {
      groups.push_back({places_[rank], {rank}});
    }
  }
  std::ranges::stable_sort(groups, {}, [](const auto& group) { return group.first.is_waiting; });
  std::string text;
  for (const auto& [place, ranks] : groups) {
    const bool is_one = ranks.size() == 1;
    const char* const does = place.is_waiting          ? (is_one ? " waits in " : " wait in ")
                             : place.operation[0] == 0 ? (is_one ? " has" : " have")
                                                       : (is_one ? " computes after " : " compute after ");
    absl::StrAppend(&text, text.empty() ? "" : "; ", RanksText(ranks), does);
    const bool has_none = !place.is_waiting && place.operation[0] == 0;
    absl::StrAppend(
        &text, has_none ? " exchanged nothing yet"
                        : std::string(place.operation, strnlen(place.operation, sizeof(place.operation))));
  }
  return text;
}

}  // namespace sinter
